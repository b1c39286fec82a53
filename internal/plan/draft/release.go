package draft

import (
	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/world"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// release gives a Service back, which selects the pods of all versions from then on. Where Services and routes say who gets what, whoever
// still uses it would get to a version that is on trial. So it selects the stable version until no other has pods, and until the active
// Service that took its place was seen to send there.
func (d *Draft) release(name string) {
	if c, ok := d.world.Spec.Strategy.(spec.Canary); ok && c.Traffic == nil { // the share of the pods is the share of the traffic
		d.free(name)
		return
	}
	keeper := d.keeper()
	switch {
	case keeper == nil:
		d.journal.Note(change.TopicWait, "the release of service "+name, "no version has pods yet")
	case d.update.State() == progress.Settled && d.world.OnlyPods(keeper) && d.replaced(keeper):
		d.free(name)
	case d.Held:
		d.journal.Note(change.TopicWait, "service "+name, "routes may send to it, and "+keeper.Name+" has too few pods for that")
	case keeper.Certain() >= min(1, d.world.Spec.Replicas):
		d.Point(name, keeper.Hash, notNamed+", and other versions have pods")
	default:
		d.journal.Note(change.TopicWait, "service "+name, keeper.Name+" has no available pod")
	}
}

func (d *Draft) free(name string) {
	freed := d.editService(name, notNamed)
	delete(freed.Spec.Selector, v1alpha1.PodTemplateHashLabel)
	delete(freed.Annotations, v1alpha1.ManagedByAnnotation)
	d.journal.Note(change.TopicRoute, "release service "+name, notNamed)
}

// keeper is the version that whoever uses a Service is to get to that is not named any more: the stable one, or what serves in its place.
func (d *Draft) keeper() *world.Version {
	if stable := d.world.Find(d.update.Is.StableRS); stable != nil {
		return stable
	}
	if d.world.IsBlueGreen() {
		return d.update.Serving
	}
	return d.world.New
}

// replaced reports whether what took the place of a Service was seen to send to a version.
func (d *Draft) replaced(v *world.Version) bool {
	b, ok := d.world.Spec.Strategy.(spec.BlueGreen)
	return !ok || d.world.ObservedSelects(b.ActiveService) == v.Hash
}
