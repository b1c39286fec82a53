package shell

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	jsonpatch "github.com/evanphx/json-patch/v5"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/sim"
)

// apiClient reads from the caches of a process and writes to the World's API server.
type apiClient struct {
	*process
	*caches
}

var _ client.Client = &apiClient{}

// write does one write, unless the process crashes before it, the request is lost, or its answer is.
func (p *process) write(k kind, verb string, o client.Object, do func() error) error {
	p.spend()
	if p.current == nil && k.Kind != "Event" {
		p.shell.OnReach(Reach{For: p.key.NamespacedName, Kind: k, Verb: verb, To: client.ObjectKeyFromObject(o)})
	}
	if p.begins {
		p.begins = false
		p.tellPlan()
	}
	p.meanwhile()
	if p.writes == 0 {
		panic(crash{})
	}
	if p.current == nil {
		p.pass.LeadLost = p.shell.leader != p
		if p.atHome() {
			p.shell.OnWrite(p.pass)
		}
	}
	if err := p.lost(k, verb); err != nil {
		if p.shell.Fate.OneOf("write done", 2) == 0 {
			_ = do() // it is done, and nobody knows
		}
		p.pass.Conflict = true
		return err
	}
	if err := do(); err != nil {
		p.pass.Conflict = p.pass.Conflict || !isRefusal(err)
		return err
	}
	p.pass.Writes++
	if p.writes > 0 {
		if p.writes--; p.writes == 0 && p.shell.Fate.OneOf("crash unheard", 2) == 0 {
			panic(crash{}) // before it has heard that it was done
		}
	}
	return nil
}

// isRefusal reports whether the shell plans again with the result of a write.
func isRefusal(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsAlreadyExists(err) }

// meanwhile lets something happen before a write: a user acts, time passes, and perhaps another process takes the lead. This process,
// stopped in the middle of a reconcile, does not know that yet and may do another write or two.
func (p *process) meanwhile() {
	s := p.shell
	if p.current != nil || !s.Fate.Happens("stall", s.Weather.Slow) || s.leader != p {
		return
	}
	if s.Meanwhile != nil && s.Fate.OneOf("meanwhile", 2) == 0 {
		s.Meanwhile()
	}
	stall := s.Fate.UpTo("stalled", longestWrite)
	if s.Fate.Happens("hand over", s.Weather.HandOver) {
		s.start(s.Weather.Standby)
		stall = s.Fate.UpTo("stood still", longestStall)
		p.writes = s.Fate.OneOf("last writes", 3)
	}
	s.World.Run(s.World.Now().Add(stall))
}

// Create creates an object.
func (c *apiClient) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	if event, ok := o.(*corev1.Event); ok {
		return c.publish(event, "create")
	}
	k := kindOf(o)
	return c.write(k, "create", o, func() error {
		made, err := c.shell.server.Create(o.DeepCopyObject().(sim.Object))
		if err == nil {
			copyInto(made, o)
		}
		return err
	})
}

// Delete deletes an object.
func (c *apiClient) Delete(_ context.Context, o client.Object, options ...client.DeleteOption) error {
	k := kindOf(o)
	var d client.DeleteOptions
	d.ApplyOptions(options)
	return c.write(k, "delete", o, func() error { return c.shell.server.Delete(k, client.ObjectKeyFromObject(o), d.Preconditions) })
}

// Patch patches an object, and leaves its status alone where that is kept apart.
func (c *apiClient) Patch(_ context.Context, o client.Object, patch client.Patch, _ ...client.PatchOption) error {
	return c.patch(o, patch, false)
}

func (c *apiClient) patch(o client.Object, patch client.Patch, status bool) error {
	if event, ok := o.(*corev1.Event); ok {
		return c.publish(event, "patch")
	}
	k := kindOf(o)
	if patch.Type() != types.MergePatchType {
		return fmt.Errorf("a %s: %w", patch.Type(), errNobody)
	}
	data, err := patch.Data(o)
	if err != nil {
		return err
	}
	return c.write(k, "patch", o, func() error {
		next, err := patched(c.shell.server.Get(k, client.ObjectKeyFromObject(o)), data)
		if err != nil || next == nil {
			return orNotFound(err, k, o.GetName())
		}
		now, changed, err := c.shell.server.Update(next, status)
		if err != nil {
			return err
		}
		if !changed {
			c.pass.Idle = fmt.Sprintf("patch of %s %s that changes nothing: %s", k.Kind, o.GetName(), data)
		}
		if ro, ok := now.(*v1alpha1.Rollout); ok && status {
			c.compare(ro, data)
		}
		o.SetUID(now.GetUID()) // no more is asked for
		o.SetResourceVersion(now.GetResourceVersion())
		return nil
	})
}

