package explore

import (
	"math"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/plan/move"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// capacity is what is known of the pods that serve: all that are available of a basic canary, those behind the active Service of a
// blue-green rollout.
type capacity struct {
	// what was seen last
	serving, pods, drained int

	// floor is how many pods must go on serving, missing how many of them were lost without anybody knowing yet.
	floor, missing int
	// ceiling is how many pods there may be.
	ceiling int

	// unfenced: what is written now was decided before another process took the lead. desired is how many pods were asked for before.
	unfenced bool
	desired  int
}

// kept holds after the controller did something.
func (r *rules) kept(what string) {
	now := r.servingNow()
	if must := min(r.serving, r.floor-r.missing); now < must {
		r.history.fail(move.Capacity.Name, "%s: %d available pods serve now, less than %d: %s", what, now, must, summary(r.world))
	}
}

// surge holds after pods were added.
func (r *rules) surge() {
	if now := r.world.PodCount(); now > max(r.pods, r.ceiling) {
		r.history.fail(move.Capacity.Name, "%d pods, more than %d: %s", now, r.ceiling, summary(r.world))
	}
}

// lost counts pods that serve no more without the controller having done anything, and remembers how things are.
func (r *rules) lost() {
	before := r.serving
	r.look()
	if gone := before - r.serving; gone > 0 {
		r.missing += gone
		r.told = map[string]bool{}
	}
}

// collide allows for pods that a process adds after losing the lead in the middle of a write, in addition to those of the next leader. Each
// decides correctly alone, but not both together, and a resourceVersion guards a single ReplicaSet: Kubernetes has nothing that could stop
// that write. The next reconcile deletes the surplus, and until then the number of pods is unknown.
func (r *rules) collide() {
	if r.unfenced && r.world.Desired() > r.desired {
		r.ceiling = math.MaxInt32
	}
}

func (r *rules) look() {
	r.serving, r.pods, r.drained = r.servingNow(), r.world.PodCount(), r.world.Drained
}

func (r *rules) servingNow() int {
	if b := r.world.Rollout().Spec.Strategy.BlueGreen; b != nil {
		return r.world.Behind(b.ActiveService)
	}
	return r.world.Available()
}

// limits are the least pods that must serve and the most that there may be. A wrong spec allows everything: nothing acts on it.
func (s resolved) limits() (least, most int) {
	switch strategy := s.spec.Strategy.(type) {
	case spec.Canary:
		if strategy.Traffic != nil {
			return 0, mostRouted(s.spec, strategy)
		}
		return int(s.spec.Replicas - strategy.MaxUnavailable), int(s.spec.Replicas + strategy.MaxSurge)
	case spec.BlueGreen:
		return int(s.spec.Replicas - strategy.MaxUnavailable), math.MaxInt32
	}
	return 0, math.MaxInt32
}

// mostRouted is how many pods there may be.
func mostRouted(s spec.Rollout, c spec.Canary) int {
	if !c.Traffic.EnforceMaxSurge {
		return math.MaxInt32
	}
	return int(max(s.Replicas+c.MaxSurge, 2*min(s.Replicas, 1)))
}

// allow lets both the old and the new limits hold until the new ones have been reached.
func (r *rules) allow(s resolved) {
	if !s.ok {
		return
	}
	least, most := s.limits()
	if isBlueGreen(s) != (r.world.Rollout().Spec.Strategy.BlueGreen != nil) { // what serves is another question now
		least = 0
	}
	r.floor, r.ceiling = min(r.floor, least), max(r.ceiling, most)
}

func isBlueGreen(s resolved) bool {
	_, ok := s.spec.Strategy.(spec.BlueGreen)
	return ok
}

// catchUp takes the present limits for granted once they have been reached, and everybody can know.
func (r *rules) catchUp() {
	if r.acting || !r.world.Quiet() {
		return
	}
	s := r.now()
	if !s.ok {
		return
	}
	least, most := s.limits()
	if r.serving >= least && !r.edited() {
		r.floor, r.missing = least, 0
	}
	if r.world.Desired() <= most {
		r.ceiling = most
	}
}

// edited reports whether the active Service selects something other than the controller knows, by a manual edit or by a write that it could not
// record: it cannot tell these apart. The pods that serve through that are no promise: an empty selector sends to the pods of all versions, on trial
// or not, and when the Service is pointed back, as it must be, those of the version that should serve remain.
func (r *rules) edited() bool {
	recorded := r.world.Rollout().Status.BlueGreen.ActiveSelector
	return r.world.Rollout().Spec.Strategy.BlueGreen != nil && r.active != recorded && (r.active == r.byHand || recorded != "")
}

// seenToServe is how many pods an observation shows that are available, serve, and stay. One that has become available since is nobody's
// promise.
func seenToServe(s spec.Rollout, o plan.Observed) int {
	hash := ""
	if b, ok := s.Strategy.(spec.BlueGreen); ok {
		var there bool
		if hash, there = seenToSelect(o, b.ActiveService); !there {
			return 0
		}
	}
	n := 0
	for _, rs := range o.ReplicaSets {
		if hash == "" || hashOf(rs) == hash {
			n += carries(rs)
		}
	}
	return n
}

// seenToSelect is the version that a Service was seen to select.
func seenToSelect(o plan.Observed, service string) (hash string, there bool) {
	for _, s := range o.Services {
		if s.Name == service {
			return s.Spec.Selector[v1alpha1.PodTemplateHashLabel], true
		}
	}
	return "", false
}

// carries is how many pods of a ReplicaSet are available and stay.
func carries(rs *appsv1.ReplicaSet) int {
	if rs == nil {
		return 0
	}
	return min(replicas(rs), int(rs.Status.AvailableReplicas))
}

// decision checks the capacity rule on what the engine saw: what it leaves can carry the minimum, or what there was.
func (r *rules) decision(p sim.Pass, s spec.Rollout) {
	next := map[string]int{}
	for _, c := range p.Plan.Shrink {
		if update, ok := c.(change.UpdateReplicaSet); ok {
			next[update.From.Name] = replicas(update.To)
		}
		if deletion, ok := c.(change.DeleteReplicaSet); ok {
			gone := deletion.ReplicaSet
			next[gone.Name] = 0
			if replicas(gone)+int(gone.Status.Replicas) > 0 {
				r.history.fail(move.Capacity.Name, "%s is deleted with its pods", gone.Name)
			}
		}
	}
	c, ok := s.Strategy.(spec.Canary)
	if !ok || c.Traffic != nil {
		return
	}
	before, after := seenToServe(s, p.Observed), 0
	for _, rs := range p.Observed.ReplicaSets {
		n, ok := next[rs.Name]
		if !ok {
			n = replicas(rs)
		}
		after += min(n, int(rs.Status.AvailableReplicas))
	}
	if least := int(s.Replicas - c.MaxUnavailable); after < min(before, least) {
		r.history.fail("decision", "of %d available pods %d would be left, and %d must be", before, after, least)
	}
}
