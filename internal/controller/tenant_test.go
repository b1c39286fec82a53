package controller_test

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
)

// analysisWriter is what a tenant may do who attacks with AnalysisRuns.
var analysisWriter = rbacv1.PolicyRule{
	APIGroups: []string{v1alpha1.Group}, Resources: []string{"analysisruns"}, Verbs: []string{"get", "list", "create", "patch"},
}

// unguarded is the right that the admission policy asks for. A tenant who has it is one in a cluster where the policy is not installed.
var unguarded = rbacv1.PolicyRule{
	APIGroups: []string{v1alpha1.Group}, Resources: []string{"analysisruns/status", "experiments/status"}, Verbs: []string{"patch"},
}

// jobMetric is a metric that is measured by a Job.
func jobMetric(name string) v1alpha1.Metric {
	return v1alpha1.Metric{Name: name, Provider: v1alpha1.MetricProvider{Job: &v1alpha1.JobMetric{
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: name, Image: "busybox:1", Command: []string{"true"}}},
		}}},
	}}}
}

// claim is the status of a metric whose measurement under way claims to be a Job of another place.
func claim(metric, namespace, job string) v1alpha1.MetricResult {
	return v1alpha1.MetricResult{Name: metric, Phase: v1alpha1.AnalysisPhaseRunning, Measurements: []v1alpha1.Measurement{{
		Phase: v1alpha1.AnalysisPhaseRunning, StartedAt: &metav1.Time{Time: time.Now()}, ResumeAt: &metav1.Time{Time: time.Now()},
		Metadata: map[string]string{"job-namespace": namespace, "job-name": job},
	}}}
}

// attackWith creates an AnalysisRun with a forged status, as a user who is allowed to.
func attackWith(t *testing.T, as client.Client, run *v1alpha1.AnalysisRun, results ...v1alpha1.MetricResult) {
	t.Helper()
	run.Status = v1alpha1.AnalysisRunStatus{
		Phase: v1alpha1.AnalysisPhaseRunning, StartedAt: &metav1.Time{Time: time.Now()}, MetricResults: results,
	}
	if err := as.Create(t.Context(), run); err != nil {
		t.Fatal(err)
	}
}

// A tenant who may only write AnalysisRuns of one namespace claims that a measurement is a Job of another namespace. None is created there.
func TestNoJobIsCreatedWhereAStatusSays(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	tenant := ns.As("tenant", analysisWriter, unguarded)
	ns.StartController()
	pwned := "pwned-" + ns.Name
	attackWith(t, tenant, &v1alpha1.AnalysisRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "attack"},
		Spec:       v1alpha1.AnalysisRunSpec{Metrics: []v1alpha1.Metric{jobMetric("m")}},
	}, claim("m", "kube-system", pwned))

	run := ns.WaitForAnalysisRun("attack", "to have made its Job", func(run *v1alpha1.AnalysisRun) bool {
		return len(run.Status.MetricResults) > 0 && run.Status.MetricResults[0].Measurements[0].Metadata["job-created"] != ""
	})
	var made batchv1.Job
	if err := ns.Client.Get(t.Context(), client.ObjectKey{Namespace: "kube-system", Name: pwned}, &made); !apierrors.IsNotFound(err) {
		t.Errorf("kube-system has a Job that the tenant wanted there (%v)", err)
		_ = ns.Client.Delete(t.Context(), &made)
	}
	own := client.ObjectKey{Namespace: ns.Name, Name: string(run.UID) + ".m.1"}
	if err := ns.Client.Get(t.Context(), own, &made); err != nil {
		t.Errorf("the Job of the measurement: %v", err)
	}
	if told := run.Status.MetricResults[0].Measurements[0].Metadata; told["job-namespace"] != own.Namespace || told["job-name"] != own.Name {
		t.Errorf("the status tells %v, want %s", told, own)
	}
}

