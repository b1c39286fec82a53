package dashboard

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
status: {observedGeneration: "3", currentPodHash: b, stableRS: a, currentStepIndex: 1, phase: Paused, message: CanaryPauseStep, controllerPause: true, replicas: 2, availableReplicas: 2, pauseConditions: [{reason: CanaryPauseStep, startTime: "2026-01-01T00:00:00Z"}]}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web-a, namespace: shop, uid: rsa, labels: {rollouts-pod-template-hash: a, app: web}, annotations: {rollout.argoproj.io/revision: "1"}, ownerReferences: [{apiVersion: argoproj.io/v1alpha1, kind: Rollout, name: web, uid: web, controller: true}]}
spec: {replicas: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web, rollouts-pod-template-hash: a}}, spec: {containers: [{name: nginx, image: "nginx:1"}]}}}
status: {replicas: 1, availableReplicas: 1}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web-b, namespace: shop, uid: rsb, labels: {rollouts-pod-template-hash: b, app: web}, annotations: {rollout.argoproj.io/revision: "2"}, ownerReferences: [{apiVersion: argoproj.io/v1alpha1, kind: Rollout, name: web, uid: web, controller: true}]}
spec: {replicas: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web, rollouts-pod-template-hash: b}}, spec: {containers: [{name: nginx, image: "nginx:2"}]}}}
status: {replicas: 1, availableReplicas: 1}
---
apiVersion: v1
kind: Pod
metadata: {name: web-b-1, namespace: shop, uid: pod, labels: {rollouts-pod-template-hash: b, app: web}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-b, uid: rsb, controller: true}]}
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

