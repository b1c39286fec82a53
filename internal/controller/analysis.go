package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
	"github.com/sluice-delivery/sluice/internal/plan"
)

// templateIndex is the cache index of Rollouts and of templates by the templates that they name.
const templateIndex = "templates"

func indexTemplates(obj client.Object) []string {
	var refs []v1alpha1.AnalysisTemplateRef
	switch o := obj.(type) {
	case *v1alpha1.Rollout:
		refs = analysis.References(o)
	case *v1alpha1.AnalysisTemplate:
		refs = o.Spec.Templates
	case *v1alpha1.ClusterAnalysisTemplate:
		refs = o.Spec.Templates
	}
	keys := make([]string, len(refs))
	for i, ref := range refs {
		keys[i] = templateKey(ref)
	}
	return keys
}

func templateKey(ref v1alpha1.AnalysisTemplateRef) string {
	if ref.ClusterScope {
		return "cluster/" + ref.TemplateName
	}
	return "namespace/" + ref.TemplateName
}

// phaseChanged lets only those updates of AnalysisRuns through that a Rollout has to know of: they are written at every measurement.
var phaseChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, ok := e.ObjectOld.(*v1alpha1.AnalysisRun)
	after, alsoOK := e.ObjectNew.(*v1alpha1.AnalysisRun)
	return !ok || !alsoOK || before.Status.Phase != after.Status.Phase || before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero()
}}

// observeAnalyses adds the Rollout's AnalysisRuns and the templates that it refers to.
func (r *RolloutReconciler) observeAnalyses(ctx context.Context, seen *plan.Observed, versions map[types.UID]string) error {
	var runs v1alpha1.AnalysisRunList
	err := r.client.List(ctx, &runs, client.InNamespace(seen.Rollout.Namespace),
		client.MatchingFields{ownerIndex: string(seen.Rollout.UID)}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("list the AnalysisRuns of %s: %w", seen.Rollout.Name, err)
	}
	for i := range runs.Items {
		run := &runs.Items[i]
		seen.AnalysisRuns = append(seen.AnalysisRuns, run)
		versions[run.UID] = run.ResourceVersion
	}
	templates, err := readTemplates(ctx, r.client, seen.Rollout.Namespace, analysis.References(seen.Rollout))
	seen.Templates = templates
	return err
}

// readTemplates reads the templates that are referred to, and those that they refer to in turn, as far as they exist. There is a limit: each is
// read in every pass.
func readTemplates(ctx context.Context, from client.Reader, namespace string, refs []v1alpha1.AnalysisTemplateRef) (analysis.Templates, error) {
	templates := analysis.Templates{}
	for ; len(refs) > 0; refs = refs[1:] {
		if _, known := templates[refs[0]]; known {
			continue
		}
		if len(templates) >= analysis.MostTemplates {
			templates[refs[0]] = analysis.TooMany
			continue
		}
		template, err := readTemplate(ctx, from, namespace, refs[0])
		switch {
		case apierrors.IsNotFound(err): // which is the engine's business
		case apierrors.IsForbidden(err): // likewise
			templates[refs[0]] = nil
		case err != nil:
			return nil, fmt.Errorf("read the analysis template %s: %w", refs[0].TemplateName, err)
		default:
			templates[refs[0]] = template
			refs = append(refs, template.Templates...)
		}
	}
	return templates, nil
}

func readTemplate(ctx context.Context, from client.Reader, namespace string, ref v1alpha1.AnalysisTemplateRef) (*v1alpha1.AnalysisTemplateSpec, error) {
	if ref.ClusterScope {
		var template v1alpha1.ClusterAnalysisTemplate
		err := from.Get(ctx, client.ObjectKey{Name: ref.TemplateName}, &template)
		return &template.Spec, err
	}
	var template v1alpha1.AnalysisTemplate
	err := from.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.TemplateName}, &template)
	return &template.Spec, err
}

// rolloutsUsing are the Rollouts to look at when a template changes: those that name it, and those that name a template which
// names it, and so on.
func (r *RolloutReconciler) rolloutsUsing(ctx context.Context, changed client.Object) []reconcile.Request {
	_, cluster := changed.(*v1alpha1.ClusterAnalysisTemplate)
	walk := templateWalk{RolloutReconciler: r, seen: map[namedTemplate]bool{}, found: map[reconcile.Request]bool{}}
	walk.name(namedTemplate{changed.GetNamespace(), v1alpha1.AnalysisTemplateRef{TemplateName: changed.GetName(), ClusterScope: cluster}})
	if err := walk.up(ctx); err != nil {
		r.log.ErrorContext(ctx, "find the Rollouts that use a template", "template", client.ObjectKeyFromObject(changed).String(), "error", err)
	}
	return slices.Collect(maps.Keys(walk.found))
}

// namedTemplate is a template, and the namespace from which it is named: that of a template, or empty for one of the cluster, which those of
// all namespaces may name.
type namedTemplate struct {
	namespace string
	ref       v1alpha1.AnalysisTemplateRef
}

// templateWalk goes from a template up to the Rollouts that use it.
type templateWalk struct {
	*RolloutReconciler
	seen  map[namedTemplate]bool
	next  []namedTemplate
	found map[reconcile.Request]bool
}

func (w *templateWalk) name(t namedTemplate) {
	if !w.seen[t] {
		w.seen[t] = true
		w.next = append(w.next, t)
	}
}

// up goes up level by level, no further than templates may name each other.
func (w *templateWalk) up(ctx context.Context) error {
	for range analysis.MostLevels {
		level := w.next
		w.next = nil
		for _, t := range level {
			if err := w.from(ctx, t.namespace, t.ref); err != nil {
				return err
			}
		}
	}
	return nil
}

// from goes up from a template. A name in a template of the cluster is looked up in each Rollout's namespace.
func (w *templateWalk) from(ctx context.Context, namespace string, ref v1alpha1.AnalysisTemplateRef) error {
	naming := client.MatchingFields{templateIndex: templateKey(ref)}

	var rollouts v1alpha1.RolloutList
	if err := w.client.List(ctx, &rollouts, client.InNamespace(namespace), naming, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	for i := range rollouts.Items {
		w.found[reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&rollouts.Items[i])}] = true
	}
	var templates v1alpha1.AnalysisTemplateList
	if err := w.client.List(ctx, &templates, client.InNamespace(namespace), naming, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	for i := range templates.Items {
		t := &templates.Items[i]
		w.name(namedTemplate{t.Namespace, v1alpha1.AnalysisTemplateRef{TemplateName: t.Name}})
	}
	var ofCluster v1alpha1.ClusterAnalysisTemplateList
	if err := w.client.List(ctx, &ofCluster, naming, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	for i := range ofCluster.Items {
		w.name(namedTemplate{namespace, v1alpha1.AnalysisTemplateRef{TemplateName: ofCluster.Items[i].Name, ClusterScope: true}})
	}
	return nil
}
