package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
	"github.com/sluice-delivery/sluice/internal/experiment"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// clocksDiffer is by how much the API server's clock may be behind or ahead of this process's.
const clocksDiffer = time.Minute

// isVerified reports whether what was there when this process began to lead is known for an owner: it was compared, or the owner is younger.
//
// A standby fills its caches long before it leads, and nothing guarantees that they contain the last writes of the previous
// leader. The resourceVersion in each write guards the object written, but not a decision that spans several: a Service
// could be pointed at a version whose pods were deleted a moment ago. So before its first write for an owner, the shell
// compares what it observed with the API server. Caches never go back in time, and later writes are this process's own,
// which it waits for (expectations.go). Idle objects cause no writes, and cost nothing.
func (m *memory) isVerified(owner client.Object, now time.Time) (verified bool) {
	m.of(client.ObjectKeyFromObject(owner), func(r *recollection) {
		if m.began.IsZero() {
			m.began = now
		}
		verified = r.verified == owner.GetUID() || owner.GetCreationTimestamp().After(m.began.Add(clocksDiffer))
	})
	return verified
}

func (m *memory) verify(owner client.Object) {
	m.of(client.ObjectKeyFromObject(owner), func(r *recollection) { r.verified = owner.GetUID() })
}

// versions are the resourceVersions of objects.
type versions map[types.UID]string

func versionsOf[T client.Object](objects []T) versions {
	all := versions{}
	for _, o := range objects {
		all[o.GetUID()] = o.GetResourceVersion()
	}
	return all
}

// compare makes sure, before the first write for a Rollout, that what was observed is what the API server has.
func (r *RolloutReconciler) compare(ctx context.Context, seen plan.Observed) error {
	ro := seen.Rollout
	if r.memory.isVerified(ro, seen.Now) {
		return nil
	}
	if err := r.compareItself(ctx, ro); err != nil {
		return err
	}
	if err := r.compareOwned(ctx, ro, &appsv1.ReplicaSet{}, versionsOf(seen.ReplicaSets), around(ro, seen.ReplicaSets)); err != nil {
		return err
	}
	if len(seen.AnalysisRuns) > 0 || len(analysis.References(ro)) > 0 {
		if err := r.compareOwned(ctx, ro, &v1alpha1.AnalysisRun{}, versionsOf(seen.AnalysisRuns), around(ro, seen.AnalysisRuns)); err != nil {
			return err
		}
	}
	if err := r.compareTemplates(ctx, ro.Namespace, analysis.References(ro), seen.Templates); err != nil {
		return err
	}
	if len(seen.Experiments) > 0 || hasExperiments(ro) {
		steps, err := ofSteps(seen.Experiments)
		if err != nil {
			return err
		}
		if err := r.compareOwned(ctx, ro, &v1alpha1.Experiment{}, versionsOf(seen.Experiments), steps); err != nil {
			return err
		}
	}
	if err := r.compareRouting(ctx, seen); err != nil {
		return err
	}
	if workload, ok := seen.Workload.(client.Object); ok {
		if err := r.compareItself(ctx, workload); err != nil {
			return err
		}
	}
	r.memory.verify(ro)
	return nil
}

func hasExperiments(ro *v1alpha1.Rollout) bool {
	c := ro.Spec.Strategy.Canary
	return c != nil && slices.ContainsFunc(c.Steps, func(s v1alpha1.CanaryStep) bool { return s.Experiment != nil })
}

// compareRouting compares the Services, and the objects of traffic routers.
func (r *RolloutReconciler) compareRouting(ctx context.Context, seen plan.Observed) error {
	now := seen
	if err := r.lookAtRouting(ctx, &now); err != nil {
		return err
	}
	routes := func(o plan.Observed) versions { return versionsOf(slices.Collect(maps.Values(o.Routes))) }
	if !maps.Equal(versionsOf(seen.Services), versionsOf(now.Services)) || !maps.Equal(routes(seen), routes(now)) {
		return fmt.Errorf("the traffic of %s is not split as it was observed: %w", seen.Rollout.Name, errBehind)
	}
	return nil
}

// compare makes sure, before the first write for an Experiment, that what was observed is what the API server has.
func (e *ExperimentReconciler) compare(ctx context.Context, seen experiment.Observed) error {
	ex := seen.Experiment
	if e.memory.isVerified(ex, seen.Now) {
		return nil
	}
	if err := e.compareItself(ctx, ex); err != nil {
		return err
	}
	if err := e.compareSets(ctx, ex, seen.ReplicaSets); err != nil {
		return err
	}
	if err := e.compareOwned(ctx, ex, &v1alpha1.AnalysisRun{}, versionsOf(seen.AnalysisRuns), labels.Everything()); err != nil {
		return err
	}
	if err := e.compareTemplates(ctx, ex.Namespace, templatesOf(ex), seen.Templates); err != nil {
		return err
	}
	own := slices.DeleteFunc(slices.Clone(seen.Services), func(s *corev1.Service) bool { return !metav1.IsControlledBy(s, ex) })
	if len(own)+len(spec.ExperimentServices(ex)) > 0 {
		if err := e.compareOwned(ctx, ex, &corev1.Service{}, versionsOf(own), labels.Everything()); err != nil {
			return err
		}
	}
	e.memory.verify(ex)
	return nil
}