func TestPages(t *testing.T) {
	d := newDesk(t, nil, paused).enter()
	list := d.send("GET", "/rollouts/", "", nil)
	contains(t, list.Body.String(), `href="/rollouts/rollout/shop/web"`, "Paused", "CanaryPauseStep", "1 rollout")
	d.wait("the pod", func() bool {
		return strings.Contains(d.send("GET", "/rollouts/rollout/shop/web", "", nil).Body.String(), "web-b-1")
	})
	d.wait("the explanation", func() bool {
		return strings.Contains(d.send("GET", "/rollouts/rollout/shop/web", "", nil).Body.String(), "The canary &#39;web&#39; is Paused")
	})
	page := d.send("GET", "/rollouts/rollout/shop/web", "", nil).Body.String()
	contains(t, page, "ImagePullBackOff", "no such image", "until someone promotes", "Undo to revision 1", "nginx:2", "As soon as someone promotes")
	if strings.Contains(page, "hunter2") {
		t.Error("the page shows the environment of a pod")
	}
	for path, want := range map[string]int{
		"/rollouts/rollout/shop/none": 404, "/rollouts/?label=%20=": 400, "/rollouts/?page=x": 400, "/rollouts/rollout/shop/web/sell": 404, "/rollouts/nothing/here/at/all": 404,
	} {
		if got := d.send("GET", path, "", nil).Code; got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
	if w := d.send("GET", "/", "", nil); w.Header().Get("Location") != "/rollouts/" {
		t.Errorf("/ leads to %q", w.Header().Get("Location"))
	}
	if w := d.send("GET", "/rollouts/shop", "", nil); w.Header().Get("Location") != "/rollouts/?namespace=shop" {
		t.Errorf("a namespace leads to %q", w.Header().Get("Location"))
	}
}

func TestActions(t *testing.T) {
	for action, test := range map[string]struct {
		with url.Values
		want string
	}{
		"promote":      {nil, `rollouts/status {"status":{"pauseConditions":null}}`},
		"promote-full": {nil, `rollouts/status {"status":{"promoteFull":true}}`},
		"skip-step":    {nil, `rollouts/status {"status":{"currentStepIndex":2,"pauseConditions":null}}`},
		"pause":        {nil, `rollouts {"spec":{"paused":true}}`},
		"abort":        {nil, `rollouts/status {"status":{"abort":true}}`},
		"restart":      {nil, `rollouts {"spec":{"restartAt":`},
		"undo":         {url.Values{"revision": {"1"}}, `rollouts [{"op":"replace","path":"/spec/template"`},
		"image":        {url.Values{"image-nginx": {"nginx:3"}}, `update rollouts`},
	} {
		t.Run(action, func(t *testing.T) {
			d := newDesk(t, nil, paused).enter()
			form := d.form(action)
			for name, values := range test.with {
				form[name] = values
			}
			if writes := d.writes(); len(writes) > 0 {
				t.Fatalf("asking has written %q", writes)
			}
			w := d.send("POST", "/rollouts/rollout/shop/web/"+action, form.Encode(), nil)
			if w.Code != http.StatusSeeOther {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			if writes := d.writes(); len(writes) != 1 || !strings.HasPrefix(writes[0], test.want) {
				t.Errorf("written: %q, want %q", writes, test.want)
			}
			said := w.Result().Cookies()[0]
			page := d.send("GET", "/rollouts/rollout/shop/web", "", func(r *http.Request) { r.AddCookie(said) })
			contains(t, page.Body.String(), "Rollout &#39;web&#39; ")
		})
	}
}

// What the API server says is shown as it says it.
func TestAnErrorOfTheAPIServerIsShown(t *testing.T) {
	d := newDesk(t, nil, paused).enter()
	d.cluster.PrependReactor("patch", "rollouts", func(k8stesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New(`admission webhook "freeze" denied the request: no releases on Friday`)
	})
	w := d.send("POST", "/rollouts/rollout/shop/web/promote", d.form("promote").Encode(), nil)
	if w.Code != http.StatusBadGateway {
		t.Errorf("status %d", w.Code)
	}
	contains(t, w.Body.String(), "no releases on Friday")
}

// A person decided about what the page showed. Something else needs another decision.
func TestADecisionAboutSomethingElseIsAskedAgain(t *testing.T) {
	d := newDesk(t, nil, paused).enter()
	form := d.form("promote")
	form.Set("seen", strings.TrimSuffix(form.Get("seen"), "1")+"0")
	w := d.send("POST", "/rollouts/rollout/shop/web/promote", form.Encode(), nil)
	if w.Code != http.StatusConflict || len(d.writes()) > 0 {
		t.Errorf("status %d, written %q", w.Code, d.writes())
	}
	contains(t, w.Body.String(), "has changed since")
}

// What one did before changes the Rollout in ways that the next decision is not about. And the page that asks knows of it, however late the
// cache is.
func TestOnesOwnActionsAreNoSurprise(t *testing.T) {
	d := newDesk(t, nil, paused).enter()
	abort := d.form("abort")
	d.server.hub.changed(types.NamespacedName{})
	if w := d.send("POST", "/rollouts/rollout/shop/web/pause", d.form("pause").Encode(), nil); w.Code != http.StatusSeeOther {
		t.Fatalf("pause: %d %s", w.Code, w.Body)
	}
	if w := d.send("GET", "/rollouts/rollout/shop/web/resume", "", nil); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "/true") {
		t.Errorf("the page that asks is about what was before: %s", w.Body)
	}
	d.edit(func(u *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(u.Object, int64(9), "metadata", "generation")
	})
	if w := d.send("POST", "/rollouts/rollout/shop/web/abort", abort.Encode(), nil); w.Code != http.StatusSeeOther {
		t.Errorf("an abort that was asked for before the pause: %d %s", w.Code, w.Body)
	}
}

// Each action says what the engine will do. TestC14PeopleActAsThemselves has more of it, on a real cluster.
func TestConfirmationsArePlayedAhead(t *testing.T) {
	d := newDesk(t, nil, paused).enter()
	for action, want := range map[string]string{"abort": "The engine would now", "pause": "nothing is scaled and no step ends: spec.paused is set"} {
		contains(t, d.send("GET", "/rollouts/rollout/shop/web/"+action, "", nil).Body.String(), want)
	}
	d.cluster.PrependReactor("list", "services", func(k8stesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("services may not be listed")
	})
	contains(t, d.send("GET", "/rollouts/rollout/shop/web/pause", "", nil).Body.String(), "cannot be played ahead: services may not be listed", `type="submit">Pause<`)
}

func TestReadOnly(t *testing.T) {
	d := newDesk(t, func(o *Options) { o.ReadOnly = true }, paused).enter()
	if w := d.send("POST", "/rollouts/rollout/shop/web/promote", "csrf="+d.server.guard.csrf(d.cookie.Value), nil); w.Code != http.StatusForbidden || len(d.writes()) > 0 {
		t.Errorf("status %d, written %q", w.Code, d.writes())
	}
	if page := d.send("GET", "/rollouts/rollout/shop/web", "", nil).Body.String(); strings.Contains(page, "data-ask") {
		t.Error("a page offers actions")
	}
}

// What one may not do is named with the reason, and offered to nobody.
func TestWhatIsNotAllowedIsGreyedOut(t *testing.T) {
	d := newDesk(t, nil, paused)
	d.cluster.PrependReactor("create", "selfsubjectaccessreviews", func(k8stesting.Action) (bool, runtime.Object, error) {
		return true, &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"allowed": false, "reason": "ask the shop team"}}}, nil
	})
	page := d.enter().send("GET", "/rollouts/rollout/shop/web", "", nil).Body.String()
	contains(t, page, `aria-disabled="true" tabindex="0" title="ask the shop team">Promote<`)
	if strings.Contains(page, `href="/rollouts/rollout/shop/web/promote"`) {
		t.Error("promote is offered all the same")
	}
}

