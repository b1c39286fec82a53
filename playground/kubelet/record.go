package kubelet

import (
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"
)

// record is what the kubelet remembers of a pod beyond what the API keeps. It is used by one worker at a time.
type record struct {
	uid     types.UID
	ip      string
	exact   *corev1.PodStatus // the status decided last, with times finer than seconds
	stored  *corev1.Pod       // the pod as the API server answered the last write; the cache may be behind it
	deleted time.Time         // when its deletion was requested
}

// sight is the pod as it is now known: the newer of the cached one and the one last written, and the exact status laid over it.
func (r *record) sight(cached *corev1.Pod, now time.Time) sighting {
	stored := cached
	if r.stored != nil && newer(r.stored, cached) {
		stored = r.stored
	}
	r.stored = stored
	pod := *stored // Only the status is replaced, so the rest may be shared with the cache.
	if r.exact != nil && !finished(stored) {
		pod.Status = overlay(stored.Status, *r.exact)
	}
	if pod.DeletionTimestamp != nil && r.deleted.IsZero() {
		r.deleted = deletionRequested(&pod, now)
	}
	return sighting{pod: &pod, podIP: r.ip, deleted: r.deleted}
}

func newer(a, b *corev1.Pod) bool {
	order, err := resourceversion.CompareResourceVersion(a.ResourceVersion, b.ResourceVersion)
	return err == nil && order > 0
}

// overlay is the stored status with all that the kubelet itself decides as it was decided. What others wrote there is thereby
// undone with the next patch, as a real kubelet does; the conditions that are theirs stay.
func overlay(stored, exact corev1.PodStatus) corev1.PodStatus {
	stored.Phase, stored.Reason, stored.Message = exact.Phase, exact.Reason, exact.Message
	stored.StartTime = exact.StartTime
	stored.InitContainerStatuses, stored.ContainerStatuses = exact.InitContainerStatuses, exact.ContainerStatuses
	conditions := slices.Clone(stored.Conditions) // In their order: another order would be another status.
	for _, own := range exact.Conditions {
		if !ownConditions[own.Type] {
			continue
		}
		i := slices.IndexFunc(conditions, func(c corev1.PodCondition) bool { return c.Type == own.Type })
		if i < 0 {
			conditions = append(conditions, own)
			continue
		}
		conditions[i] = own
	}
	stored.Conditions = conditions
	return stored
}

// deletionRequested is when a pod's deletion was asked for. The API keeps the second in which that was; now is the first sight of
// it.
func deletionRequested(pod *corev1.Pod, now time.Time) time.Time {
	second := pod.DeletionTimestamp.Add(-gracePeriod(pod))
	if end := second.Add(time.Second); end.Before(now) {
		return end
	}
	return now
}

// records are the records of all pods.
type records struct {
	mu   sync.Mutex
	byID map[cache.ObjectName]*record
}

// of is the record of a pod, and that of another pod which had the same name before, if there was one.
func (rs *records) of(pod *corev1.Pod) (current, former *record) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	name := cache.MetaObjectToName(pod)
	former = rs.byID[name]
	if former != nil && former.uid == pod.UID {
		return former, nil
	}
	current = &record{uid: pod.UID}
	rs.byID[name] = current
	return current, former
}

// drop forgets a pod and returns what was remembered, if anything.
func (rs *records) drop(name cache.ObjectName) *record {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	r := rs.byID[name]
	delete(rs.byID, name)
	return r
}
