package explore

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/controller"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/sim/shell"
	"github.com/sluice-delivery/sluice/internal/traffic/routers"
)

// shellMutants are faults of the controller's own shell, injected from outside: in its requests, in the changes that it sees, and in how it
// handles answers.
var shellMutants = map[string]func(*shell.Parts){
	"drops the resourceVersion from patches": writes(func(c client.Client, o client.Object, p client.Patch, status bool) error {
		return send(c, o, unguarded{p}, status)
	}),
	"forces what conflicts": writes(func(c client.Client, o client.Object, p client.Patch, status bool) error {
		err := send(c, o, p, status)
		if apierrors.IsConflict(err) {
			return send(c, o, unguarded{p}, status)
		}
		return err
	}),
	"swallows conflicts": writes(func(c client.Client, o client.Object, p client.Patch, status bool) error {
		if err := send(c, o, p, status); !apierrors.IsConflict(err) {
			return err
		}
		return nil
	}),
	"takes time-outs for answers": writes(func(c client.Client, o client.Object, p client.Patch, status bool) error {
		if err := send(c, o, p, status); !apierrors.IsServerTimeout(err) {
			return err
		}
		return nil
	}),
	"does not wait for its own writes": writes(func(c client.Client, o client.Object, p client.Patch, status bool) error {
		err := send(c, o, p, status)
		o.SetResourceVersion("a version that nothing can be compared with")
		return err
	}),
	"takes the whole status away with its last field": writes(func(c client.Client, o client.Object, p client.Patch, status bool) error {
		return send(c, o, sweeping{p}, status)
	}),
	"creates again what timed out, by another name": func(p *shell.Parts) { p.Client = again{p.Client} },
	"does not look live before pods go":             func(p *shell.Parts) { p.Live = cached{p.Live, p.Client} },
	"trusts the caches that it takes over with":     func(p *shell.Parts) { p.Live = trusting{p.Live, p.Client} },
	"writes the status before it acts":              recordsFirst,
	"does not see Services":                         deaf(&corev1.Service{}),
	"does not see ReplicaSets":                      deafToSets,
	"does not see AnalysisRuns":                     deaf(&v1alpha1.AnalysisRun{}),
	"loses what it wanted to requeue": func(p *shell.Parts) {
		p.Asks = func(_ reconcile.Result, err error) (reconcile.Result, error) { return reconcile.Result{}, err }
	},
	"gives up behind an error": func(p *shell.Parts) {
		p.Asks = func(r reconcile.Result, _ error) (reconcile.Result, error) { return r, nil }
	},
	"tells everything twice": func(p *shell.Parts) { p.Events = echo{p.Events} },
}

// routedShellMutants are those that take routers to be found out.
var routedShellMutants = map[string]func(*shell.Parts){
	"does not look for what it left in routes": func(p *shell.Parts) { p.Live = blind{p.Live} },
}

// lateShellMutants are those that take EndpointSlices which are late.
var lateShellMutants = map[string]func(*shell.Parts){
	"does not look whether a Service lists a pod": func(p *shell.Parts) { p.Live = withoutEndpoints{p.Live} },
}

// withoutEndpoints may not read EndpointSlices.
type withoutEndpoints struct{ client.Reader }

func (w withoutEndpoints) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	if _, ok := into.(*discoveryv1.EndpointSliceList); ok {
		return apierrors.NewForbidden(schema.GroupResource{Group: discoveryv1.GroupName, Resource: "endpointslices"}, "", nil)
	}
	return w.Reader.List(ctx, into, options...)
}

// TestShellMutantsAreFound proves that tier two bites: every fault of the shell is found out.
func TestShellMutantsAreFound(t *testing.T) {
	for name, mutant := range shellMutants {
		t.Run(name, func(t *testing.T) { isFoundInShell(t, Trial{}, mutant) })
	}
	for name, mutant := range routedShellMutants {
		t.Run(name, func(t *testing.T) { isFoundInShell(t, Trial{Routed: true}, mutant) })
	}
	for name, mutant := range lateShellMutants {
		t.Run(name, func(t *testing.T) { isFoundInShell(t, Trial{Routed: true, Late: true}, mutant) })
	}
}

// isFoundInShell demands that a history finds a fault of the shell.
func isFoundInShell(t *testing.T, kind Trial, with func(*shell.Parts)) {
	t.Helper()
	subject := Subject{Engine: plan.Next, Break: with}
	isFound(t, "", func(seed uint64) *Fault { // as explore does
		return Play(Trial{Seed: seed, Routed: kind.Routed, Late: kind.Late, Shell: true, Standby: !kind.Routed && seed%2 == 0}, subject, nil)
	})
}

// writes is a fault of how patches are sent.
func writes(how func(c client.Client, o client.Object, p client.Patch, status bool) error) func(*shell.Parts) {
	return func(p *shell.Parts) { p.Client = patching{p.Client, how} }
}

func send(c client.Client, o client.Object, p client.Patch, status bool) error {
	if status {
		return c.Status().Patch(context.Background(), o, p)
	}
	return c.Patch(context.Background(), o, p)
}

type patching struct {
	client.Client
	how func(c client.Client, o client.Object, p client.Patch, status bool) error
}

func (c patching) Patch(_ context.Context, o client.Object, p client.Patch, _ ...client.PatchOption) error {
	return c.how(c.Client, o, p, false)
}

