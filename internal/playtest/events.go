package playtest

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// WaitForEvents watches the events of a Rollout until each of the wanted texts is in one of them, which reads "reason message".
// Events are sent after everything else, and on their own.
func (ns *Namespace) WaitForEvents(rollout string, wanted ...string) {
	ns.t.Helper()
	var list corev1.EventList
	ns.waitForAll(&list, "events "+strings.Join(wanted, "; "), func() bool {
		told := eventsOf(&list, rollout)
		return !slices.ContainsFunc(wanted, func(text string) bool { return !strings.Contains(told, text) })
	})
}

func eventsOf(list *corev1.EventList, rollout string) string {
	var lines []string
	for _, e := range list.Items {
		if e.InvolvedObject.Name == rollout && e.InvolvedObject.Kind == v1alpha1.KindRollout {
			lines = append(lines, e.Reason+" "+e.Message)
		}
	}
	return strings.Join(lines, "\n")
}
