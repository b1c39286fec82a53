package world

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plan/capacity"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// Unobserved reports whether the ReplicaSet controller has not acted upon the ReplicaSet's newest size yet, so that its counts are
// those of another.
func (v *Version) Unobserved() bool { return v != nil && v.Status.ObservedGeneration < v.Generation }

// ConfirmedAvailable is how many pods are known to serve and to stay: none while the ReplicaSet controller has not acted on the last change of their
// number, since what it counted may be on its way out.
func (v *Version) ConfirmedAvailable() int32 {
	if v == nil || v.Unobserved() {
		return 0
	}
	return v.Counts().Serving()
}

// Version is one ReplicaSet of the Rollout.
type Version struct {
	*appsv1.ReplicaSet
	Hash     string
	Revision int64
	// Unreported: its ReplicaSet reports more available pods than it has, since one was restarted a moment ago. The number here is that of the
	// pods.
	Unreported bool
}

func versionOf(rs *appsv1.ReplicaSet) Version {
	revision, _ := strconv.ParseInt(rs.Annotations[v1alpha1.RevisionAnnotation], 10, 64) // none counts as 0, the oldest
	return Version{ReplicaSet: rs, Hash: rs.Labels[v1alpha1.PodTemplateHashLabel], Revision: revision}
}

// Counts is the version as the arithmetic sees it. No ReplicaSet is one without pods.
func (v *Version) Counts() capacity.ReplicaCounts {
	if v == nil {
		return capacity.ReplicaCounts{}
	}
	return capacity.ReplicaCounts{Desired: v.Desired(), Actual: v.Status.Replicas, Available: v.Status.AvailableReplicas}
}

// Desired is how many pods the version is to have: spec.replicas of its ReplicaSet.
func (v *Version) Desired() int32 {
	if v == nil {
		return 0
	}
	if v.Spec.Replicas == nil {
		return 1 // as Kubernetes reads it
	}
	return *v.Spec.Replicas
}

// Versions are the Rollout's ReplicaSets, sorted by the part they play. The new and the stable version are one and the same
// between updates.
type Versions struct {
	New, Stable *Version
	// others are neither, newest first.
	Others []Version
}

// All are the new version, the stable one and the others, in this order.
func (v Versions) All() []*Version {
	var all []*Version
	if v.New != nil {
		all = append(all, v.New)
	}
	if v.Stable != nil && v.Stable != v.New {
		all = append(all, v.Stable)
	}
	for i := range v.Others {
		all = append(all, &v.Others[i])
	}
	return all
}

// Older are all but the new version.
func (v Versions) Older() []*Version {
	all := v.All()
	if v.New != nil {
		return all[1:]
	}
	return all
}

// OtherFleets are the others as the arithmetic sees them.
func (v Versions) OtherFleets() []capacity.ReplicaCounts {
	fleets := make([]capacity.ReplicaCounts, len(v.Others))
	for i := range v.Others {
		fleets[i] = v.Others[i].Counts()
	}
	return fleets
}

// FreeWithin is how many pods may be added to those there are.
func (v Versions) FreeWithin(o capacity.SurgeBudget) int32 {
	n := o.Most
	for _, one := range v.All() {
		n -= one.Counts().Occupies()
	}
	return max(0, n)
}

// sortVersions finds the new version by its template and the stable one by the hash that the status remembers.
func sortVersions(sets []*appsv1.ReplicaSet, r spec.Rollout, collisions *int32, stableHash string) Versions {
	sorted := make([]Version, 0, len(sets))
	for _, rs := range sets {
		if rs.DeletionTimestamp == nil {
			sorted = append(sorted, versionOf(rs))
		}
	}
	slices.SortFunc(sorted, func(a, b Version) int { // oldest first: of several candidates the first one made is the new version
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})

	var v Versions
	newest := findNew(sorted, r, collisions)
	for i := range sorted {
		switch {
		case i == newest:
			v.New = &sorted[i]
			if stableHash != "" && v.New.Hash == stableHash {
				v.Stable = v.New
			}
		case stableHash != "" && sorted[i].Hash == stableHash:
			v.Stable = &sorted[i]
		default:
			v.Others = append(v.Others, sorted[i])
		}
	}
	slices.SortStableFunc(v.Others, func(a, b Version) int { return cmp.Compare(b.Revision, a.Revision) })
	return v
}

// findNew is the index of the ReplicaSet that has the Rollout's template: by a hash that it may have been given, or, since
// hashes differ between versions of the software that computes them, by the template itself. -1 if there is none.
func findNew(sorted []Version, r spec.Rollout, collisions *int32) int {
	called := func(hash string) int { return slices.IndexFunc(sorted, func(v Version) bool { return v.Hash == hash }) }
	if i := called(r.PodHash); i >= 0 || len(sorted) == 0 {
		return i
	}
	for hash := range spec.OtherPodHashes(&r.Template, collisions) {
		if i := called(hash); i >= 0 {
			return i
		}
	}
	return slices.IndexFunc(sorted, func(v Version) bool { return spec.SameTemplate(&r.Template, spec.Bare(v.ReplicaSet)) })
}

// MaxRevision is the highest revision among versions, 0 for none.
func MaxRevision(of []*Version) int64 {
	var highest int64
	for _, v := range of {
		highest = max(highest, v.Revision)
	}
	return highest
}

// Deadline is when a version may lose its pods, zero if it has no deadline. The annotation on its ReplicaSet is wire format.
func (v *Version) Deadline() time.Time {
	if v == nil {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, v.Annotations[v1alpha1.ScaleDownDeadlineAnnotation])
	if err != nil {
		return time.Time{} // none, or not one that anybody could keep: it gets a new one
	}
	return t
}

// Delaying reports whether the version keeps its pods for a while after it lost its part.
func (v *Version) Delaying(now time.Time) bool { return now.Before(v.Deadline()) }

// Refusal is why the API server takes no more pods of a version, in its own words.
func (v *Version) Refusal() string {
	for _, c := range v.Status.Conditions {
		if c.Type == appsv1.ReplicaSetReplicaFailure && c.Status == corev1.ConditionTrue {
			return c.Message
		}
	}
	return ""
}
