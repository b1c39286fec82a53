package explore

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/sim/shell"
)

// experimentShellMutants are faults of the reconcilers of Experiments and AnalysisRuns, put in from outside as those of [shellMutants] are.
var experimentShellMutants = map[string]func(*shell.Parts){
	"drops the resourceVersion from patches": shellMutants["drops the resourceVersion from patches"],
	"forces what conflicts":                  shellMutants["forces what conflicts"],
	"loses what it wanted to requeue":        shellMutants["loses what it wanted to requeue"],
	"gives up behind an error":               shellMutants["gives up behind an error"],
	"does not see AnalysisRuns":              shellMutants["does not see AnalysisRuns"],
	"does not see ReplicaSets":               deaf(&appsv1.ReplicaSet{}),

	"takes writes of measurements for done": writes(func(c client.Client, o client.Object, p client.Patch, status bool) error {
		err := send(c, o, p, status)
		if _, run := o.(*v1alpha1.AnalysisRun); run && err != nil {
			return nil
		}
		return err
	}),
	"publishes events twice":                func(p *shell.Parts) { p.Client = twice{p.Client} },
	"gives events up that are not answered": func(p *shell.Parts) { p.Client = impatient{p.Client} },
	"forgets every third thing that nobody waits for": func(p *shell.Parts) {
		begin, n := p.Go, 0
		p.Go = func(do func()) {
			if n++; n%3 > 0 {
				begin(do)
			}
		}
	},
}

// twice publishes events twice.
type twice struct{ client.Client }

func (c twice) Create(ctx context.Context, o client.Object, options ...client.CreateOption) error {
	err := c.Client.Create(ctx, o, options...)
	if event, ok := o.(*corev1.Event); ok && err == nil {
		again := event.DeepCopy()
		again.Name += "-again"
		return c.Client.Create(ctx, again, options...)
	}
	return err
}

// impatient takes an event without an answer for one that was refused.
type impatient struct{ client.Client }

func (c impatient) Create(ctx context.Context, o client.Object, options ...client.CreateOption) error {
	err := c.Client.Create(ctx, o, options...)
	if _, event := o.(*corev1.Event); event && err != nil {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, o.GetName(), err)
	}
	return err
}

// TestExperimentShellMutantsAreFound proves that tier two bites where Experiments and AnalysisRuns are looked after.
func TestExperimentShellMutantsAreFound(t *testing.T) {
	for name, mutant := range experimentShellMutants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			isFound(t, "", func(seed uint64) *Fault {
				trial := Trial{Seed: seed, Shell: true, Standby: seed%2 == 0, Experiments: true} // as explore does
				return Play(trial, Subject{Engine: plan.Next, Break: mutant}, nil)
			})
		})
	}
}
