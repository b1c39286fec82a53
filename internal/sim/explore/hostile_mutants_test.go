package explore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/sim/shell"
)

// hostileMutants are faults of the shell that take a tenant to be found out: where it looks for what belongs to an object, by what it knows
// that, and for how long. Each is looked for in histories of a kind.
var hostileMutants = map[string]struct {
	kind Trial
	with func(*shell.Parts)
}{
	"lists what is controlled in all namespaces": {Trial{}, func(p *shell.Parts) { p.Client = everywhere{p.Client} }},
	"knows owners by their names":                {Trial{}, func(p *shell.Parts) { p.Client = byName{p.Client} }},
	"finds Services in any namespace":            {Trial{}, func(p *shell.Parts) { p.Client = straying{p.Client, p.Client} }},
	"believes notes in any namespace":            {Trial{Routed: true}, believesNotes},
	"reads once for each pod that a spec asks for": {Trial{}, func(p *shell.Parts) {
		decide := p.Engine
		p.Engine = func(o plan.Observed) plan.Plan {
			if o.Rollout.Spec.Replicas != nil {
				for range *o.Rollout.Spec.Replicas {
					_ = p.Live.Get(context.Background(), client.ObjectKeyFromObject(o.Rollout), &v1alpha1.Rollout{})
				}
			}
			return decide(o)
		}
	}},
	"requeues a Rollout endlessly that claims to be aborted": {Trial{}, func(p *shell.Parts) {
		decide := p.Engine
		p.Engine = func(o plan.Observed) plan.Plan {
			if s := o.Rollout.Status; s.Abort && s.CurrentPodHash == "" { // an abort of nothing: nobody but a forger writes that
				return plan.Plan{Needs: []change.Need{change.NeedLiveRollout{}}}
			}
			return decide(o)
		}
	}},
}

// TestHostileMutantsAreFound proves that the hostile mode bites.
func TestHostileMutantsAreFound(t *testing.T) {
	for name, mutant := range hostileMutants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			isFound(t, "", func(seed uint64) *Fault { // as explore does
				trial := mutant.kind
				trial.Seed, trial.Shell, trial.Hostile, trial.Standby = seed, true, true, !trial.Routed && seed%2 == 0
				return Play(trial, Subject{Engine: plan.Next, Break: mutant.with}, nil)
			})
		})
	}
}

// everywhere lists what belongs to an owner wherever it is.
type everywhere struct{ client.Client }

func (e everywhere) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(options)
	if o.FieldSelector != nil {
		o.Namespace = ""
	}
	return e.Client.List(ctx, list, &o)
}

// byName finds what belongs to an owner by the name of its controller, and not by the UID.
type byName struct{ client.Client }

func (b byName) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(options)
	name := b.nameOf(ctx, o.FieldSelector)
	if name == "" {
		return b.Client.List(ctx, list, &o)
	}
	o.FieldSelector, o.Namespace = nil, ""
	if err := b.Client.List(ctx, list, &o); err != nil {
		return err
	}
	all, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	return meta.SetList(list, slices.DeleteFunc(all, func(o runtime.Object) bool {
		owned, err := meta.Accessor(o)
		if err != nil {
			return true
		}
		owner := metav1.GetControllerOfNoCopy(owned)
		return owner == nil || owner.Kind != v1alpha1.KindRollout || owner.Name != name
	}))
}

// nameOf is the name of the Rollout whose UID is asked for.
func (b byName) nameOf(ctx context.Context, selector fields.Selector) string {
	if selector == nil {
		return ""
	}
	uid, asked := selector.RequiresExactMatch("controller-uid")
	var rollouts v1alpha1.RolloutList
	if !asked || b.Client.List(ctx, &rollouts) != nil {
		return ""
	}
	for i := range rollouts.Items {
		if string(rollouts.Items[i].UID) == uid {
			return rollouts.Items[i].Name
		}
	}
	return ""
}

// straying looks for a Service in all namespaces if the one that is meant does not have it.
type straying struct {
	client.Client
	all client.Reader
}

func (s straying) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	err := s.Client.Get(ctx, key, o, options...)
	service, ok := o.(*corev1.Service)
	if !ok || client.IgnoreNotFound(err) != nil || err == nil {
		return err
	}
	var services corev1.ServiceList
	if failed := s.all.List(ctx, &services); failed != nil {
		return failed
	}
	for i := range services.Items {
		if services.Items[i].Name == key.Name {
			*service = services.Items[i]
			return nil
		}
	}
	return err
}

// believesNotes takes its notes out of every route that has some, whichever namespace it is in.
func believesNotes(p *shell.Parts) {
	decide := p.Engine
	p.Engine = func(o plan.Observed) plan.Plan {
		next := decide(o)
		if len(next.Needs) > 0 {
			return next
		}
		var routes unstructured.UnstructuredList
		routes.SetGroupVersionKind(schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRouteList"})
		if err := p.Live.List(context.Background(), &routes); err != nil {
			return next
		}
		for i := range routes.Items {
			from := &routes.Items[i]
			claims := strings.Contains(from.GetAnnotations()[v1alpha1.GatewayAPINotesAnnotation], fmt.Sprintf("%q", o.Rollout.Namespace+"/"+o.Rollout.Name))
			if claims && from.GetNamespace() != o.Rollout.Namespace {
				to := from.DeepCopy()
				to.SetAnnotations(nil)
				next.Route = append(next.Route, change.WriteRoute{From: from, To: to})
			}
		}
		return next
	}
}
