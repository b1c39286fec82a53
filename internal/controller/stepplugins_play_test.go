package controller_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
)

// gates is a server that answers each request when the test says so.
type gates struct {
	*httptest.Server
	asked chan string
	say   chan int
}

func newGates(t *testing.T) gates {
	g := gates{asked: make(chan string), say: make(chan int)}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case g.asked <- r.Header.Get("X-Rollout"):
		case <-r.Context().Done():
			return
		}
		select {
		case code := <-g.say:
			w.WriteHeader(code)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(g.Close)
	return g
}

func (g gates) wantAsked(ns *playtest.Namespace, t *testing.T, when string) {
	t.Helper()
	select {
	case who := <-g.asked:
		if who != ns.Name+"/web" {
			t.Fatalf("%s: asked for %q", when, who)
		}
	case <-t.Context().Done():
		t.Fatalf("%s: the gate was not asked", when)
	}
}

// killPlugin ends the processes of a plugin that this test's controller has started, at once.
func killPlugin(t *testing.T, dir, name string) {
	t.Helper()
	killed := 0
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		program, err := os.Readlink(link)
		if err != nil || !strings.HasPrefix(program, dir+"/") || !strings.Contains(program, name) {
			continue
		}
		pid, err := strconv.Atoi(strings.Split(link, "/")[2])
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		killed++
	}
	if killed != 1 {
		t.Fatalf("%d processes of %s killed, want 1", killed, name)
	}
}

func stepRecord(ro *v1alpha1.Rollout, operation v1alpha1.StepPluginOperation) v1alpha1.StepPluginStatus {
	for _, e := range ro.Status.Canary.StepPluginStatuses {
		if e.Operation == operation {
			return e
		}
	}
	return v1alpha1.StepPluginStatus{}
}

func stepIs(operation v1alpha1.StepPluginOperation, phase v1alpha1.StepPluginPhase) func(*v1alpha1.Rollout) bool {
	return func(ro *v1alpha1.Rollout) bool { return stepRecord(ro, operation).Phase == phase }
}

// A plugin carries a step out: a real process, by the real handshake. The controller is killed in the middle of a call, and asks again as if it had
// not asked; the plugin is killed in the middle of a call, and asked again half a minute later. Nothing is concluded meanwhile, and an abort has
// the step undone.
func TestC35StepPlugin(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	gate := newGates(t)
	flags := startWithPlugins(t, ns, map[string]string{"stepPlugins": `[{name: samples/gate, location: SAMPLES/gate}, {name: samples/off, location: SAMPLES/gate, disabled: true}]`})
	ns.CreateRollout(canary(2, fmt.Sprintf(
		`{maxUnavailable: 0, steps: [{setWeight: 50}, {plugin: {name: samples/off}}, {plugin: {name: samples/gate, config: {url: %q, every: 11s}}}, {pause: {}}]}`, gate.URL)))
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	ns.SetImage("web", "nginx:2")
	gate.wantAsked(ns, t, "at first")
	ns.StopController(syscall.SIGKILL)
	ns.StartController(flags...)
	gate.wantAsked(ns, t, "by another controller")
	if ro := ns.Rollout("web"); *ro.Status.CurrentStepIndex != 2 || ro.Status.Canary.StepPluginStatuses[1].Executions != 0 {
		t.Errorf("before there is any answer the status is %+v", ro.Status.Canary)
	}
	gate.say <- http.StatusServiceUnavailable
	ns.WaitForRollout("web", "to record the answer", func(ro *v1alpha1.Rollout) bool {
		e := ro.Status.Canary.StepPluginStatuses[1]
		return e.Executions == 1 && e.Phase == v1alpha1.StepPluginRunning && e.Backoff == "11s" && strings.Contains(string(e.Status), `"attempts":1`)
	})
	gate.wantAsked(ns, t, "eleven seconds later")
	killPlugin(t, flags[1], "gate")
	ns.WaitForRollout("web", "to record that there was no answer", func(ro *v1alpha1.Rollout) bool {
		e := ro.Status.Canary.StepPluginStatuses[1]
		return e.Phase == v1alpha1.StepPluginError && strings.Contains(e.Message, "Run rpc call error") && *ro.Status.CurrentStepIndex == 2
	})
	gate.wantAsked(ns, t, "half a minute later")
	gate.say <- http.StatusOK
	done := ns.WaitForRollout("web", "to pause at the next step", both(playtest.AtStep(3), playtest.Paused))
	if first, e := done.Status.Canary.StepPluginStatuses[0], done.Status.Canary.StepPluginStatuses[1]; !first.Disabled || e.Executions != 3 ||
		e.Phase != v1alpha1.StepPluginSuccessful || !strings.Contains(string(e.Status), `"attempts":2`) {
		t.Errorf("the plugins' steps ended as %+v and %+v", first, e)
	}
	ns.PatchStatus("web", `{"status":{"abort":true}}`)
	back := ns.WaitForRollout("web", "to have the step undone", both(playtest.Degraded, stepIs(v1alpha1.StepPluginAbort, v1alpha1.StepPluginSuccessful)))
	if e := stepRecord(back, v1alpha1.StepPluginAbort); e.Index != 2 || e.Message != "a gate leaves nothing to undo" {
		t.Errorf("undone: %+v", e)
	}
	ns.WaitForEvents("web", "StepPluginTransition")
}
