package dashboard

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"
	k8stesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/cli/live"
)

const (
	patience = time.Minute
	host     = "127.0.0.1:3100"
)

// desk is a dashboard in front of a fake cluster, and a browser that has been let in.
type desk struct {
	t       *testing.T
	cluster *fake.FakeDynamicClient
	server  *Server
	handler http.Handler
	links   []string
	cookie  *http.Cookie
}

// paused is a canary that waits for a person, with two versions.
const paused = `
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web, namespace: shop, uid: web, generation: 3, resourceVersion: "7", labels: {team: shop}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: nginx, image: "nginx:2"}]}
  strategy: {canary: {steps: [{setWeight: 50}, {pause: {}}]}}
status: {observedGeneration: "3", currentStepHash: 757f5f97b, currentPodHash: 7f8d6c5b4, stableRS: 6b9c4d5f7, currentStepIndex: 1, phase: Paused, message: CanaryPauseStep, controllerPause: true, replicas: 2, availableReplicas: 2, pauseConditions: [{reason: CanaryPauseStep, startTime: "2026-01-01T00:00:00Z"}]}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web-a, namespace: shop, uid: rsa, labels: {rollouts-pod-template-hash: 6b9c4d5f7, app: web}, annotations: {rollout.argoproj.io/revision: "1"}, ownerReferences: [{apiVersion: argoproj.io/v1alpha1, kind: Rollout, name: web, uid: web, controller: true}]}
spec: {replicas: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web, rollouts-pod-template-hash: 6b9c4d5f7}}, spec: {containers: [{name: nginx, image: "nginx:1"}]}}}
status: {replicas: 1, availableReplicas: 1}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web-b, namespace: shop, uid: rsb, labels: {rollouts-pod-template-hash: 7f8d6c5b4, app: web}, annotations: {rollout.argoproj.io/revision: "2"}, ownerReferences: [{apiVersion: argoproj.io/v1alpha1, kind: Rollout, name: web, uid: web, controller: true}]}
spec: {replicas: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web, rollouts-pod-template-hash: 7f8d6c5b4}}, spec: {containers: [{name: nginx, image: "nginx:2"}]}}}
status: {replicas: 1, availableReplicas: 1}
---
apiVersion: v1
kind: Pod
metadata: {name: web-a-1, namespace: shop, uid: poda, creationTimestamp: "2026-01-01T00:00:00Z", labels: {rollouts-pod-template-hash: 6b9c4d5f7, app: web}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-a, uid: rsa, controller: true}]}
spec: {containers: [{name: nginx, image: "nginx:1"}]}
status: {phase: Running, conditions: [{type: Ready, status: "True", lastTransitionTime: "2026-01-01T00:00:42Z"}], containerStatuses: [{name: nginx, image: "nginx:1", imageID: "", ready: true, restartCount: 0}]}
---
apiVersion: v1
kind: Pod
metadata: {name: web-b-1, namespace: shop, uid: pod, labels: {rollouts-pod-template-hash: 7f8d6c5b4, app: web}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-b, uid: rsb, controller: true}]}
spec: {containers: [{name: nginx, image: "nginx:2", env: [{name: PASSWORD, value: hunter2}]}]}
status: {phase: Pending, containerStatuses: [{name: nginx, image: "nginx:2", imageID: "", ready: false, restartCount: 3, state: {waiting: {reason: ImagePullBackOff, message: "no such image"}}}]}
`

