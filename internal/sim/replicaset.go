package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

func (s *set) desired() int {
	if s.Spec.Replicas == nil {
		return 1
	}
	return int(*s.Spec.Replicas)
}

func (s *set) minReady() time.Duration { return time.Duration(s.Spec.MinReadySeconds) * time.Second }

// wakeSet has the ReplicaSet controller look at a set soon.
func (w *World) wakeSet(s *set) {
	s.syncAt = earliest(s.syncAt, w.now.Add(w.Lag()+w.SetLag))
}

// sync is one pass of the ReplicaSet controller. As the real one's, its report is of the pods that it found, not of those that
// it just created or deleted: these are news of the next pass.
func (w *World) sync(s *set) {
	s.syncAt = time.Time{}
	status := w.count(s)
	missing := s.desired() - len(s.pods)
	switch {
	case missing > 0:
		for range w.allowed(missing) {
			w.addPod(s)
		}
	case missing < 0:
		slices.SortFunc(s.pods, leastWanted)
		for _, p := range s.pods[:-missing] {
			if p.available(w.now, s.minReady()) {
				w.Drained++
			}
		}
		s.pods = slices.Clone(s.pods[-missing:])
	}
	status.Conditions = w.failure(s, missing)
	if missing < 0 || missing > 0 && w.allowed(1) > 0 { // what it has just done is news
		w.wakeSet(s)
	}
	for _, p := range s.pods { // a ready pod becomes available without anything happening to it
		if p.ready && !p.available(w.now, s.minReady()) {
			s.syncAt = earliest(s.syncAt, p.since.Add(s.minReady()))
		}
	}
	if !equality.Semantic.DeepEqual(s.Status, status) {
		next := *s.ReplicaSet
		next.Status = status
		w.objects.replicaSets.replace(w, &next, true)
	}
}

// muster takes in what was written of ReplicaSets: their controller looks at those that are to have other pods.
func (w *World) muster() {
	sets := make([]*set, len(w.objects.replicaSets.now))
	for i, rs := range w.objects.replicaSets.now {
		s := w.set(rs.Name)
		switch {
		case s == nil || s.UID != rs.UID:
			s = &set{}
		case s.Generation != rs.Generation:
			w.wakeSet(s)
		}
		s.ReplicaSet, sets[i] = rs, s
	}
	w.sets = sets
	w.reportLosses()
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

// AllReplicaSets are the ReplicaSets of the Rollout and of Experiments.
func (w *World) AllReplicaSets() []*appsv1.ReplicaSet {
	all := make([]*appsv1.ReplicaSet, len(w.sets))
	for i, s := range w.sets {
		all[i] = s.ReplicaSet
	}
	return all
}

// ReplicaSet is a ReplicaSet by its name, nil if there is none.
func (w *World) ReplicaSet(name string) *appsv1.ReplicaSet {
	if s := w.set(name); s != nil {
		return s.ReplicaSet
	}
	return nil
}

func imageOf(s *set) string { return ImageOf(s.Spec.Template) }

// ImageOf is the image of a version, by which scripts name it.
func ImageOf(t corev1.PodTemplateSpec) string {
	if len(t.Spec.Containers) == 0 {
		return ""
	}
	return t.Spec.Containers[0].Image
}

func (w *World) count(s *set) appsv1.ReplicaSetStatus {
	status := appsv1.ReplicaSetStatus{Replicas: int32(len(s.pods)), FullyLabeledReplicas: int32(len(s.pods)), ObservedGeneration: s.Generation}
	for _, p := range s.pods {
		if p.ready {
			status.ReadyReplicas++
		}
		if p.available(w.now, s.minReady()) {
			status.AvailableReplicas++
		}
	}
	return status
}

// allowed is how many of n new pods the quota admits.
func (w *World) allowed(n int) int {
	if w.quota < 0 {
		return n
	}
	return max(0, min(n, w.quota-w.PodCount()))
}

func (w *World) failure(s *set, missing int) []appsv1.ReplicaSetCondition {
	if missing <= 0 || len(s.pods) >= s.desired() {
		return nil
	}
	return []appsv1.ReplicaSetCondition{{
		Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate",
		Message: fmt.Sprintf("pods %q is forbidden: exceeded quota: %d pods are allowed", s.Name+"-", w.quota),
	}}
}

// Quiet reports whether the ReplicaSet controller has done, and reported, all it was asked to.
func (w *World) Quiet() bool {
	for _, s := range w.sets {
		if len(s.pods) != s.desired() || s.Status.ObservedGeneration != s.Generation || int(s.Status.Replicas) != len(s.pods) {
			return false
		}
	}
	return true
}

// SetQuota limits the number of pods; a negative one lifts the limit.
func (w *World) SetQuota(n int) {
	w.quota = n
	for _, s := range w.sets {
		w.wakeSet(s)
	}
}

// Pods lists the available and wanted pods of each version.
func (w *World) Pods() string {
	var parts []string
	for _, s := range w.sets {
		if s.desired() == 0 && len(s.pods) == 0 {
			continue
		}
		available := 0
		for _, p := range s.pods {
			if p.available(w.now, s.minReady()) {
				available++
			}
		}
		part := fmt.Sprintf("%s %d/%d", s.Name, available, s.desired())
		if len(s.pods) != s.desired() {
			part += fmt.Sprintf(" (%d exist)", len(s.pods))
		}
		parts = append(parts, part)
	}
	if len(w.sets) > 0 && len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// Split is how many pods the current version has, and how many there are.
func (w *World) Split() (current, total int) {
	for _, s := range w.sets {
		total += len(s.pods)
		if s.Labels[v1alpha1.PodTemplateHashLabel] == w.Rollout().Status.CurrentPodHash {
			current += len(s.pods)
		}
	}
	return current, total
}

// StableExists reports whether the stable version still has its ReplicaSet.
func (w *World) StableExists() bool {
	return slices.ContainsFunc(w.sets, func(s *set) bool {
		return s.Labels[v1alpha1.PodTemplateHashLabel] == w.Rollout().Status.StableRS
	})
}

// PodCount is how many pods there are that are not being deleted.
func (w *World) PodCount() int {
	n := 0
	for _, s := range w.sets {
		n += len(s.pods)
	}
	return n
}

// Version is one ReplicaSet with its pods.
type Version struct {
	Hash, Image             string
	Wanted, Pods, Available int
	// Experiment is the one that it is a template of, and Template which; empty for the Rollout's own.
	Experiment, Template string
}

// Versions are the ReplicaSets, the oldest first.
func (w *World) Versions() []Version {
	versions := make([]Version, len(w.sets))
	for i, s := range w.sets {
		v := Version{
			Hash: s.Labels[v1alpha1.PodTemplateHashLabel], Image: imageOf(s), Wanted: s.desired(), Pods: len(s.pods),
			Experiment: s.Annotations[v1alpha1.ExperimentNameAnnotation], Template: s.Annotations[v1alpha1.ExperimentTemplateNameAnnotation],
		}
		for _, p := range s.pods {
			if p.available(w.now, s.minReady()) {
				v.Available++
			}
		}
		versions[i] = v
	}
	return versions
}

// Desired is how many pods the ReplicaSets ask for.
func (w *World) Desired() int {
	n := 0
	for _, s := range w.sets {
		n += s.desired()
	}
	return n
}

// Available is how many pods have been ready for long enough.
func (w *World) Available() int {
	n := 0
	for _, s := range w.sets {
		for _, p := range s.pods {
			if p.available(w.now, s.minReady()) {
				n++
			}
		}
	}
	return n
}
