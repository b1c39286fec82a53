package watch

import (
	"cmp"
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/notifier/facts"
)

// subject is what a message is about.
type subject struct {
	// object is the Rollout, AnalysisRun or Experiment.
	object *unstructured.Unstructured
	// rollout is the object, or the Rollout that owns it; nil if there is none.
	rollout *unstructured.Unstructured
	// runs are the AnalysisRuns of the Rollout's current version, the newest first.
	runs []any
	// stable is the pod template of the stable version while another is rolled out, nil otherwise.
	stable map[string]any
	// event is what happened, nil on the way of states.
	event *corev1.Event
	// missed is when a state began that is over, zero for what is so now.
	missed time.Time
}

func kind(name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(name))
	return u
}

// about gathers what templates may show of an object.
func about(ctx context.Context, reader, live client.Reader, object *unstructured.Unstructured, event *corev1.Event) (*subject, error) {
	s := &subject{object: object, rollout: object, event: event}
	if object.GetKind() != "Rollout" {
		s.rollout = owner(ctx, reader, object)
	}
	if s.rollout == nil {
		return s, nil
	}
	s.rollout = withTemplate(ctx, live, s.rollout)
	if object.GetKind() == "Rollout" {
		s.object = s.rollout
	}
	var err error
	if s.runs, err = runsOf(ctx, reader, s.rollout); err != nil {
		return nil, err
	}
	s.stable, err = stableOf(ctx, live, s.rollout)
	return s, err
}

// stableOf is the pod template that an update replaces, nil without an update.
func stableOf(ctx context.Context, live client.Reader, rollout *unstructured.Unstructured) (map[string]any, error) {
	stable, _, _ := unstructured.NestedString(rollout.Object, "status", "stableRS")
	current, _, _ := unstructured.NestedString(rollout.Object, "status", "currentPodHash")
	if stable == "" || stable == current {
		return nil, nil
	}
	var list unstructured.UnstructuredList
	list.SetAPIVersion("apps/v1")
	list.SetKind("ReplicaSetList")
	if err := live.List(ctx, &list, client.InNamespace(rollout.GetNamespace()), client.MatchingLabels{v1alpha1.PodTemplateHashLabel: stable}); err != nil {
		return nil, err
	}
	for _, rs := range list.Items {
		if metav1.IsControlledBy(&rs, rollout) {
			template, _, err := unstructured.NestedMap(rs.Object, "spec", "template")
			return template, err
		}
	}
	return nil, nil
}

// owner is the Rollout that an AnalysisRun or Experiment was started by, or by the Experiment that started it.
func owner(ctx context.Context, reader client.Reader, object *unstructured.Unstructured) *unstructured.Unstructured {
	for range 2 {
		ref := metav1.GetControllerOf(object)
		if ref == nil {
			return nil
		}
		above := kind(ref.Kind)
		if ref.APIVersion != v1alpha1.GroupVersion.String() || reader.Get(ctx, client.ObjectKey{Namespace: object.GetNamespace(), Name: ref.Name}, above) != nil {
			return nil
		}
		if above.GetUID() != ref.UID {
			return nil
		}
		if ref.Kind == "Rollout" {
			return above
		}
		object = above
	}
	return nil
}

// withTemplate fills in the pod template of a Rollout that takes it from a Deployment. Without the Deployment it stays as it is.
func withTemplate(ctx context.Context, live client.Reader, rollout *unstructured.Unstructured) *unstructured.Unstructured {
	ref, found, err := unstructured.NestedStringMap(rollout.Object, "spec", "workloadRef")
	if err != nil || !found || ref["kind"] != "Deployment" {
		return rollout
	}
	workload := &unstructured.Unstructured{}
	workload.SetAPIVersion("apps/v1")
	workload.SetKind("Deployment")
	if live.Get(ctx, client.ObjectKey{Namespace: rollout.GetNamespace(), Name: ref["name"]}, workload) != nil {
		return rollout
	}
	filled := rollout.DeepCopy()
	for _, field := range []string{"template", "selector"} {
		if value, found, err := unstructured.NestedFieldCopy(workload.Object, "spec", field); err == nil && found {
			_ = unstructured.SetNestedField(filled.Object, value, "spec", field)
		}
	}
	return filled
}

