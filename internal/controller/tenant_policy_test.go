package controller_test

import (
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
)

// Who may write AnalysisRuns and Experiments, as every user with the role edit may, writes no verdict into them.
func TestOnlyTheControllerWritesHowAnalysesWent(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	tenant := ns.As("tenant", rbacv1.PolicyRule{ // as in config/rbac/aggregate.yaml
		APIGroups: []string{v1alpha1.Group}, Resources: []string{"analysisruns", "experiments"},
		Verbs: []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"},
	})
	web := ns.CreateRollout(canary(1, `{}`)) // which no controller manages
	owner := func(kind string) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: "argoproj.io/v1alpha1", Kind: kind, Name: "web", UID: web.UID, Controller: new(true)}}
	}
	marked := metav1.ObjectMeta{
		Namespace: ns.Name,
		Labels:    map[string]string{"rollouts-pod-template-hash": "abc", "rollout-type": "Step", "step-index": "1"}, Annotations: map[string]string{"rollout.argoproj.io/revision": "2"},
	}
	run := func(name string, change func(*v1alpha1.AnalysisRun)) *v1alpha1.AnalysisRun {
		run := &v1alpha1.AnalysisRun{ObjectMeta: *marked.DeepCopy(), Spec: v1alpha1.AnalysisRunSpec{Metrics: []v1alpha1.Metric{jobMetric("m")}}}
		run.Name = name
		change(run)
		return run
	}
	experiment := func(name string, change func(*v1alpha1.Experiment)) *v1alpha1.Experiment {
		ex := &v1alpha1.Experiment{ObjectMeta: *marked.DeepCopy()}
		ex.Name, ex.Spec.Templates = name, []v1alpha1.TemplateSpec{{Name: "a", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}}}
		ex.Spec.Templates[0].Template.Labels = map[string]string{"app": "a"}
		ex.Spec.Templates[0].Template.Spec = jobMetric("m").Provider.Job.Spec.Template.Spec
		ex.Spec.Templates[0].Template.Spec.RestartPolicy = ""
		change(ex)
		return ex
	}
	passed := func(run *v1alpha1.AnalysisRun) { run.Status.Phase = v1alpha1.AnalysisPhaseSuccessful }
	ended := func(ex *v1alpha1.Experiment) { ex.Status.Phase = v1alpha1.AnalysisPhaseSuccessful }

	ns.WaitUntil("the policy is in force", func() error { // the API server reads policies a moment after they are written
		obj := run("early", passed)
		err := tenant.Create(t.Context(), obj)
		if err == nil {
			_ = tenant.Delete(t.Context(), obj)
			return fmt.Errorf("an AnalysisRun is created that says that it was successful")
		}
		return ignoring(err, "the controller writes it")
	})
	for name, c := range map[string]struct {
		create client.Object
		want   string // what the refusal says, empty for none
	}{
		"a run":                {run("a", func(*v1alpha1.AnalysisRun) {}), ""},
		"a run without counts": {run("b", func(run *v1alpha1.AnalysisRun) { run.Status.DryRunSummary = &v1alpha1.RunSummary{} }), ""},
		"a verdict":            {run("c", passed), "the controller writes it"},
		"results": {run("d", func(run *v1alpha1.AnalysisRun) {
			run.Status.MetricResults = []v1alpha1.MetricResult{claim("m", "x", "y")}
		}), "the controller writes it"},
		"counts":                  {run("e", func(run *v1alpha1.AnalysisRun) { run.Status.RunSummary.Successful = 1 }), "the controller writes it"},
		"a run of a Rollout":      {run("f", func(run *v1alpha1.AnalysisRun) { run.OwnerReferences = owner("Rollout") }), "metadata.ownerReferences"},
		"a run of an Experiment":  {run("g", func(run *v1alpha1.AnalysisRun) { run.OwnerReferences = owner("Experiment") }), "metadata.ownerReferences"},
		"an Experiment":           {experiment("a", func(*v1alpha1.Experiment) {}), ""},
		"an Experiment's verdict": {experiment("b", ended), "the controller writes it"},
		"a Service to send traffic to": {experiment("c", func(ex *v1alpha1.Experiment) {
			ex.Status.TemplateStatuses = []v1alpha1.TemplateStatus{{Name: "a", ServiceName: "trap"}}
		}), "the controller writes it"},
		"an Experiment that a Rollout owns": {experiment("d", func(ex *v1alpha1.Experiment) { ex.OwnerReferences = owner("Rollout") }), "metadata.ownerReferences"},
	} {
		if err := ignoring(tenant.Create(t.Context(), c.create), c.want); err != nil {
			t.Errorf("create %s: %v", name, err)
		}
	}

	// What a Rollout made, and what the tenant has.
	for _, obj := range []client.Object{
		run("owned", func(run *v1alpha1.AnalysisRun) { run.OwnerReferences = owner("Rollout") }),
		experiment("owned", func(ex *v1alpha1.Experiment) { ended(ex); ex.OwnerReferences = owner("Rollout") }),
		run("own", func(*v1alpha1.AnalysisRun) {}),
	} {
		createObject(t, ns, obj)
	}
	for name, c := range map[string]struct {
		kind, object, patch string
		want                string
	}{
		"a verdict":                     {"AnalysisRun", "owned", `{"status":{"phase":"Successful"}}`, "the controller writes it"},
		"a verdict of one's own":        {"AnalysisRun", "own", `{"status":{"phase":"Successful"}}`, "the controller writes it"},
		"a verdict, and an end":         {"AnalysisRun", "owned", `{"spec":{"terminate":true},"status":{"phase":"Successful"}}`, "the controller writes it"},
		"what is measured":              {"AnalysisRun", "owned", `{"spec":{"metrics":[{"name":"n","provider":{"web":{"url":"http://x"}}}]}}`, "of it only terminate can be changed"},
		"more in the spec":              {"AnalysisRun", "owned", `{"spec":{"dryRun":[{"metricName":"m"}]}}`, "of it only terminate can be changed"},
		"the version":                   {"AnalysisRun", "owned", `{"metadata":{"labels":{"rollouts-pod-template-hash":"def"}}}`, "are the controller's"},
		"the step":                      {"AnalysisRun", "owned", `{"metadata":{"labels":{"step-index":null}}}`, "are the controller's"},
		"the revision":                  {"AnalysisRun", "owned", `{"metadata":{"annotations":{"rollout.argoproj.io/revision":"3"}}}`, "are the controller's"},
		"the owner":                     {"AnalysisRun", "own", `{"metadata":{"ownerReferences":[{"apiVersion":"argoproj.io/v1alpha1","kind":"Rollout","name":"web","uid":"7","controller":true}]}}`, "metadata.ownerReferences"},
		"what is measured of one's own": {"AnalysisRun", "own", `{"spec":{"dryRun":[{"metricName":"m"}]}}`, ""},
		"a label of one's own":          {"AnalysisRun", "owned", `{"metadata":{"labels":{"team":"a"}}}`, ""},
		"an end":                        {"AnalysisRun", "owned", `{"spec":{"terminate":true}}`, ""},
		"an Experiment's verdict":       {"Experiment", "owned", `{"status":{"phase":"Failed"}}`, "the controller writes it"},
		"an Experiment's end":           {"Experiment", "owned", `{"spec":{"terminate":true}}`, ""},
	} {
		if err := ignoring(patchAs(t, tenant, c.kind, ns.Name, c.object, c.patch), c.want); err != nil {
			t.Errorf("patch %s: %v", name, err)
		}
	}
	// retry experiment, as commands of this API write it.
	if err := patchAs(t, tenant, "Experiment", ns.Name, "owned", `{"status":null}`); err != nil {
		t.Errorf("begin an Experiment again: %v", err)
	}
}

// ignoring is what is wrong with an answer of which the text is wanted, or success where none is.
func ignoring(err error, want string) error {
	switch {
	case want == "":
		return err
	case !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), want):
		return fmt.Errorf("%v, want a refusal that says %q", err, want) //nolint:errorlint // there may be none
	}
	return nil
}

func patchAs(t *testing.T, as client.Client, kind, namespace, name, patch string) error {
	t.Helper()
	obj := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	obj.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	return as.Patch(t.Context(), obj, client.RawPatch(types.MergePatchType, []byte(patch)))
}
