package plan

import (
	"cmp"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// version is one ReplicaSet of the Rollout.
type version struct {
	*appsv1.ReplicaSet
	hash     string
	revision int64
}

func versionOf(rs *appsv1.ReplicaSet) version {
	revision, _ := strconv.ParseInt(rs.Annotations[v1alpha1.RevisionAnnotation], 10, 64) // none counts as 0, the oldest
	return version{ReplicaSet: rs, hash: rs.Labels[v1alpha1.PodTemplateHashLabel], revision: revision}
}

// fleet is the version as the arithmetic sees it. No ReplicaSet is one without pods.
func (v *version) fleet() fleet {
	if v == nil {
		return fleet{}
	}
	return fleet{desired: v.desired(), actual: v.Status.Replicas, available: v.Status.AvailableReplicas}
}

func (v *version) desired() int32 {
	if v == nil {
		return 0
	}
	if v.Spec.Replicas == nil {
		return 1 // as Kubernetes reads it
	}
	return *v.Spec.Replicas
}

// versions are the Rollout's ReplicaSets, sorted by the part they play. The new and the stable version are one and the same
// between updates.
type versions struct {
	new, stable *version
	// others are neither, newest first.
	others []version
}

func (v versions) all() []*version {
	var all []*version
	if v.new != nil {
		all = append(all, v.new)
	}
	if v.stable != nil && v.stable != v.new {
		all = append(all, v.stable)
	}
	for i := range v.others {
		all = append(all, &v.others[i])
	}
	return all
}

// older are all but the new version.
func (v versions) older() []*version {
	all := v.all()
	if v.new != nil {
		return all[1:]
	}
	return all
}

func (v versions) otherFleets() []fleet {
	fleets := make([]fleet, len(v.others))
	for i := range v.others {
		fleets[i] = v.others[i].fleet()
	}
	return fleets
}

// freeWithin is how many pods may be added to those there are.
func (v versions) freeWithin(o room) int32 {
	n := o.most
	for _, one := range v.all() {
		n -= one.fleet().occupies()
	}
	return max(0, n)
}

// sortVersions finds the new version by its template and the stable one by the hash that the status remembers.
func sortVersions(sets []*appsv1.ReplicaSet, r spec.Rollout, collisions *int32, stableHash string) versions {
	sorted := make([]version, 0, len(sets))
	for _, rs := range sets {
		if rs.DeletionTimestamp == nil {
			sorted = append(sorted, versionOf(rs))
		}
	}
	slices.SortFunc(sorted, func(a, b version) int { // oldest first: of several candidates the first one made is the new version
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})

	var v versions
	newest := findNew(sorted, r, collisions)
	for i := range sorted {
		switch {
		case i == newest:
			v.new = &sorted[i]
			if stableHash != "" && v.new.hash == stableHash {
				v.stable = v.new
			}
		case stableHash != "" && sorted[i].hash == stableHash:
			v.stable = &sorted[i]
		default:
			v.others = append(v.others, sorted[i])
		}
	}
	slices.SortStableFunc(v.others, func(a, b version) int { return cmp.Compare(b.revision, a.revision) })
	return v
}

// findNew is the index of the ReplicaSet that has the Rollout's template: by a hash that it may have been given, or, since
// hashes differ between versions of the software that computes them, by the template itself. -1 if there is none.
func findNew(sorted []version, r spec.Rollout, collisions *int32) int {
	called := func(hash string) int { return slices.IndexFunc(sorted, func(v version) bool { return v.hash == hash }) }
	if i := called(r.PodHash); i >= 0 || len(sorted) == 0 {
		return i
	}
	for hash := range spec.OtherPodHashes(&r.Template, collisions) {
		if i := called(hash); i >= 0 {
			return i
		}
	}
	return slices.IndexFunc(sorted, func(v version) bool { return spec.SameTemplate(&r.Template, spec.Bare(v.ReplicaSet)) })
}

// maxRevision is the highest revision among versions, 0 for none.
func maxRevision(of []*version) int64 {
	var highest int64
	for _, v := range of {
		highest = max(highest, v.revision)
	}
	return highest
}