// runsOf lists the AnalysisRuns of a Rollout's current version and revision.
func runsOf(ctx context.Context, reader client.Reader, rollout *unstructured.Unstructured) ([]any, error) {
	hash, _, _ := unstructured.NestedString(rollout.Object, "status", "currentPodHash")
	var list unstructured.UnstructuredList
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("AnalysisRunList"))
	if err := reader.List(ctx, &list, client.InNamespace(rollout.GetNamespace()), client.MatchingLabels{v1alpha1.PodTemplateHashLabel: hash}); err != nil {
		return nil, err
	}
	revision := rollout.GetAnnotations()[v1alpha1.RevisionAnnotation]
	items := slices.DeleteFunc(list.Items, func(run unstructured.Unstructured) bool {
		return !metav1.IsControlledBy(&run, rollout) || run.GetAnnotations()[v1alpha1.RevisionAnnotation] != revision
	})
	slices.SortFunc(items, func(a, b unstructured.Unstructured) int {
		return cmp.Or(b.GetCreationTimestamp().Compare(a.GetCreationTimestamp().Time), cmp.Compare(a.GetName(), b.GetName()))
	})
	var runs []any
	for _, run := range items {
		runs = append(runs, run.Object)
	}
	return runs, nil
}

// variables are what templates and conditions know. They are the caller's own.
func (s *subject) variables(l *loaded, trigger string, now time.Time) map[string]any {
	vars := map[string]any{
		"time": map[string]any{
			"Now":   func() time.Time { return now },
			"Parse": func(text string) (time.Time, error) { return time.Parse(time.RFC3339, text) },
		},
		"secrets": secretsOf(l),
		"trigger": trigger,
		"missed":  "",
	}
	if !s.missed.IsZero() {
		vars["missed"] = s.missed.UTC().Format(time.RFC3339)
	}
	// What belongs to no Rollout is shown under that name, as Argo Rollouts does.
	rollout := cmp.Or(s.rollout, s.object)
	vars["rollout"] = runtime.DeepCopyJSON(rollout.Object)
	vars["explain"] = facts.Explain(rollout.Object)
	vars["links"] = facts.Links(rollout.GetAnnotations())
	vars["analysis"] = facts.Failing(s.judged())
	vars["diff"] = []any{}
	if s.stable != nil {
		template, _, _ := unstructured.NestedMap(rollout.Object, "spec", "template")
		vars["diff"] = facts.Images(s.stable, template)
	}
	switch s.object.GetKind() {
	case "AnalysisRun":
		vars["analysisRun"] = runtime.DeepCopyJSON(s.object.Object)
	case "Experiment":
		vars["experiment"] = runtime.DeepCopyJSON(s.object.Object)
	}
	if len(s.runs) > 0 {
		vars["analysisRuns"] = runtime.DeepCopyJSONValue(s.runs)
	}
	if s.event != nil {
		vars["event"] = map[string]any{
			"reason": s.event.Reason, "message": s.event.Message, "type": s.event.Type, "count": int64(s.event.Count),
			"time": happened(s.event).UTC().Format(time.RFC3339),
		}
	}
	return vars
}

// judged are the AnalysisRuns whose failures are shown.
func (s *subject) judged() []any {
	if s.object.GetKind() == "AnalysisRun" {
		return []any{s.object.Object}
	}
	return s.runs
}

// secretsOf are copies: templates may change what they are given.
func secretsOf(l *loaded) map[string]any {
	all := map[string]any{}
	for name, value := range l.Secrets {
		all[name] = slices.Clone(value)
	}
	return all
}

// happened is when an event was last seen.
func happened(e *corev1.Event) time.Time {
	at := e.LastTimestamp.Time
	if e.Series != nil && e.Series.LastObservedTime.After(at) {
		at = e.Series.LastObservedTime.Time
	}
	if at.IsZero() {
		at = e.EventTime.Time
	}
	if at.IsZero() {
		at = e.CreationTimestamp.Time
	}
	return at
}
