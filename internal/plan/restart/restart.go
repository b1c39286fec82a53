package restart

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/capacity"
	"github.com/sluice-delivery/sluice/internal/plan/world"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// restartCheck is how often a restart is reconciled while nothing changes: a PodDisruptionBudget that blocked an eviction does not say
// when it will allow one.
const restartCheck = 30 * time.Second

// restart replaces the pods that were created before an instant, version by version.
//
// It depends only on what can be observed: spec.restartAt, status.restartedAt and the pods. So a controller that continues it after a
// crash decides the same, including the extra pod of a surge.
type restart struct {
	before metav1.Time
	// of is the version whose turn it is, and old are its pods that are still to be replaced. Nil when none are left of any.
	of  *world.Version
	old []*corev1.Pod

	// surge: no pod may be missing, so the version gets one more than it should have, and only then gives one of the old ones up.
	surge bool
	// unreported: a ReplicaSet still reports an available pod that was just evicted.
	unreported bool
	// asked is that this reconcile wants the extra pod, and given that the version had been asked for it before.
	asked, given bool
}

// Look finds out which pods a restart has still to replace.
func (r *Restart) Look() {
	if !r.update.IsRestarting() {
		return
	}
	at := r.world.Rollout.Spec.RestartAt
	if r.world.Now.Before(at.Time) {
		r.journal.Note(change.TopicWait, "the restart", "until "+at.UTC().Format(time.RFC3339))
		r.journal.WakeAt(at.Time)
		return
	}
	it := &restart{before: *at, surge: r.world.Spec.MaxUnavailable() == 0}
	for _, v := range r.restartOrder() {
		seen, looked := r.world.Pods[v.Hash]
		if !looked {
			r.journal.Need(change.NeedPods{Hash: v.Hash})
			continue
		}
		it.unreported = it.unreported || v.Unreported
		if old := world.CreatedBefore(seen, at); it.of == nil && len(old) > 0 {
			it.of, it.old = v, old
		}
	}
	if len(r.journal.Needs) == 0 {
		r.restart = it
	}
}

// restartOrder are the versions with pods to stay, in the order in which they are restarted: the stable one, which serves, then the
// new one, then the oldest.
func (r *Restart) restartOrder() []*world.Version {
	order := []*world.Version{r.world.Stable}
	if r.world.New != r.world.Stable {
		order = append(order, r.world.New)
	}
	for i := len(r.world.Others) - 1; i >= 0; i-- {
		order = append(order, &r.world.Others[i])
	}
	return slices.DeleteFunc(order, func(v *world.Version) bool { return v.Desired() == 0 })
}

// Unreported reports whether an update is about to take the place of a restart of which the ReplicaSets have not reported every
// eviction yet. From then on nobody looks at the pods themselves, so the update waits for that, which takes as long as a ReplicaSet
// controller takes to see that a pod is gone.
func (r *Restart) Unreported() bool {
	at := r.world.Rollout.Spec.RestartAt
	if !r.update.IsRestarting() || r.world.Now.Before(at.Time) {
		return false
	}
	for _, v := range r.restartOrder() {
		if _, looked := r.world.Pods[v.Hash]; !looked {
			r.journal.Need(change.NeedPods{Hash: v.Hash})
		} else if v.Unreported {
			r.journal.Note(change.TopicWait, "the update", fmt.Sprintf("%s has not reported yet that a pod of it was restarted", v.Name))
			r.journal.WakeAt(r.world.Now.Add(time.Second))
			return true
		}
	}
	return len(r.journal.Needs) > 0
}

// WithSurge is how many pods a version should have that should have n: one more while its pods are restarted and none may be missing.
func (r *Restart) WithSurge(v *world.Version, n int32) int32 {
	it := r.restart
	if it == nil || !it.surge || it.of == nil || it.of != v {
		return n
	}
	it.asked, it.given = true, v.Desired() > n
	return n + 1
}

// CountsWithSurge is withSurge for both versions of a canary. Where rounding to the weight has given a pod too many already, that
// one will do: another might be more than maxSurge allows.
func (r *Restart) CountsWithSurge(n capacity.Counts) capacity.Counts {
	if n.Canary+n.Stable > r.world.Spec.Replicas {
		return n
	}
	return capacity.Counts{Canary: r.WithSurge(r.world.New, n.Canary), Stable: r.WithSurge(r.world.StableBeside(), n.Stable)}
}

