package sim

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// pasts are those of the kinds that there is one list of.
type pasts struct {
	rollouts past[*v1alpha1.Rollout]
	sets     past[snapshot]
	services past[[]*corev1.Service]
}

// snapshot is all ReplicaSets at a time.
type snapshot struct {
	sets []*appsv1.ReplicaSet
	// reported is how many of the world's losses and evictions the statuses tell of.
	reported reports
}

// nextVersion is a new resourceVersion.
func (w *World) nextVersion() string {
	w.version++
	return strconv.FormatInt(w.version, 10)
}

// put stores a Rollout as the newest version. The generation counts changes of the spec.
func (w *World) put(ro *v1alpha1.Rollout) *v1alpha1.Rollout {
	if w.rollout != nil && !equality.Semantic.DeepEqual(w.rollout.Spec, ro.Spec) {
		ro.Generation++
	}
	return w.putStatus(ro)
}

// putStatus stores a Rollout of which nothing but the status may have changed.
func (w *World) putStatus(ro *v1alpha1.Rollout) *v1alpha1.Rollout {
	if w.RoundTrip {
		ro = throughJSON(ro)
	}
	ro.ResourceVersion = w.nextVersion()
	w.rollout = ro
	w.past.rollouts.add(ro)
	w.notify()
	return ro
}

func throughJSON(ro *v1alpha1.Rollout) *v1alpha1.Rollout {
	text, err := json.Marshal(ro)
	if err != nil {
		panic(err)
	}
	out := &v1alpha1.Rollout{}
	if err := json.Unmarshal(text, out); err != nil {
		panic(err)
	}
	return out
}

// putSet stores the next version of a ReplicaSet.
func (w *World) putSet(s *set, rs *appsv1.ReplicaSet) {
	if s.ReplicaSet != nil && !equality.Semantic.DeepEqual(s.Spec, rs.Spec) {
		rs.Generation++
		w.wakeSet(s)
	}
	w.putSetStatus(s, rs)
}

func (w *World) putSetStatus(s *set, rs *appsv1.ReplicaSet) {
	rs.ResourceVersion = w.nextVersion()
	s.ReplicaSet = rs
	w.snapshotSets()
}

// reportSet stores what the ReplicaSet controller says of a set.
func (w *World) reportSet(s *set, status appsv1.ReplicaSetStatus) {
	rs := *s.ReplicaSet
	rs.Status = status
	w.putSetStatus(s, &rs)
}

func (w *World) createSet(rs *appsv1.ReplicaSet) {
	rs = rs.DeepCopy()
	w.uid++
	rs.UID = types.UID(name("uid", w.uid))
	rs.Generation = 1
	rs.CreationTimestamp = w.time()
	setDefaults(&rs.Spec.Template)
	s := &set{}
	w.sets = append(w.sets, s)
	w.putSet(s, rs)
	w.wakeSet(s)
}

func (w *World) deleteSet(name string) {
	w.sets = slices.DeleteFunc(w.sets, func(s *set) bool { return s.Name == name })
	w.snapshotSets()
}

func (w *World) snapshotSets() {
	now := make([]*appsv1.ReplicaSet, len(w.sets))
	for i, s := range w.sets {
		now[i] = s.ReplicaSet
	}
	w.reportLosses()
	w.past.sets.add(snapshot{sets: now, reported: w.reported})
	w.notify()
}

// reportLosses notes that everybody can know of all losses, if so.
func (w *World) reportLosses() {
	for _, s := range w.sets {
		available := int32(0)
		for _, p := range s.pods {
			if p.available(w.now, s.minReady()) {
				available++
			}
		}
		if s.Status.AvailableReplicas > available {
			return
		}
	}
	w.reported = reports{w.Losses, w.Evictions}
}

func (w *World) set(name string) *set {
	for _, s := range w.sets {
		if s.Name == name {
			return s
		}
	}
	return nil
}

func (w *World) notify() {
	if w.loop != nil {
		w.loop.Notify()
	}
	w.experiments.controller.hear()
}

// setDefaults fills in what the API server fills in.
func setDefaults(t *corev1.PodTemplateSpec) {
	grace := int64(30)
	s := &t.Spec
	s.RestartPolicy, s.DNSPolicy, s.SchedulerName = corev1.RestartPolicyAlways, corev1.DNSClusterFirst, corev1.DefaultSchedulerName
	s.TerminationGracePeriodSeconds, s.SecurityContext = &grace, &corev1.PodSecurityContext{}
	for i := range s.Containers {
		c := &s.Containers[i]
		c.TerminationMessagePath, c.TerminationMessagePolicy = corev1.TerminationMessagePathDefault, corev1.TerminationMessageReadFile
		c.ImagePullPolicy = corev1.PullAlways // the images here have no tags
	}
}

func name(prefix string, n int) string { return fmt.Sprintf("%s-%04d", prefix, n) }

func imageOf(s *set) string { return image(s.Spec.Template) }

func image(t corev1.PodTemplateSpec) string {
	if len(t.Spec.Containers) == 0 {
		return ""
	}
	return t.Spec.Containers[0].Image
}
