package view

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// Revision is one number in the Rollout's history and what runs for it.
type Revision struct {
	Number       int64
	Experiments  []Experiment
	ReplicaSets  []ReplicaSet
	AnalysisRuns []AnalysisRun
}

// ReplicaSet is one version of the Rollout.
type ReplicaSet struct {
	Name   string
	Hash   string
	Status Status
	Age    time.Duration
	// Tags are the roles of the version, none for an old one.
	Tags []Tag
	// Images of its containers, in their order.
	Images []string
	// Desired, Current and Available are numbers of pods.
	Desired, Current, Available int32
	// Delay is set while the version no longer serves and is kept for some time: the time left, at least 0.
	Delay *time.Duration
	Pods  []Pod
}

func (rs ReplicaSet) is(t Tag) bool { return slices.Contains(rs.Tags, t) }

// revisionsOf groups the Rollout's objects by revision, newest first.
func revisionsOf(o Objects, now time.Time) []Revision {
	byNumber := map[int64]*Revision{}
	of := func(owned metav1.Object) *Revision {
		number, _ := strconv.ParseInt(owned.GetAnnotations()[v1alpha1.RevisionAnnotation], 10, 64) // none counts as 0, the oldest
		if byNumber[number] == nil {
			byNumber[number] = &Revision{Number: number}
		}
		return byNumber[number]
	}
	pods := podsByOwner(o.Pods)
	for _, rs := range controlled(o.ReplicaSets, o.Rollout) {
		v := replicaSetOf(rs, pods[rs.UID], now)
		v.Tags = tagsOf(o.Rollout, v.Hash)
		r := of(rs)
		r.ReplicaSets = append(r.ReplicaSets, v)
	}
	for _, exp := range controlled(o.Experiments, o.Rollout) {
		its := o
		its.Experiment = exp
		r := of(exp)
		r.Experiments = append(r.Experiments, ExperimentOf(its, now))
	}
	runs := map[*Revision][]*v1alpha1.AnalysisRun{}
	for _, run := range controlled(o.AnalysisRuns, o.Rollout) {
		r := of(run)
		runs[r] = append(runs[r], run)
	}
	revisions := make([]Revision, 0, len(byNumber))
	for _, r := range byNumber {
		slices.SortFunc(r.ReplicaSets, func(a, b ReplicaSet) int { return cmp.Compare(a.Name, b.Name) })
		slices.SortFunc(r.Experiments, func(a, b Experiment) int { return cmp.Or(cmp.Compare(b.Age, a.Age), cmp.Compare(a.Name, b.Name)) })
		r.AnalysisRuns = analysisRunsOf(runs[r], now)
		revisions = append(revisions, *r)
	}
	slices.SortFunc(revisions, func(a, b Revision) int { return cmp.Compare(b.Number, a.Number) })
	return revisions
}

// controlled are the objects that an owner controls.
func controlled[T metav1.Object](all []T, owner metav1.Object) []T {
	var own []T
	for _, obj := range all {
		if metav1.IsControlledBy(obj, owner) {
			own = append(own, obj)
		}
	}
	return own
}

func podsByOwner(pods []*corev1.Pod) map[types.UID][]*corev1.Pod {
	byOwner := map[types.UID][]*corev1.Pod{}
	for _, p := range pods {
		if owner := metav1.GetControllerOf(p); owner != nil {
			byOwner[owner.UID] = append(byOwner[owner.UID], p)
		}
	}
	return byOwner
}