// The same tenant claims that another tenant's Job was a measurement: one that is to be stopped, one that is kept no longer, and one whose
// image cannot be pulled. None is deleted.
func TestNobodyElsesJobIsDeleted(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	tenant := ns.As("tenant", analysisWriter, unguarded)
	neighbor := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "neighbor-"}}
	if err := ns.Client.Create(t.Context(), neighbor); err != nil {
		t.Fatal(err)
	}
	backup := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: neighbor.Name, Name: "nightly-backup"},
		Spec:       jobMetric("backup").Provider.Job.Spec,
	}
	backup.Spec.Suspend = new(true)
	mine := backup.DeepCopy() // in the tenant's own namespace, where the tenant may not delete Jobs either
	createObject(t, ns, mine)
	if err := ns.Client.Create(t.Context(), backup); err != nil {
		t.Fatal(err)
	}

	ns.StartController()
	for name, where := range map[string]string{"near": ns.Name, "far": neighbor.Name} {
		stop := &v1alpha1.AnalysisRun{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "stop-" + name},
			Spec:       v1alpha1.AnalysisRunSpec{Terminate: true, Metrics: []v1alpha1.Metric{jobMetric("m")}},
		}
		attackWith(t, tenant, stop, claim("m", where, "nightly-backup"))

		forget := &v1alpha1.AnalysisRun{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "forget-" + name},
			Spec: v1alpha1.AnalysisRunSpec{
				Terminate: true, Metrics: []v1alpha1.Metric{jobMetric("m")},
				MeasurementRetention: []v1alpha1.MeasurementRetention{{MetricName: "m", Limit: 1}},
			},
		}
		old := claim("m", where, "nightly-backup")
		old.Measurements[0].Phase, old.Count, old.Successful = v1alpha1.AnalysisPhaseSuccessful, 2, 2
		old.Measurements = append(old.Measurements, old.Measurements[0], old.Measurements[0])
		attackWith(t, tenant, forget, old)
	}
	for _, name := range []string{"stop-near", "stop-far", "forget-near", "forget-far"} {
		ns.WaitForAnalysisRun(name, "to end", hasEnded)
	}
	for _, job := range []*batchv1.Job{backup, mine} {
		var have batchv1.Job
		if err := ns.Client.Get(t.Context(), client.ObjectKeyFromObject(job), &have); err != nil || have.DeletionTimestamp != nil {
			t.Errorf("Job %s/%s is deleted (%v)", job.Namespace, job.Name, err)
		}
	}
}

// Where Jobs of all tenants run in one namespace, none of them acts as a service account of it, or has the node.
func TestJobsInASharedNamespaceAreConfined(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	tenant := ns.As("tenant", analysisWriter)
	shared := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "jobs-"}}
	if err := ns.Client.Create(t.Context(), shared); err != nil {
		t.Fatal(err)
	}
	ns.Env = []string{"ARGO_ROLLOUTS_ANALYSIS_JOB_NAMESPACE=" + shared.Name}
	ns.StartController()

	attack := func(name string, change func(*corev1.PodSpec)) string {
		metric := jobMetric("m")
		metric.ConsecutiveErrorLimit = new(intstr.FromInt32(0))
		pod := &metric.Provider.Job.Spec.Template.Spec
		pod.SecurityContext = &corev1.PodSecurityContext{RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}}
		pod.Containers[0].SecurityContext = &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		}
		change(pod)
		run := &v1alpha1.AnalysisRun{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: name}, Spec: v1alpha1.AnalysisRunSpec{Metrics: []v1alpha1.Metric{metric}},
		}
		if err := tenant.Create(t.Context(), run); err != nil {
			t.Fatal(err)
		}
		ended := ns.WaitForAnalysisRun(name, "to end", hasEnded)
		return string(ended.Status.Phase) + " " + ended.Status.Message
	}
	for name, c := range map[string]struct {
		change func(*corev1.PodSpec)
		want   string
	}{
		"account":    {func(s *corev1.PodSpec) { s.ServiceAccountName = "superuser" }, `serviceAccountName "superuser"`},
		"privileged": {func(s *corev1.PodSpec) { s.HostPID = true }, "host namespaces (hostPID=true)"},
	} {
		if got := attack(name, c.change); !strings.HasPrefix(got, "Error ") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want an Error that says %s", name, got, c.want)
		}
	}
	var jobs batchv1.JobList
	if err := ns.Client.List(t.Context(), &jobs, client.InNamespace(shared.Name)); err != nil || len(jobs.Items) > 0 {
		t.Errorf("%d Jobs in the shared namespace (%v)", len(jobs.Items), err)
	}
	if got := attack("harmless", func(*corev1.PodSpec) {}); got != "Successful " {
		t.Errorf("a Job without any rights: %s", got)
	}
}