// compareSets compares the ReplicaSets of an Experiment, which have the names of its templates: a namespace may have thousands of others.
func (e *ExperimentReconciler) compareSets(ctx context.Context, ex *v1alpha1.Experiment, seen []*appsv1.ReplicaSet) error {
	names := map[string]bool{}
	for _, t := range ex.Spec.Templates {
		names[spec.ExperimentChildName(ex.Name, t.Name)] = true
	}
	for _, rs := range seen {
		names[rs.Name] = true
	}
	now := versions{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		set := &metav1.PartialObjectMetadata{}
		set.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))
		err := e.live.Get(ctx, client.ObjectKey{Namespace: ex.Namespace, Name: name}, set)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return fmt.Errorf("read ReplicaSet %s: %w", name, err)
		case metav1.IsControlledBy(set, ex):
			now[set.UID] = set.ResourceVersion
		}
	}
	if !maps.Equal(versionsOf(seen), now) {
		return fmt.Errorf("the ReplicaSets of %s are not those that were observed: %w", ex.Name, errBehind)
	}
	return nil
}

// compareTemplates compares analysis templates, of which a pass keeps what they say and no versions.
func (w *writer) compareTemplates(ctx context.Context, namespace string, refs []v1alpha1.AnalysisTemplateRef, seen analysis.Templates) error {
	now, err := readTemplates(ctx, w.live, namespace, refs)
	if err != nil {
		return err
	}
	if !maps.EqualFunc(seen, now, func(a, b *v1alpha1.AnalysisTemplateSpec) bool { return equality.Semantic.DeepEqual(a, b) }) {
		return fmt.Errorf("the analysis templates in %s are not what was observed: %w", namespace, errBehind)
	}
	return nil
}

// compareItself compares one object.
func (w *writer) compareItself(ctx context.Context, seen client.Object) error {
	gvk, err := w.client.GroupVersionKindFor(seen)
	if err != nil {
		return err
	}
	now := &metav1.PartialObjectMetadata{}
	now.SetGroupVersionKind(gvk)
	err = w.live.Get(ctx, client.ObjectKeyFromObject(seen), now)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read %s %s: %w", gvk.Kind, seen.GetName(), err)
	}
	if err != nil || now.UID != seen.GetUID() || now.ResourceVersion != seen.GetResourceVersion() {
		return fmt.Errorf("%s %s is not what was observed: %w", gvk.Kind, seen.GetName(), errBehind)
	}
	return nil
}

// around selects what a Rollout controls among all the objects of a namespace, of which there may be thousands: everything
// created for a Rollout carries the labels of its selector, and that never changes. If someone has removed such labels from
// one of the objects, or the selector is that of a workload, all are listed.
func around[T client.Object](ro *v1alpha1.Rollout, seen []T) labels.Selector {
	if ro.Spec.Selector == nil {
		return labels.Everything()
	}
	own := labels.SelectorFromSet(ro.Spec.Selector.MatchLabels)
	if slices.ContainsFunc(seen, func(o T) bool { return !own.Matches(labels.Set(o.GetLabels())) }) {
		return labels.Everything()
	}
	return own
}

// ofSteps selects the Experiments that steps of Rollouts create, which carry the hash of the version; other Experiments in
// the namespace do not. If someone has removed it from one, all are listed.
func ofSteps(seen []*v1alpha1.Experiment) (labels.Selector, error) {
	if slices.ContainsFunc(seen, func(ex *v1alpha1.Experiment) bool { return ex.Labels[v1alpha1.PodTemplateHashLabel] == "" }) {
		return labels.Everything(), nil
	}
	return versionSelector()
}

// compareOwned compares the objects of a kind that an owner controls and that labels select, as far as caches have them.
func (w *writer) compareOwned(ctx context.Context, owner, kind client.Object, seen versions, selected labels.Selector) error {
	gvk, err := w.client.GroupVersionKindFor(kind)
	if err != nil {
		return err
	}
	cached := labels.Everything() // those that caches have
	switch kind.(type) {
	case *appsv1.ReplicaSet:
		cached, err = versionSelector()
	case *v1alpha1.AnalysisRun, *v1alpha1.Experiment:
		cached, err = instanceSelector(owner.GetLabels()[v1alpha1.InstanceIDLabel])
	}
	if err != nil {
		return err
	}
	requirements, _ := cached.Requirements()
	var list metav1.PartialObjectMetadataList
	list.SetGroupVersionKind(listOf(gvk))
	err = w.live.List(ctx, &list, client.InNamespace(owner.GetNamespace()), client.MatchingLabelsSelector{Selector: selected.Add(requirements...)})
	if err != nil {
		return fmt.Errorf("list the %ss of %s: %w", gvk.Kind, owner.GetName(), err)
	}
	now := versions{}
	for i := range list.Items {
		if metav1.IsControlledBy(&list.Items[i], owner) {
			now[list.Items[i].UID] = list.Items[i].ResourceVersion
		}
	}
	if !maps.Equal(seen, now) {
		return fmt.Errorf("the %ss of %s are not those that were observed: %w", gvk.Kind, owner.GetName(), errBehind)
	}
	return nil
}