func TestLinksLetInOnce(t *testing.T) {
	d := newDesk(t, nil, paused)
	if w := d.send("GET", "/rollouts/", "", nil); w.Code != http.StatusUnauthorized || strings.Contains(w.Body.String(), "shop") {
		t.Errorf("without a link: %d", w.Code)
	}
	if w := d.send("GET", "/rollouts/login?token=", "", nil); w.Code != http.StatusUnauthorized {
		t.Errorf("an empty token: %d", w.Code)
	}
	d.enter()
	if c := d.cookie; !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/rollouts/" {
		t.Errorf("cookie %+v", c)
	}
	used := d.links[0]
	if len(d.links) != 2 || d.links[1] == used {
		t.Errorf("links %q", d.links)
	}
	cookie := d.cookie
	d.cookie = nil
	if w := d.send("GET", "/rollouts/login?token="+used, "", nil); w.Code != http.StatusUnauthorized {
		t.Errorf("a link that was used: %d", w.Code)
	}
	for what, value := range map[string]string{"forged": "x.y", "changed": "x" + cookie.Value, "empty": ""} {
		d.cookie = &http.Cookie{Name: cookie.Name, Value: value}
		if w := d.send("GET", "/rollouts/", "", nil); w.Code != http.StatusUnauthorized {
			t.Errorf("a cookie that is %s: %d", what, w.Code)
		}
	}
	d.cookie = nil
	w := d.send("GET", "/rollouts/login?token="+d.links[1]+"&next=//evil.example/", "", nil)
	if to := w.Header().Get("Location"); to != "/rollouts/" {
		t.Errorf("a link leads to %q", to)
	}
}

func TestGuessingIsLimited(t *testing.T) {
	d := newDesk(t, nil, paused)
	for range loginsPerMinute {
		d.send("GET", "/rollouts/login?token=guess", "", nil)
	}
	if w := d.send("GET", "/rollouts/login?token="+d.links[0], "", nil); w.Code != http.StatusTooManyRequests {
		t.Errorf("after %d guesses: %d", loginsPerMinute, w.Code)
	}
}

func TestActionsAreLimited(t *testing.T) {
	d := newDesk(t, nil, paused).enter()
	last := 0
	for range actionsAtOnce + 5 {
		last = d.send("POST", "/rollouts/rollout/shop/web/promote", "", nil).Code
	}
	if last != http.StatusTooManyRequests || len(d.writes()) > 0 {
		t.Errorf("status %d, written %q", last, d.writes())
	}
}

