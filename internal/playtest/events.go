package playtest

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// WaitForEvents watches the events of a Rollout until each of the wanted texts is in one of them, which reads "reason message".
// Events are sent after everything else, and on their own.
func (ns *Namespace) WaitForEvents(rollout string, wanted ...string) {
	ns.t.Helper()
	ns.waitForEvents(v1alpha1.KindRollout, rollout, wanted)
}

// WaitForRunEvents does the same for the events of an AnalysisRun.
func (ns *Namespace) WaitForRunEvents(run string, wanted ...string) {
	ns.t.Helper()
	ns.waitForEvents(v1alpha1.KindAnalysisRun, run, wanted)
}

// WaitForExperimentEvents does the same for the events of an Experiment.
func (ns *Namespace) WaitForExperimentEvents(experiment string, wanted ...string) {
	ns.t.Helper()
	ns.waitForEvents(v1alpha1.KindExperiment, experiment, wanted)
}

func (ns *Namespace) waitForEvents(kind, name string, wanted []string) {
	ns.t.Helper()
	var list corev1.EventList
	ns.waitForAll(&list, "events "+strings.Join(wanted, "; "), func() bool {
		told := eventsOf(&list, kind, name)
		return !slices.ContainsFunc(wanted, func(text string) bool { return !strings.Contains(told, text) })
	})
}

func eventsOf(list *corev1.EventList, kind, name string) string {
	var lines []string
	for _, e := range list.Items {
		if e.InvolvedObject.Name == name && e.InvolvedObject.Kind == kind {
			lines = append(lines, e.Reason+" "+e.Message)
		}
	}
	return strings.Join(lines, "\n")
}

// Events are the events of a Rollout as they stand now, in the order in which they were written last, each as "reason message".
func (ns *Namespace) Events(rollout string) []string {
	ns.t.Helper()
	var list corev1.EventList
	if err := ns.Client.List(ns.t.Context(), &list, client.InNamespace(ns.Name)); err != nil {
		ns.t.Fatal(err)
	}
	slices.SortFunc(list.Items, func(a, b corev1.Event) int {
		order, err := resourceversion.CompareResourceVersion(a.ResourceVersion, b.ResourceVersion)
		if err != nil {
			ns.t.Fatal(err)
		}
		return order
	})
	var texts []string
	for _, e := range list.Items {
		if e.InvolvedObject.Name == rollout && e.InvolvedObject.Kind == v1alpha1.KindRollout {
			texts = append(texts, e.Reason+" "+e.Message)
		}
	}
	return texts
}
