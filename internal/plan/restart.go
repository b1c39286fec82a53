package plan

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// restartCheck is how often a restart looks again where nothing happens: a PodDisruptionBudget that forbade an eviction does not
// say when it allows one.
const restartCheck = 30 * time.Second

// restart is the replacing of pods that were created before an instant, version by version (behaviour.md A14).
//
// All it goes by is what can be seen: spec.restartAt, status.restartedAt and the pods. So whoever continues it after a crash does
// what would have been done, the pod too many of a surge included.
type restart struct {
	before metav1.Time
	// of is the version whose turn it is, and old are its pods that are still to be replaced. Nil when none are left of any.
	of  *version
	old []*corev1.Pod

	// surge: no pod may be missing, so the version gets one more than it should have, and only then gives one of the old ones up.
	surge bool
	// unreported: a ReplicaSet tells of more available pods than it has, since one was evicted a moment ago.
	unreported bool
	// asked is that this pass wants the pod too many, and given that the version had been told of it before.
	asked, given bool
}

// isRestarting reports whether pods are to be replaced, now or later.
func (p *pass) isRestarting() bool {
	at := p.Rollout.Spec.RestartAt
	return at != nil && !at.Equal(p.is.RestartedAt)
}

// lookForRestart finds out which pods a restart has still to replace. While one is under way the pods themselves say how many are
// available: a ReplicaSet's status may not tell yet of the pod that was evicted a moment ago, and whoever scales down by it would
// take away what stands in for that.
func (p *pass) lookForRestart() {
	if !p.isRestarting() {
		return
	}
	at := p.Rollout.Spec.RestartAt
	if p.Now.Before(at.Time) {
		p.Note(change.TopicWait, "the restart", "until "+at.UTC().Format(time.RFC3339))
		p.WakeAt(at.Time)
		return
	}
	it := &restart{before: *at, surge: p.spec.MaxUnavailable() == 0}
	for _, v := range p.restartOrder() {
		seen, looked := p.Pods[v.hash]
		if !looked {
			p.Need(change.NeedPods{Hash: v.hash})
			continue
		}
		if v.believe(seen, p.Now) {
			it.unreported = true
		}
		if old := createdBefore(seen, at); it.of == nil && len(old) > 0 {
			it.of, it.old = v, old
		}
	}
	if len(p.Needs) == 0 {
		p.restart = it
	}
}

// restartOrder are the versions with pods to stay, in the order in which they are restarted: the stable one, which serves, then the
// new one, then the oldest.
func (p *pass) restartOrder() []*version {
	order := []*version{p.stable}
	if p.new != p.stable {
		order = append(order, p.new)
	}
	for i := len(p.others) - 1; i >= 0; i-- {
		order = append(order, &p.others[i])
	}
	return slices.DeleteFunc(order, func(v *version) bool { return v.desired() == 0 })
}

// restartUnreported reports whether an update is about to take the place of a restart of which the ReplicaSets have not reported every
// eviction yet. From then on nobody looks at the pods themselves, so the update waits for that, which takes as long as a ReplicaSet
// controller takes to see that a pod is gone.
func (p *pass) restartUnreported() bool {
	at := p.Rollout.Spec.RestartAt
	if !p.isRestarting() || p.Now.Before(at.Time) {
		return false
	}
	for _, v := range p.restartOrder() {
		seen, looked := p.Pods[v.hash]
		if !looked {
			p.Need(change.NeedPods{Hash: v.hash})
		} else if set := (version{ReplicaSet: v.ReplicaSet}); set.believe(seen, p.Now) {
			p.Note(change.TopicWait, "the update", fmt.Sprintf("%s has not reported yet that a pod of it was restarted", v.Name))
			p.WakeAt(p.Now.Add(time.Second))
			return true
		}
	}
	return len(p.Needs) > 0
}

// believe takes the number of available pods from the pods, where that is less than what the ReplicaSet says, and reports whether it is.
func (v *version) believe(pods []*corev1.Pod, now time.Time) bool {
	available := int32(0)
	for _, pod := range pods {
		if isAvailable(pod, v.Spec.MinReadySeconds, now) {
			available++
		}
	}
	if v.Status.AvailableReplicas <= available {
		return false
	}
	set := *v.ReplicaSet // the cache's own stays as it is
	set.Status.AvailableReplicas = available
	v.ReplicaSet = &set
	return true
}

// stays reports whether a pod is one that its ReplicaSet counts.
func stays(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

func isAvailable(pod *corev1.Pod, minReadySeconds int32, now time.Time) bool {
	if !stays(pod) {
		return false
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return !now.Before(c.LastTransitionTime.Add(time.Duration(minReadySeconds) * time.Second))
		}
	}
	return false
}

func createdBefore(pods []*corev1.Pod, at *metav1.Time) []*corev1.Pod {
	var old []*corev1.Pod
	for _, pod := range pods {
		if stays(pod) && pod.CreationTimestamp.Before(at) {
			old = append(old, pod)
		}
	}
	return old
}