// Surging is how many pods more than spec.replicas there should be. One that does not come is no progress, and the deadline tells.
func (r *Restart) Surging() int32 {
	if r.restart != nil && r.restart.asked {
		return 1
	}
	return 0
}

// Replace evicts the pods that a restart can spare now, and records its end when there are none left to replace.
func (r *Restart) Replace() {
	it := r.restart
	if it == nil {
		return
	}
	if it.of == nil && it.unreported {
		r.journal.WakeAt(r.world.Now.Add(restartCheck))
		r.journal.Note(change.TopicWait, "the end of the restart", "a ReplicaSet has not reported yet that a pod of it was restarted")
		return
	}
	if it.of == nil {
		r.update.Is.RestartedAt = it.before.DeepCopy()
		r.journal.Note(change.TopicUpdate, "all pods are restarted", "none is older than "+it.before.UTC().Format(time.RFC3339))
		return
	}
	r.journal.WakeAt(r.world.Now.Add(restartCheck))
	if r.draft.Shrinks() { // what goes for another reason is not there to stand in for what is restarted
		r.journal.Note(change.TopicWait, "the restart", "a version is being scaled down")
		return
	}
	spared, why := r.spare()
	for _, pod := range spared {
		r.draft.Shrink = append(r.draft.Shrink, change.EvictPod{Pod: pod})
		r.journal.Note(change.TopicShrink, "restart pod "+pod.Name, why)
	}
	if len(spared) == 0 {
		r.journal.Note(change.TopicWait, fmt.Sprintf("the restart of %s of %s", capacity.Pods(int32(len(it.old))), it.of.Name), why)
	}
}

// spare returns the old pods that can go now, or none and what has to come first. Those that are not available go first and cost
// nothing: perhaps a restart is what they need. Of the others only as many as leave the minimum available.
func (r *Restart) spare() (spared []*corev1.Pod, why string) {
	if why := r.mayNotSpare(); why != "" {
		return nil, why
	}
	it := r.restart
	available, floor := r.restartBudget()
	if available == 0 {
		return nil, "no pod is available"
	}
	atOnce := int(max(1, r.world.Spec.MaxUnavailable()))
	budget := int(available - floor)
	for _, pod := range it.old {
		if !world.IsAvailable(pod, it.of.Spec.MinReadySeconds, r.world.Now) && len(spared) < atOnce {
			spared = append(spared, pod)
		}
	}
	for _, pod := range it.old {
		if world.IsAvailable(pod, it.of.Spec.MinReadySeconds, r.world.Now) && len(spared) < atOnce && budget > 0 {
			spared, budget = append(spared, pod), budget-1
		}
	}
	if len(spared) == 0 {
		return nil, fmt.Sprintf("%d available, of which %d must stay", available, floor)
	}
	return spared, "created before " + it.before.UTC().Format(time.RFC3339)
}

// mayNotSpare is what has to come before any old pod goes, empty if nothing has.
func (r *Restart) mayNotSpare() string {
	it, frozen := r.restart, r.draft.MayNotScale()
	switch {
	case it.surge && frozen != "":
		return "one more pod comes first, and " + frozen
	case it.asked && !it.given:
		return "one more pod comes first: none may be missing"
	}
	return ""
}

// restartBudget is how many pods are available and how many must remain so. That is all that are wanted, whatever for, less
// maxUnavailable; and where that is none, less the one that the surge has added.
func (r *Restart) restartBudget() (available, floor int32) {
	wanted := int32(0)
	versions := r.world.All()
	if b, ok := r.world.Spec.Strategy.(spec.BlueGreen); ok && slices.Contains([]string{r.world.ObservedSelects(b.ActiveService), r.draft.Selects(b.ActiveService)}, r.restart.of.Hash) {
		versions = []*world.Version{r.restart.of} // pods of other stacks stand in for none of those that serve, or will after this pass
	}
	for _, v := range versions {
		available += v.Counts().Serving()
		after := world.Version{ReplicaSet: r.draft.Edited(v)} // what this pass adds is wanted too, and not there yet
		wanted += after.Desired()
	}
	if r.restart.surge {
		return available, max(r.world.Spec.Replicas, wanted-1)
	}
	return available, max(r.world.Spec.Replicas, wanted) - max(1, r.world.Spec.MaxUnavailable())
}
