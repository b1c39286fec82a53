package plan_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan"
)

// A plan that only records writes, and so does one with any change.
func TestWrites(t *testing.T) {
	one := []change.Change{change.CreateService{}}
	for name, p := range map[string]plan.Plan{"record": {Record: &plan.Record{}}, "grow": {Grow: one}, "route": {Route: one}, "judge": {Judge: one}, "shrink": {Shrink: one}, "label": {Label: one}} {
		if !p.Writes() {
			t.Errorf("%s writes nothing", name)
		}
	}
	if (plan.Plan{Notes: []change.Note{{}}}).Writes() {
		t.Error("a note is written")
	}
}

// What is withheld is recorded for the present generation, once, and in plain characters.
func TestWithheld(t *testing.T) {
	ro := &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Generation: 12}}
	rec := plan.Withheld(ro, v1alpha1.RolloutPhaseDegraded, "no\x1b[2J")
	if s := rec.To.Status; s.ObservedGeneration != "12" || s.Phase != v1alpha1.RolloutPhaseDegraded || s.Message != `no\u001b[2J` {
		t.Errorf("%+v", s)
	}
	if ro.Status.Phase != "" {
		t.Error("what was observed is changed")
	}
	if again := plan.Withheld(rec.To, v1alpha1.RolloutPhaseDegraded, "no\x1b[2J"); again != nil {
		t.Errorf("it is told again: %+v", again)
	}
}

// A canary has nothing of a blue-green status, nor a blue-green one of a canary's.
func TestAStrategyLeavesNoStatus(t *testing.T) {
	o := played(t, "rollout web replicas=2", "settle")
	o.Rollout = o.Rollout.DeepCopy()
	o.Rollout.Status.BlueGreen = v1alpha1.BlueGreenStatus{ActiveSelector: "x", PreviewSelector: "x", ScaleUpPreviewCheckPoint: true}
	if p := plan.Next(o); p.Record == nil || p.Record.To.Status.BlueGreen != (v1alpha1.BlueGreenStatus{}) {
		t.Errorf("a canary keeps what blue-green wrote: %+v", p.Record)
	}
	o = played(t, `rollout web replicas=2 services="web-active" blueGreen=web-active`, "settle")
	o.Rollout = o.Rollout.DeepCopy()
	o.Rollout.Status.Canary.CurrentExperiment = "x"
	if p := plan.Next(o); p.Record == nil || p.Record.To.Status.Canary.CurrentExperiment != "" {
		t.Errorf("blue-green keeps what a canary wrote: %+v", p.Record)
	}
}

// A call of a step plugin names when its entry of the status began: an answer to an earlier entry is none to this one.
func TestACallNamesWhenItsEntryBegan(t *testing.T) {
	o := played(t, `rollout web replicas=2 steps="plugin acme/gate with {'url':1}; pause"`, "settle", `plugin acme/gate Running "wait" again=45s`, "set image v2", "advance 25s")
	o.Now = o.Now.Add(time.Hour) // it is asked again
	p := plan.Next(o)
	if len(p.Calls) != 1 {
		t.Fatalf("there are %d calls, not one: %+v", len(p.Calls), p.Notes)
	}
	if began := o.Rollout.Status.Canary.StepPluginStatuses[0].StartedAt; began == nil || p.Calls[0].Began != began.Unix() {
		t.Errorf("it began at %d, not %v", p.Calls[0].Began, began)
	}
}
