package facts

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// By is who did what to a Rollout, and when. The dashboard in the cluster and the CLI write an event for each action;
// nothing else tells people apart.
func By(action *corev1.Event, when time.Time) map[string]any {
	all := map[string]any{"name": "", "did": "", "time": ""}
	if action == nil || action.Reason != v1alpha1.EventUserAction {
		return all
	}
	did, name, found := strings.Cut(action.Message, " by ")
	if found {
		all["did"], all["name"], all["time"] = did, name, when.UTC().Format(time.RFC3339)
	}
	return all
}