// A tenant makes AnalysisRuns that look like those of a step, and says that they were successful. The Rollout controls none of them, so it
// begins its own, and leaves theirs alone.
func TestAForgedAnalysisRunIsNoVerdict(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	tenant := ns.As("tenant", analysisWriter, unguarded)
	createTemplate(t, ns, "smoke")
	ns.StartController()
	ns.CreateRollout(canary(1, `{steps: [{pause: {}}, {analysis: {templates: [{templateName: smoke}], args: [{name: hash, value: x}]}}]}`))
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	ns.SetImage("web", "nginx:2")
	paused := ns.WaitForRollout("web", "to pause", playtest.Paused)
	name := "web-" + paused.Status.CurrentPodHash + "-2-1"

	var template v1alpha1.AnalysisTemplate
	if err := ns.Client.Get(t.Context(), client.ObjectKey{Namespace: ns.Name, Name: "smoke"}, &template); err != nil {
		t.Fatal(err)
	}
	forged := func(name string, phase v1alpha1.AnalysisPhase, owners ...metav1.OwnerReference) {
		run := &v1alpha1.AnalysisRun{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: ns.Name, Name: name, OwnerReferences: owners,
				Labels:      map[string]string{"app": "web", "rollout-type": "Step", "step-index": "1", "rollouts-pod-template-hash": paused.Status.CurrentPodHash},
				Annotations: map[string]string{"rollout.argoproj.io/revision": "2"},
			},
			Spec:   v1alpha1.AnalysisRunSpec{Metrics: template.Spec.Metrics, Args: []v1alpha1.Argument{{Name: "hash", Value: new("x")}}},
			Status: v1alpha1.AnalysisRunStatus{Phase: phase},
		}
		if err := tenant.Create(t.Context(), run); err != nil {
			t.Fatal(err)
		}
	}
	forged(name, v1alpha1.AnalysisPhaseSuccessful)
	forged(name+".1", "")
	forged(name+".2", v1alpha1.AnalysisPhaseSuccessful, metav1.OwnerReference{ // an owner, which does not control it
		APIVersion: "argoproj.io/v1alpha1", Kind: "Rollout", Name: paused.Name, UID: paused.UID,
	})

	ns.PatchStatus("web", resume)
	run := ns.WaitForAnalysisRun(name+".3", "to begin", func(*v1alpha1.AnalysisRun) bool { return true })
	judged := ns.WaitForRollout("web", "to wait for its own analysis", func(ro *v1alpha1.Rollout) bool {
		return ro.Status.Canary.CurrentStepAnalysisRunStatus != nil
	})
	if got := judged.Status.Canary.CurrentStepAnalysisRunStatus.Name; got != run.Name || !metav1.IsControlledBy(run, paused) {
		t.Errorf("it waits for %s, and %s is controlled by %v", got, run.Name, run.OwnerReferences)
	}
	ns.PatchStatus("web", `{"status":{"abort":true}}`)
	ns.WaitForAnalysisRun(run.Name, "to be ended", func(run *v1alpha1.AnalysisRun) bool { return run.Spec.Terminate })
	for _, run := range ns.AnalysisRuns() {
		if run.Spec.Terminate && !metav1.IsControlledBy(&run, paused) {
			t.Errorf("the abort ends %s, which is not the Rollout's", run.Name)
		}
	}
}
