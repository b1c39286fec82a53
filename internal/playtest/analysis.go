package playtest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// AnalysisRuns lists the namespace's AnalysisRuns.
func (ns *Namespace) AnalysisRuns() []v1alpha1.AnalysisRun {
	ns.t.Helper()
	var runs v1alpha1.AnalysisRunList
	if err := ns.Client.List(ns.t.Context(), &runs, client.InNamespace(ns.Name)); err != nil {
		ns.t.Fatal(err)
	}
	return runs.Items
}

// WaitForAnalysisRun watches an AnalysisRun until it is as wanted; what says what that is.
func (ns *Namespace) WaitForAnalysisRun(name, what string, wanted func(*v1alpha1.AnalysisRun) bool) *v1alpha1.AnalysisRun {
	ns.t.Helper()
	ctx, cancel := context.WithTimeout(ns.t.Context(), Patience)
	defer cancel()
	var last *v1alpha1.AnalysisRun
	err := await(ctx, ns.Client, &v1alpha1.AnalysisRunList{}, ns.Name, name, func(run *v1alpha1.AnalysisRun) bool {
		last = run.DeepCopy()
		return wanted(run)
	})
	if err != nil {
		ns.t.Fatalf("wait for AnalysisRun %s %s: %v", name, what, err)
	}
	return last
}

// WaitForAnalysisRunToGo waits until an AnalysisRun has been deleted.
func (ns *Namespace) WaitForAnalysisRunToGo(name string) {
	ns.t.Helper()
	var runs v1alpha1.AnalysisRunList
	ns.waitForAll(&runs, "no AnalysisRun "+name, func() bool {
		return !slices.ContainsFunc(runs.Items, func(run v1alpha1.AnalysisRun) bool { return run.Name == name })
	})
}

// EndAnalysisRun waits for an AnalysisRun and writes how it ended, in place of the controller. The status is written through
// the object itself: AnalysisRuns have no subresource for it.
func (ns *Namespace) EndAnalysisRun(name string, phase v1alpha1.AnalysisPhase, message string) *v1alpha1.AnalysisRun {
	ns.t.Helper()
	run := ns.WaitForAnalysisRun(name, "to begin", func(*v1alpha1.AnalysisRun) bool { return true })
	if err := setPhase(ns.t.Context(), ns.Client, run, phase, message); err != nil {
		ns.t.Fatal(err)
	}
	return run
}

// PassAnalysisRuns lets every AnalysisRun of the namespace pass as soon as there is one, until the test ends.
func (ns *Namespace) PassAnalysisRuns() {
	ns.t.Helper()
	var runs v1alpha1.AnalysisRunList
	events, err := ns.Client.Watch(ns.t.Context(), &runs, client.InNamespace(ns.Name))
	if err != nil {
		ns.t.Fatal(err)
	}
	ns.t.Cleanup(events.Stop)
	go func() {
		for e := range events.ResultChan() {
			run, ok := e.Object.(*v1alpha1.AnalysisRun)
			if ok && run.Status.Phase == "" {
				_ = setPhase(ns.t.Context(), ns.Client, run, v1alpha1.AnalysisPhaseSuccessful, "") // if it is gone, nobody waits for it
			}
		}
	}()
}

func setPhase(ctx context.Context, c client.Client, run *v1alpha1.AnalysisRun, phase v1alpha1.AnalysisPhase, message string) error {
	text, err := json.Marshal(message)
	if err != nil {
		return err
	}
	patch := fmt.Sprintf(`{"status":{"phase":%q,"message":%s}}`, phase, text)
	return c.Patch(ctx, run.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)))
}
