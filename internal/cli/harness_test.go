package cli

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic/fake"
	k8stesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/cli/live"
)

// cluster is a fake one that remembers what was written.
type cluster struct{ *fake.FakeDynamicClient }

func newCluster(t *testing.T, manifests ...string) cluster {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, appsv1.AddToScheme, corev1.AddToScheme, autoscalingv2.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	var objects []runtime.Object
	for _, m := range manifests {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(m), &u.Object); err != nil {
			t.Fatal(err)
		}
		u.SetNamespace("shop")
		objects = append(objects, u)
	}
	return cluster{fake.NewSimpleDynamicClient(scheme, objects...)}
}

// writes are what has been written, one line each: verb, resource, name, and the body of a patch.
func (c cluster) writes() []string {
	var lines []string
	for _, action := range c.Actions() {
		resource := action.GetResource().Resource
		if resource == "selfsubjectreviews" {
			continue // asks who one is
		}
		if sub := action.GetSubresource(); sub != "" {
			resource += "/" + sub
		}
		switch a := action.(type) {
		case k8stesting.PatchAction:
			kind := strings.TrimSuffix(strings.TrimPrefix(string(a.GetPatchType()), "application/"), "-patch+json")
			lines = append(lines, fmt.Sprintf("%s %s %s %s", kind, resource, a.GetName(), a.GetPatch()))
		case k8stesting.CreateActionImpl:
			body, _ := a.GetObject().(*unstructured.Unstructured).MarshalJSON()
			if ns := a.GetNamespace(); ns != "shop" {
				resource += " in " + ns
			}
			lines = append(lines, fmt.Sprintf("create %s %s", resource, strings.TrimSpace(string(body))))
		case k8stesting.UpdateAction:
			u := a.GetObject().(*unstructured.Unstructured)
			lines = append(lines, fmt.Sprintf("update %s %s", resource, u.GetName()))
		}
	}
	return lines
}

// stopped is a clock that always shows the same time, and on which waiting takes as long as it does.
type stopped struct{ clock.RealClock }

func (stopped) Now() time.Time { return time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC) }

// result is how a command ended.
type result struct {
	code     int
	out, err string
}

func (c cluster) run(ctx context.Context, args ...string) result { return c.runWith(ctx, "", args...) }

// runWith runs a command with something on its standard input.
func (c cluster) runWith(ctx context.Context, in string, args ...string) result {
	var out, errs bytes.Buffer
	a := newApp("sluice", Streams{In: strings.NewReader(in), Out: &out, Err: &errs})
	a.clock = stopped{}
	a.connect = func() (live.Client, error) { return live.Client{Interface: c, Namespace: "shop"}, nil }
	code := a.run(ctx, args)
	return result{code: code, out: out.String(), err: errs.String()}
}

// runUntil runs a command and interrupts it when it has written a text.
func (c cluster) runUntil(ctx context.Context, text string, args ...string) result {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out := &awaited{text: text, then: cancel}
	var errs bytes.Buffer
	a := newApp("sluice", Streams{In: strings.NewReader(""), Out: out, Err: &errs})
	a.clock = stopped{}
	a.connect = func() (live.Client, error) { return live.Client{Interface: c, Namespace: "shop"}, nil }
	code := a.run(ctx, args)
	return result{code: code, out: out.String(), err: errs.String()}
}

// awaited collects what is written, and tells when a text is in it.
type awaited struct {
	bytes.Buffer
	text string
	then func()
}

func (w *awaited) Write(p []byte) (int, error) {
	n, err := w.Buffer.Write(p)
	if strings.Contains(w.String(), w.text) {
		w.then()
	}
	return n, err
}

// rollout is a canary of four steps; fields are put in below, as YAML of two spaces' indentation or more.
func rollout(name, spec, status string) string {
	return fmt.Sprintf(`
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: %s, uid: ro, generation: 3}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      fieldOfTheFuture: kept
      initContainers: [{name: migrate, image: "migrate:1"}]
      containers: [{name: nginx, image: "nginx:1", ports: [{containerPort: 80}]}, {name: proxy, image: "proxy:1"}]
  strategy: {canary: {steps: [{setWeight: 10}, {pause: {}}, {setWeight: 50}, {pause: {duration: 1m}}]}}
%s
status:
  observedGeneration: "3"
%s`, name, spec, status)
}

const (
	midStep   = "{currentPodHash: b, stableRS: a, currentStepIndex: 2, phase: Progressing, message: more replicas need to be updated}"
	paused    = "{currentPodHash: b, stableRS: a, currentStepIndex: 1, phase: Paused, message: CanaryPauseStep, controllerPause: true, pauseConditions: [{reason: CanaryPauseStep, startTime: \"2026-01-01T00:00:00Z\"}]}"
	promoted  = "{currentPodHash: b, stableRS: b, currentStepIndex: 4, phase: Healthy}"
	aborted   = "{currentPodHash: b, stableRS: a, currentStepIndex: 0, abort: true, phase: Degraded, message: \"RolloutAborted: no\"}"
	undecided = "{currentPodHash: b, stableRS: a, currentStepIndex: 0, phase: Paused, controllerPause: true, pauseConditions: [{reason: InconclusiveAnalysisRun, startTime: \"2026-01-01T00:00:00Z\"}], canary: {currentStepAnalysisRunStatus: {name: x, status: Inconclusive}}}"
)

// fieldsOf makes lines of a flow mapping's fields, since status already has one.
func fieldsOf(flow string) string {
	flow = strings.TrimSpace(flow)
	flow = strings.TrimSuffix(strings.TrimPrefix(flow, "{"), "}")
	var m map[string]any
	if err := yaml.Unmarshal([]byte("{"+flow+"}"), &m); err != nil {
		panic(err)
	}
	text, err := yaml.Marshal(m)
	if err != nil {
		panic(err)
	}
	return "  " + strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "\n  ")
}

func web(spec, status string) string { return rollout("web", spec, fieldsOf(status)) }