func newDesk(t *testing.T, change func(*Options), manifests ...string) *desk {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, appsv1.AddToScheme, corev1.AddToScheme, authorizationv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	var objects []runtime.Object
	for _, text := range manifests {
		for document := range strings.SplitSeq(text, "\n---\n") {
			u := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(document), &u.Object); err != nil {
				t.Fatal(err)
			}
			objects = append(objects, u)
		}
	}
	d := &desk{t: t, cluster: fake.NewSimpleDynamicClient(scheme, objects...)}
	d.cluster.PrependReactor("create", "selfsubjectaccessreviews", func(k8stesting.Action) (bool, runtime.Object, error) {
		return true, &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"allowed": true}}}, nil
	})
	o := Options{
		Clock: clock.RealClock{}, Client: live.Client{Interface: d.cluster}, Root: "rollouts", Hosts: Loopback("3100"), Bearer: "script",
		Invited: func(token string) { d.links = append(d.links, token) },
	}
	if change != nil {
		change(&o)
	}
	d.server = New(o)
	d.handler = d.server.Handler()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { d.server.Run(ctx); close(done) }()
	t.Cleanup(func() { cancel(); <-done })
	d.wait("the cache", func() bool {
		for _, u := range objects {
			if u.(*unstructured.Unstructured).GetKind() == "Rollout" && len(d.server.hub.all()) == 0 {
				return false
			}
		}
		for _, informer := range []func() bool{d.server.cache.Synced} {
			if !informer() {
				return false
			}
		}
		return true
	})
	return d
}

// wait checks a condition whenever the hub has news, with a bound that only a hang reaches.
func (d *desk) wait(what string, until func() bool) {
	d.t.Helper()
	v, leave := d.server.hub.join(func(types.NamespacedName) bool { return true })
	defer leave()
	end := time.After(patience)
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for !until() {
		select {
		case <-v.ready:
		case <-again.C:
		case <-end:
			d.t.Fatalf("%s: not within %s", what, patience)
		}
	}
}

// send sends a request as the browser that was let in, unless the test changes it.
func (d *desk) send(method, path, body string, change func(*http.Request)) *httptest.ResponseRecorder {
	d.t.Helper()
	r := httptest.NewRequest(method, "http://"+host+path, strings.NewReader(body)).WithContext(d.t.Context())
	r.Header.Set("Accept", "text/html")
	if method != http.MethodGet {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", "http://"+host)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	if d.cookie != nil {
		r.AddCookie(d.cookie)
	}
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	d.handler.ServeHTTP(w, r)
	return w
}

// enter opens the link that was printed last.
func (d *desk) enter() *desk {
	d.t.Helper()
	w := d.send("GET", "/rollouts/login?token="+d.links[len(d.links)-1], "", nil)
	if w.Code != http.StatusSeeOther || len(w.Result().Cookies()) != 1 {
		d.t.Fatalf("login: %d %v %s", w.Code, w.Result().Cookies(), w.Body)
	}
	d.cookie = w.Result().Cookies()[0]
	return d
}

// form is the form of a page that asks back.
func (d *desk) form(action string) url.Values {
	d.t.Helper()
	w := d.send("GET", "/rollouts/rollout/shop/web/"+action, "", nil)
	if w.Code != http.StatusOK {
		d.t.Fatalf("%s: %d %s", action, w.Code, w.Body)
	}
	values := url.Values{}
	for _, m := range regexp.MustCompile(`<input type="(?:hidden|text)" name="([^"]+)" value="([^"]*)"`).FindAllStringSubmatch(w.Body.String(), -1) {
		values.Set(m[1], m[2])
	}
	return values
}

// writes are what was written to the cluster.
func (d *desk) writes() []string {
	var lines []string
	for _, a := range d.cluster.Actions() {
		switch a := a.(type) {
		case k8stesting.PatchAction:
			lines = append(lines, strings.TrimSuffix(a.GetResource().Resource+"/"+a.GetSubresource(), "/")+" "+string(a.GetPatch()))
		case k8stesting.UpdateAction:
			if a.GetVerb() == "update" {
				lines = append(lines, "update "+a.GetResource().Resource)
			}
		}
	}
	return lines
}

func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in:\n%s", part, text)
		}
	}
}

func (d *desk) edit(change func(*unstructured.Unstructured)) {
	d.t.Helper()
	client := d.cluster.Resource(live.Rollouts).Namespace("shop")
	list, err := client.List(d.t.Context(), listAll)
	if err != nil {
		d.t.Fatal(err)
	}
	u := list.Items[0].DeepCopy()
	change(u)
	if _, err := client.Update(d.t.Context(), u, updateAny); err != nil {
		d.t.Fatal(err)
	}
}
