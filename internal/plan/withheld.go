package plan

import (
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/clean"
)

// Withheld is what a pass records instead of its plan where one of its writes was refused, or is not in force: nothing of what was planned, since
// it may count on that write, but why the Rollout does not continue. It is nil where the status says so already. The next pass that is carried
// out gives the Rollout its phase again.
func Withheld(ro *v1alpha1.Rollout, phase v1alpha1.RolloutPhase, why string) *Record {
	to := *ro
	to.Status = *ro.Status.DeepCopy()
	to.Status.ObservedGeneration = strconv.FormatInt(ro.Generation, 10) // or clients wait for it, and do not show the message
	to.Status.Phase = phase
	to.Status.Message = clean.Text(why)
	if equality.Semantic.DeepEqual(ro.Status, to.Status) {
		return nil
	}
	return &Record{From: ro, To: &to}
}