// withSurge is how many pods a version should have that should have n: one more while its pods are restarted and none may be missing.
func (p *pass) withSurge(v *version, n int32) int32 {
	it := p.restart
	if it == nil || !it.surge || it.of == nil || it.of != v {
		return n
	}
	it.asked, it.given = true, v.desired() > n
	return n + 1
}

// countsWithSurge is withSurge for both versions of a canary. Where rounding to the weight has given a pod too many already, that
// one will do: another might be more than maxSurge allows.
func (p *pass) countsWithSurge(n counts) counts {
	if n.canary+n.stable > p.spec.Replicas {
		return n
	}
	return counts{canary: p.withSurge(p.new, n.canary), stable: p.withSurge(p.stableBeside(), n.stable)}
}

// surging is how many pods more than spec.replicas there should be. One that does not come is no progress, and the deadline tells.
func (p *pass) surging() int32 {
	if p.restart != nil && p.restart.asked {
		return 1
	}
	return 0
}

// replaceOld evicts the pods that a restart can spare now, and records its end when there are none left to replace.
func (p *pass) replaceOld() {
	it := p.restart
	if it == nil {
		return
	}
	if it.of == nil && it.unreported {
		p.WakeAt(p.Now.Add(restartCheck))
		p.Note(change.TopicWait, "the end of the restart", "a ReplicaSet has not reported yet that a pod of it was restarted")
		return
	}
	if it.of == nil {
		p.is.RestartedAt = it.before.DeepCopy()
		p.Note(change.TopicUpdate, "all pods are restarted", "none is older than "+it.before.UTC().Format(time.RFC3339))
		return
	}
	p.WakeAt(p.Now.Add(restartCheck))
	if p.shrinks() { // what goes for another reason is not there to stand in for what is restarted
		p.Note(change.TopicWait, "the restart", "a version is being scaled down")
		return
	}
	spared, why := p.spare()
	for _, pod := range spared {
		p.shrink = append(p.shrink, change.EvictPod{Pod: pod, Reason: why})
		p.Note(change.TopicShrink, "restart pod "+pod.Name, why)
	}
	if len(spared) == 0 {
		p.Note(change.TopicWait, fmt.Sprintf("the restart of %s of %s", pods(int32(len(it.old))), it.of.Name), why)
	}
}

// spare returns the old pods that can go now, or none and what has to come first. Those that are not available go first and cost
// nothing: perhaps a restart is what they need. Of the others only as many as leave the minimum available.
func (p *pass) spare() (spared []*corev1.Pod, why string) {
	it := p.restart
	if why := p.mayNotScale(); it.surge && why != "" {
		return nil, "one more pod comes first, and " + why
	}
	if b, ok := p.spec.Strategy.(spec.BlueGreen); ok && p.is.Abort && it.of != p.stable && p.observedSelects(b.ActiveService) == it.of.hash {
		return nil, "its update was aborted, and the active service still sends to it" // it gets no pod more, and is to have none fewer
	}
	if it.asked && !it.given {
		return nil, "one more pod comes first: none may be missing"
	}
	available, floor := p.restartBudget()
	if available == 0 {
		return nil, "no pod is available"
	}
	atOnce := int(max(1, p.spec.MaxUnavailable()))
	budget := int(available - floor)
	for _, pod := range it.old {
		if !isAvailable(pod, it.of.Spec.MinReadySeconds, p.Now) && len(spared) < atOnce {
			spared = append(spared, pod)
		}
	}
	for _, pod := range it.old {
		if isAvailable(pod, it.of.Spec.MinReadySeconds, p.Now) && len(spared) < atOnce && budget > 0 {
			spared, budget = append(spared, pod), budget-1
		}
	}
	if len(spared) == 0 {
		return nil, fmt.Sprintf("%d available, of which %d must stay", available, floor)
	}
	return spared, "created before " + it.before.UTC().Format(time.RFC3339)
}

// restartBudget is how many pods are available and how many must remain so. That is all that are wanted, whatever for, less
// maxUnavailable; and where that is none, less the one that the surge has added.
func (p *pass) restartBudget() (available, floor int32) {
	wanted := int32(0)
	versions := p.all()
	if b, ok := p.spec.Strategy.(spec.BlueGreen); ok && p.observedSelects(b.ActiveService) == p.restart.of.hash {
		versions = []*version{p.restart.of} // pods of other stacks stand in for none of those that serve
	}
	for _, v := range versions {
		available += v.fleet().serving()
		wanted += v.desired()
		after := version{ReplicaSet: p.edited(v)} // what this pass adds is wanted too, and not there yet
		wanted += max(0, after.desired()-v.desired())
	}
	if p.restart.surge {
		return available, max(p.spec.Replicas, wanted-1)
	}
	return available, max(p.spec.Replicas, wanted) - max(1, p.spec.MaxUnavailable())
}
