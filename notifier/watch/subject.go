package watch

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/notifier/dora"
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
	// action is what a user did last in this update, stepped when its latest step was completed.
	action  *corev1.Event
	stepped time.Time
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
	if s.stable, err = stableOf(ctx, live, s.rollout); err != nil {
		return nil, err
	}
	return s, s.recent(ctx, reader)
}

// recent looks at the events of the update that is under way, or ended last.
func (s *subject) recent(ctx context.Context, reader client.Reader) error {
	started, _, _ := unstructured.NestedString(s.rollout.Object, "status", "duration", "rolloutStartedAt")
	begun, err := time.Parse(time.RFC3339, started)
	if err != nil {
		return nil //nolint:nilerr // nothing is known of an update
	}
	if s.action, err = s.latest(ctx, reader, v1alpha1.EventUserAction, begun); err != nil {
		return err
	}
	step, err := s.latest(ctx, reader, v1alpha1.EventRolloutStepCompleted, begun)
	if step != nil {
		s.stepped = happened(step)
	}
	return err
}

// latest is the Rollout's latest event with a reason since a time, nil if there is none.
func (s *subject) latest(ctx context.Context, reader client.Reader, reason string, since time.Time) (*corev1.Event, error) {
	var list corev1.EventList
	err := reader.List(ctx, &list, client.InNamespace(s.rollout.GetNamespace()), client.MatchingFields{reasonField: reason}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list events: %w", err)
	}
	var latest *corev1.Event
	for i := range list.Items {
		e := &list.Items[i]
		if e.InvolvedObject.UID != s.rollout.GetUID() || !ours(e) || happened(e).Before(since) {
			continue
		}
		if latest == nil || happened(e).After(happened(latest)) {
			latest = e
		}
	}
	return latest, nil
}

// reasonField is the field by which events are looked up.
const reasonField = "reason"

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
	vars["explain"] = facts.Explain(rollout.Object, s.runs)
	vars["links"] = facts.Links(rollout.Object, l.Dashboard)
	s.lasting(vars, rollout, l, now)
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

// lasting adds how long something has lasted, who did something, and what that is as a CDEvent.
func (s *subject) lasting(vars map[string]any, rollout *unstructured.Unstructured, l *loaded, now time.Time) {
	record := dora.Parse(rollout.GetAnnotations()[dora.Annotation])
	degraded := facts.Degraded(rollout.Object, now)
	vars["waiting"], vars["degraded"] = facts.Waiting(rollout.Object, now), degraded
	vars["step"] = facts.Step(rollout.Object, s.runs, s.stepped, now)
	vars["delivery"] = record.Variable()
	action, at := s.action, now
	o := facts.Occurrence{Source: cmp.Or(l.Source, "sluice-notifier"), ID: string(rollout.GetUID()), At: now, Stable: s.stable}
	if s.event != nil {
		o.Reason, o.At = s.event.Reason, happened(s.event)
		o.ID = fmt.Sprintf("%s-%d", s.event.UID, s.event.Count)
		if s.event.Reason == v1alpha1.EventUserAction {
			action = s.event
		}
	} else {
		o.Incident, _ = degraded["since"].(string)
		o.Incident = cmp.Or(record.Failing, o.Incident, record.Failed)
		o.ID += o.Incident
		if began, err := time.Parse(time.RFC3339, cmp.Or(record.Failing, record.Restored)); err == nil {
			o.At = began
		}
	}
	if action != nil {
		at = happened(action)
	}
	vars["by"] = facts.By(action, at)
	vars["cdevent"] = nil
	if e := facts.CDEvent(rollout.Object, o); e != nil {
		vars["cdevent"] = e
	}
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