func (c patching) Status() client.SubResourceWriter { return patchingStatus{c.Client.Status(), c} }

type patchingStatus struct {
	client.SubResourceWriter
	patching
}

func (c patchingStatus) Create(ctx context.Context, o, what client.Object, options ...client.SubResourceCreateOption) error {
	return c.SubResourceWriter.Create(ctx, o, what, options...)
}

func (c patchingStatus) Update(ctx context.Context, o client.Object, options ...client.SubResourceUpdateOption) error {
	return c.SubResourceWriter.Update(ctx, o, options...)
}

func (c patchingStatus) Apply(ctx context.Context, o runtime.ApplyConfiguration, options ...client.SubResourceApplyOption) error {
	return c.SubResourceWriter.Apply(ctx, o, options...)
}

func (c patchingStatus) Patch(_ context.Context, o client.Object, p client.Patch, _ ...client.SubResourcePatchOption) error {
	return c.how(c.Client, o, p, true)
}

// unguarded is a patch without the version that it was decided on.
type unguarded struct{ client.Patch }

func (u unguarded) Data(o client.Object) ([]byte, error) {
	return rewritten(u.Patch, o, func(patch map[string]any) {
		if metadata, ok := patch["metadata"].(map[string]any); ok {
			delete(metadata, "resourceVersion")
		}
	})
}

// sweeping patches of which nothing but fields that go is left say that the whole status goes: as JSON, an empty struct may not be written.
type sweeping struct{ client.Patch }

func (s sweeping) Data(o client.Object) ([]byte, error) {
	return rewritten(s.Patch, o, func(patch map[string]any) {
		status, ok := patch["status"].(map[string]any)
		if ok && !slices.ContainsFunc(slices.Collect(maps.Values(status)), func(v any) bool { return v != nil }) {
			patch["status"] = nil
		}
	})
}

// rewritten is what a patch says, changed.
func rewritten(p client.Patch, o client.Object, change func(map[string]any)) ([]byte, error) {
	data, err := p.Data(o)
	if err != nil {
		return nil, err
	}
	var patch map[string]any
	if err := json.Unmarshal(data, &patch); err != nil {
		return nil, err
	}
	change(patch)
	return json.Marshal(patch)
}

type again struct{ client.Client }

func (c again) Create(ctx context.Context, o client.Object, options ...client.CreateOption) error {
	err := c.Client.Create(ctx, o, options...)
	if apierrors.IsServerTimeout(err) {
		o.SetName(o.GetName() + "-again")
		return c.Client.Create(ctx, o, options...)
	}
	return err
}

// cached reads Services from the caches where they are to be read live.
type cached struct {
	client.Reader
	caches client.Client
}

func (c cached) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	if _, service := o.(*corev1.Service); service {
		return c.caches.Get(ctx, key, o, options...)
	}
	return c.Reader.Get(ctx, key, o, options...)
}

// trusting has the caches vouch for themselves where they are to be compared with the API server.
type trusting struct {
	client.Reader
	caches client.Client
}

func (t trusting) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	if _, compares := o.(*metav1.PartialObjectMetadata); compares {
		return t.caches.Get(ctx, key, o, options...)
	}
	return t.Reader.Get(ctx, key, o, options...)
}

func (t trusting) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if _, compares := list.(*metav1.PartialObjectMetadataList); compares {
		return t.caches.List(ctx, list, options...)
	}
	return t.Reader.List(ctx, list, options...)
}

// blind finds nothing in routes that are searched.
type blind struct{ client.Reader }

func (b blind) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if slices.ContainsFunc(routers.Kinds(), func(gvk schema.GroupVersionKind) bool {
		return list.GetObjectKind().GroupVersionKind() == gvk.GroupVersion().WithKind(gvk.Kind+"List")
	}) {
		return nil
	}
	return b.Reader.List(ctx, list, options...)
}

// recordsFirst writes the status before what it records is done.
func recordsFirst(p *shell.Parts) {
	decide := p.Engine
	p.Engine = func(o plan.Observed) plan.Plan {
		next := decide(o)
		if len(next.Needs) > 0 || next.Record == nil || equality.Semantic.DeepEqual(next.Record.From.Status, next.Record.To.Status) {
			return next
		}
		from := next.Record.From
		to := from.DeepCopy()
		to.Status = next.Record.To.Status
		if err := p.Client.Status().Patch(context.Background(), to, client.MergeFromWithOptions(from, client.MergeFromWithOptimisticLock{})); err == nil {
			rest := *next.Record.To
			rest.Status = to.Status
			next.Record = &plan.Record{From: to, To: &rest}
		}
		return next
	}
}

func deaf(to client.Object) func(*shell.Parts) {
	return func(p *shell.Parts) {
		p.Watches = func(all []controller.Watch) []controller.Watch {
			return slices.DeleteFunc(all, func(w controller.Watch) bool { return reflect.TypeOf(w.Object) == reflect.TypeOf(to) })
		}
	}
}

func deafToSets(p *shell.Parts) {
	p.Watches = func(all []controller.Watch) []controller.Watch { return all[1:] }
}

// echo tells everything twice.
type echo struct{ record.EventRecorder }

func (e echo) Event(object runtime.Object, kind, reason, message string) {
	e.EventRecorder.Event(object, kind, reason, message)
	e.EventRecorder.Event(object, kind, reason, message)
}