func replicaSetOf(rs *appsv1.ReplicaSet, pods []*corev1.Pod, now time.Time) ReplicaSet {
	v := ReplicaSet{
		Name:      rs.Name,
		Hash:      rs.Labels[v1alpha1.PodTemplateHashLabel],
		Age:       age(rs.CreationTimestamp.Time, now),
		Desired:   desired(rs.Spec.Replicas),
		Current:   rs.Status.Replicas,
		Available: rs.Status.AvailableReplicas,
		Delay:     delayOf(rs, now),
	}
	for _, c := range rs.Spec.Template.Spec.Containers {
		v.Images = append(v.Images, c.Image)
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	for _, p := range pods {
		v.Pods = append(v.Pods, podOf(p, now))
	}
	v.Status = replicaSetStatus(rs, v)
	return v
}

// tagsOf are the roles of the version with this hash.
func tagsOf(ro *v1alpha1.Rollout, hash string) []Tag {
	s := ro.Status
	if hash == "" {
		return nil
	}
	var (
		tags   []Tag
		stable = hash == s.StableRS
	)
	if stable {
		tags = append(tags, TagStable)
	}
	switch {
	case ro.Spec.Strategy.BlueGreen != nil:
		if hash == s.BlueGreen.ActiveSelector {
			return append(tags, TagActive)
		}
		if hash == s.BlueGreen.PreviewSelector {
			return append(tags, TagPreview)
		}
	case ro.Spec.Strategy.Canary != nil:
		canary := !stable && hash == s.CurrentPodHash && s.StableRS != "" // the very first version is not a canary
		if canary {
			tags = append(tags, TagCanary)
		}
		if p := s.Canary.StablePingPong; p != "" && (stable || canary) {
			tags = append(tags, pingPongTag(p, stable))
		}
	}
	return tags
}

func pingPongTag(ofStable v1alpha1.PingPongType, stable bool) Tag {
	if (ofStable == v1alpha1.Ping) == stable {
		return TagPing
	}
	return TagPong
}

// delayOf is how long a version that no longer serves is kept.
func delayOf(rs *appsv1.ReplicaSet, now time.Time) *time.Duration {
	deadline, err := time.Parse(time.RFC3339, rs.Annotations[v1alpha1.ScaleDownDeadlineAnnotation])
	if err != nil || desired(rs.Spec.Replicas) == 0 {
		return nil
	}
	left := max(0, deadline.Sub(now))
	return &left
}

// replicaSetStatus is the first that matches.
func replicaSetStatus(rs *appsv1.ReplicaSet, v ReplicaSet) Status {
	for _, c := range rs.Status.Conditions {
		if c.Type == appsv1.ReplicaSetReplicaFailure && c.Status == corev1.ConditionTrue {
			return Status{Icon: IconDegraded, Text: "Degraded", Message: c.Message}
		}
	}
	switch {
	case v.Desired == 0 && v.Current == 0: // pods that are terminating do not count
		return Status{Icon: IconIdle, Text: "ScaledDown"}
	case slices.ContainsFunc(v.Pods, func(p Pod) bool { return p.Status.Icon == IconDegraded }):
		return Status{Icon: IconDegraded, Text: "Degraded"}
	case v.Available < v.Desired, v.Current != v.Desired:
		return Status{Icon: IconProgressing, Text: "Progressing"}
	}
	return Status{Icon: IconHealthy, Text: "Healthy"}
}

// imagesOf are the images of all versions that have a role or pods; the stable version's first, since an update starts from
// it.
func imagesOf(versions []ReplicaSet) []Image {
	var sets []ReplicaSet
	for _, rs := range versions {
		if len(rs.Tags) > 0 || rs.Current > 0 {
			sets = append(sets, rs)
		}
	}
	slices.SortStableFunc(sets, func(a, b ReplicaSet) int { return cmp.Compare(rank(a), rank(b)) })
	var images []Image
	for _, rs := range sets {
		for _, name := range rs.Images {
			i := slices.IndexFunc(images, func(i Image) bool { return i.Name == name })
			if i < 0 {
				i, images = len(images), append(images, Image{Name: name})
			}
			for _, t := range rs.Tags {
				if !slices.Contains(images[i].Tags, t) {
					images[i].Tags = append(images[i].Tags, t)
				}
			}
		}
	}
	return images
}

func rank(rs ReplicaSet) int {
	switch {
	case rs.is(TagStable):
		return 0
	case len(rs.Tags) > 0:
		return 1
	}
	return 2
}