// compare notes if a Rollout's status is not what was decided, nor why that is withheld.
func (p *process) compare(now *v1alpha1.Rollout, patch []byte) {
	record := p.pass.Plan.Record
	if record == nil {
		return
	}
	if held := plan.Withheld(p.pass.Observed.Rollout, now.Status.Phase, now.Status.Message); held != nil && equality.Semantic.DeepEqual(now.Status, held.To.Status) {
		return
	}
	if !equality.Semantic.DeepEqual(now.Status, record.To.Status) {
		p.pass.Garbled = fmt.Sprintf("a patch makes another status than what was decided: %s", patch)
	}
}

func orNotFound(err error, k kind, name string) error {
	if err != nil {
		return err
	}
	return notFound(k, name)
}

// patched is an object with a JSON merge patch applied, nil if there is no object.
func patched(have sim.Object, data []byte) (sim.Object, error) {
	if have == nil {
		return nil, nil //nolint:nilnil // the caller knows what is missing
	}
	before, err := json.Marshal(have)
	if err != nil {
		return nil, err
	}
	after, err := jsonpatch.MergePatch(before, data)
	if err != nil {
		return nil, err
	}
	next := reflect.New(reflect.TypeOf(have).Elem()).Interface().(sim.Object)
	if err := json.Unmarshal(after, next); err != nil {
		return nil, err
	}
	keepUnreadable(have, next)
	return next, nil
}

// keepUnreadable keeps what does not fit the API as it is stored: patches do not touch it, and JSON that was made of a Go value lacks it.
func keepUnreadable(have, next sim.Object) {
	switch next := next.(type) {
	case *v1alpha1.Rollout:
		next.Unreadable = have.(*v1alpha1.Rollout).Unreadable
	case *v1alpha1.AnalysisRun:
		next.Unreadable = have.(*v1alpha1.AnalysisRun).Unreadable
	case *v1alpha1.Experiment:
		next.Unreadable = have.(*v1alpha1.Experiment).Unreadable
	}
}

// Update is for nobody: what is not guarded by a patch of what differs overwrites what others have written.
func (*apiClient) Update(context.Context, client.Object, ...client.UpdateOption) error {
	return errNobody
}

// DeleteAllOf is for nobody.
func (*apiClient) DeleteAllOf(context.Context, client.Object, ...client.DeleteAllOfOption) error {
	return errNobody
}

// Apply is for nobody.
func (*apiClient) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	return errNobody
}

// Status writes statuses.
func (c *apiClient) Status() client.SubResourceWriter { return subresource{c, "status"} }

// SubResource writes a subresource.
func (c *apiClient) SubResource(name string) client.SubResourceClient { return subresource{c, name} }

// Scheme has the kinds that the controller knows.
func (*apiClient) Scheme() *runtime.Scheme { return scheme }

// RESTMapper knows the kinds of the World.
func (c *apiClient) RESTMapper() meta.RESTMapper { return c.shell.mapper }

// GroupVersionKindFor is the kind of an object.
func (*apiClient) GroupVersionKindFor(o runtime.Object) (schema.GroupVersionKind, error) {
	return gvkOf(o), nil
}

// IsObjectNamespaced is true of all kinds here.
func (*apiClient) IsObjectNamespaced(runtime.Object) (bool, error) { return true, nil }

// subresource writes what is kept apart from an object: its status, its size, its eviction.
type subresource struct {
	*apiClient
	name string
}

// Get is for nobody.
func (subresource) Get(context.Context, client.Object, client.Object, ...client.SubResourceGetOption) error {
	return errNobody
}

// Apply is for nobody.
func (subresource) Apply(context.Context, runtime.ApplyConfiguration, ...client.SubResourceApplyOption) error {
	return errNobody
}

// Create evicts a pod.
func (s subresource) Create(_ context.Context, o client.Object, what client.Object, _ ...client.SubResourceCreateOption) error {
	eviction, ok := what.(*policyv1.Eviction)
	if !ok {
		return errNobody
	}
	var is *metav1.Preconditions
	if eviction.DeleteOptions != nil {
		is = eviction.DeleteOptions.Preconditions
	}
	return s.write(kind{Kind: "Pod"}, "evict", o, func() error { return s.shell.server.Evict(client.ObjectKeyFromObject(o), is) })
}

// Update sets the size of a Deployment.
func (s subresource) Update(_ context.Context, o client.Object, options ...client.SubResourceUpdateOption) error {
	var u client.SubResourceUpdateOptions
	u.ApplyOptions(options)
	scale, ok := u.SubResourceBody.(*autoscalingv1.Scale)
	if !ok {
		return errNobody
	}
	return s.write(kind{Group: "apps", Kind: "Deployment"}, "scale", o, func() error {
		now, err := s.shell.server.Scale(client.ObjectKeyFromObject(o), scale.ResourceVersion, scale.Spec.Replicas)
		if err == nil {
			scale.ResourceVersion = now.GetResourceVersion()
		}
		return err
	})
}

// Patch patches a status.
func (s subresource) Patch(_ context.Context, o client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
	return s.patch(o, patch, true)
}
