package controller

import (
	"context"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan"
)

// found answers every read with an object without content.
type found struct{ client.Reader }

func (found) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return nil
}

// An engine that asks for the same again and again holds no worker.
func TestAPassEndsWhenTheEngineAlwaysAsksForMore(t *testing.T) {
	asked := 0
	r := &RolloutReconciler{writer: writer{live: found{}}, engine: func(plan.Observed) plan.Plan {
		asked++
		return plan.Plan{Needs: []change.Need{change.NeedLiveRollout{}}}
	}}
	_, _, err := decide(t.Context(), r, plan.Observed{Rollout: &v1alpha1.Rollout{}})
	if err == nil || !strings.Contains(err.Error(), "after 1000 in one reconcile") || asked != mostLooks {
		t.Errorf("asked %d times, error %v", asked, err)
	}
}