// A name of an attacker that resolves to this machine makes the attacker's page one of the same origin.
func TestAnotherHostIsNotAnswered(t *testing.T) {
	d := newDesk(t, nil, paused).enter()
	for _, host := range []string{"evil.example:3100", "evil.example", "127.0.0.1", "127.0.0.1:80", "localhost.evil.example:3100", ""} {
		w := d.send("GET", "/rollouts/", "", func(r *http.Request) { r.Host = host })
		if w.Code != http.StatusMisdirectedRequest || strings.Contains(w.Body.String(), "shop") {
			t.Errorf("host %q: %d", host, w.Code)
		}
	}
	for _, host := range []string{"localhost:3100", "LOCALHOST:3100", "[::1]:3100"} {
		if w := d.send("GET", "/rollouts/", "", func(r *http.Request) { r.Host = host }); w.Code != http.StatusOK {
			t.Errorf("host %q: %d", host, w.Code)
		}
	}
}

// Pages of other sites, other ports of this machine among them, may link here, and no more.
func TestAnotherSiteChangesAndReadsNothing(t *testing.T) {
	d := newDesk(t, nil, paused).enter()
	form := d.form("promote").Encode()
	for name, from := range map[string]map[string]string{
		"another origin":                 {"Origin": "http://evil.example"},
		"another port":                   {"Origin": "http://127.0.0.1:8080"},
		"no origin that could be named":  {"Origin": "null"},
		"another site":                   {"Sec-Fetch-Site": "cross-site"},
		"another port, says the browser": {"Sec-Fetch-Site": "same-site"},
	} {
		w := d.send("POST", "/rollouts/rollout/shop/web/promote", form, func(r *http.Request) {
			for k, v := range from {
				r.Header.Set(k, v)
			}
		})
		if w.Code != http.StatusForbidden || len(d.writes()) > 0 {
			t.Errorf("%s: %d, written %q", name, w.Code, d.writes())
		}
	}
	for mode, want := range map[string]int{"no-cors": 403, "cors": 403, "navigate": 200} {
		w := d.send("GET", "/rollouts/", "", func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "cross-site")
			r.Header.Set("Sec-Fetch-Mode", mode)
			r.Header.Set("Sec-Fetch-Dest", "document")
		})
		if w.Code != want {
			t.Errorf("reading in mode %s: %d, want %d", mode, w.Code, want)
		}
	}
	frame := d.send("GET", "/rollouts/", "", func(r *http.Request) {
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		r.Header.Set("Sec-Fetch-Mode", "navigate")
		r.Header.Set("Sec-Fetch-Dest", "iframe")
	})
	if frame.Code != http.StatusForbidden {
		t.Errorf("a frame: %d", frame.Code)
	}
}

func TestFormsNeedTheTokenOfTheirSession(t *testing.T) {
	d := newDesk(t, nil, paused).enter()
	form := d.form("promote")
	other := newDesk(t, nil, paused).enter().form("promote")
	for name, token := range map[string]string{"none": "", "of another process": other.Get("csrf"), "changed": form.Get("csrf") + "x"} {
		form.Set("csrf", token)
		w := d.send("POST", "/rollouts/rollout/shop/web/promote", form.Encode(), nil)
		if w.Code != http.StatusForbidden || len(d.writes()) > 0 {
			t.Errorf("token %s: %d, written %q", name, w.Code, d.writes())
		}
	}
}

// No page may run, load or be framed by anything else, and none has anything inline that the policy would have to allow.
func TestPagesRunNothingButTheirOwnScript(t *testing.T) {
	hostile := strings.ReplaceAll(strings.ReplaceAll(paused, "nginx:2", `"><script>alert(1)</script>`), `image: ""><script>alert(1)</script>"`, `image: '"><script>alert(1)</script>'`)
	d := newDesk(t, nil, hostile).enter()
	inline := regexp.MustCompile(`(?i)<script>|<style|\sstyle=|\son[a-z]+=|javascript:`)
	for _, path := range []string{"/rollouts/", "/rollouts/rollout/shop/web", "/rollouts/rollout/shop/web/promote", "/rollouts/rollout/shop/web/image", "/rollouts/none/x", "/rollouts/login?token=x"} {
		w := d.send("GET", path, "", nil)
		policy := w.Header().Get("Content-Security-Policy")
		contains(t, policy, "default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'")
		if strings.Contains(policy, "unsafe") || w.Header().Get("X-Frame-Options") != "DENY" || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: headers %v", path, w.Header())
		}
		if found := inline.FindString(w.Body.String()); found != "" {
			t.Errorf("%s has %q inline", path, found)
		}
		if got := w.Header().Get("Referrer-Policy"); got != "same-origin" { // browsers send the forms of pages with another one without their origin
			t.Errorf("%s: Referrer-Policy %q", path, got)
		}
		if w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s may be kept: %q", path, w.Header().Get("Cache-Control"))
		}
	}
}

// Scripts send their token instead of a cookie; it lets no page act.
func TestScriptsSendTheirToken(t *testing.T) {
	d := newDesk(t, nil, paused)
	for token, want := range map[string]int{"script": 200, "other": 401, "": 401} {
		w := d.send("GET", "/rollouts/", "", func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) })
		if w.Code != want {
			t.Errorf("token %q: %d, want %d", token, w.Code, want)
		}
	}
	none := newDesk(t, func(o *Options) { o.Bearer = "" }, paused)
	if w := none.send("GET", "/rollouts/", "", func(r *http.Request) { r.Header.Set("Authorization", "Bearer ") }); w.Code != http.StatusUnauthorized {
		t.Errorf("an empty token where there is none: %d", w.Code)
	}
}

// streamed reads messages of a stream.
type streamed struct {
	t     *testing.T
	lines *bufio.Scanner
}

func (d *desk) stream(path string) *streamed {
	d.t.Helper()
	server := httptest.NewServer(d.handler)
	d.t.Cleanup(server.Close)
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	d.t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+path, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	r.Host = host
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Authorization", "Bearer script")
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = w.Body.Close() })
	if got := w.Header.Get("Content-Type"); w.StatusCode != http.StatusOK || got != "text/event-stream" {
		text, _ := io.ReadAll(w.Body)
		d.t.Fatalf("%d %s %s", w.StatusCode, got, text)
	}
	s := &streamed{t: d.t, lines: bufio.NewScanner(w.Body)}
	s.lines.Buffer(nil, 1<<20)
	return s
}

// until reads to the first message about an element that has a text.
func (s *streamed) until(id, text string) message {
	s.t.Helper()
	for s.lines.Scan() {
		data, ok := strings.CutPrefix(s.lines.Text(), "data: ")
		var m message
		if ok && json.Unmarshal([]byte(data), &m) == nil && m.ID == id && strings.Contains(m.HTML, text) {
			return m
		}
	}
	s.t.Fatalf("the stream ended before %s had %q: %v", id, text, s.lines.Err())
	return message{}
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

func TestChangesAreStreamed(t *testing.T) {
	d := newDesk(t, nil, paused)
	list, page := d.stream("/rollouts/"), d.stream("/rollouts/rollout/shop/web")
	list.until("f-rows", "Paused")
	page.until("f-head", "Paused")
	d.edit(func(u *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(u.Object, "Degraded", "status", "phase")
	})
	if m := list.until("row-shop-web", "Degraded"); !m.Outer {
		t.Errorf("a row that changes is sent as %+v", m)
	}
	page.until("f-head", "Degraded")
}

// A viewer that does not read holds nobody up, and costs one wake-up, however much happens.
func TestASlowViewerSlowsNobody(t *testing.T) {
	d := newDesk(t, nil, paused)
	slow, leave := d.server.hub.join(func(types.NamespacedName) bool { return true })
	defer leave()
	quick := d.stream("/rollouts/")
	quick.until("f-rows", "Paused")
	for i := range 20 {
		d.edit(func(u *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(u.Object, fmt.Sprintf("change %d", i), "status", "message")
		})
	}
	quick.until("row-shop-web", "change 19")
	if n := len(slow.ready); n != 1 {
		t.Errorf("%d wake-ups wait for the slow viewer", n)
	}
}

func TestOpenPagesAreLimited(t *testing.T) {
	d := newDesk(t, nil, paused).enter()
	for range streamsAtOnce {
		d.server.guard.streams <- struct{}{}
	}
	w := d.send("GET", "/rollouts/", "", func(r *http.Request) { r.Header.Set("Accept", "text/event-stream") })
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("status %d", w.Code)
	}
}
