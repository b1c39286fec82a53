package controller_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
)

// experimentOf is an Experiment named demo of two templates; more is the YAML of the rest of its spec, in braces' style.
func experimentOf(name, more string) string {
	template := func(name, image, more string) string {
		return fmt.Sprintf(`
  - name: %s
    selector: {matchLabels: {app: web, part: %[1]s}}
    template:
      metadata: {labels: {app: web, part: %[1]s}}
      spec:
        containers: [{name: web, image: "%s", ports: [{containerPort: 8080}, {containerPort: 9090}]}]
    %s`, name, image, more)
	}
	return `
apiVersion: argoproj.io/v1alpha1
kind: Experiment
metadata: {name: ` + name + `}
spec:
` + more + `
  templates:` + template("baseline", "nginx:1", "replicas: 2") + template("canary", "nginx:2", "service: {name: canary}")
}

const judgedExperiment = `
  duration: 1h
  scaleDownDelaySeconds: 1
  analyses:
  - name: check
    templateName: smoke
    requiredForCompletion: true
    args: [{name: hash, value: "{{templates.canary.podTemplateHash}}"}]`

func TestAnExperimentWithAnAnalysis(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	createTemplate(t, ns, "smoke")
	ns.StartController()
	ex := ns.CreateExperiment(experimentOf("demo", judgedExperiment))
	running := ns.WaitForExperiment("demo", "to run", func(ex *v1alpha1.Experiment) bool { return len(ex.Status.AnalysisRuns) > 0 })
	if s := running.Status; s.AvailableAt == nil || s.TemplateStatuses[0].AvailableReplicas != 2 || s.TemplateStatuses[1].ServiceName != "canary" {
		t.Errorf("status %+v: want 2 pods of baseline available, and a Service for canary", s)
	}
	sets := map[string]*appsv1.ReplicaSet{}
	for _, set := range ns.ReplicaSets() {
		sets[set.Name] = set.DeepCopy()
		if !metav1.IsControlledBy(&set, ex) {
			t.Errorf("ReplicaSet %s belongs to %v, want the Experiment", set.Name, set.OwnerReferences)
		}
	}
	if diff := cmp.Diff([]string{"demo-baseline", "demo-canary"}, slices.Sorted(maps.Keys(sets))); diff != "" {
		t.Fatalf("ReplicaSets (-want +got):\n%s", diff)
	}
	hash := sets["demo-canary"].Labels[v1alpha1.PodTemplateHashLabel]
	service := ns.Services()[0]
	if diff := cmp.Diff(map[string]string{"app": "web", "part": "canary", v1alpha1.PodTemplateHashLabel: hash}, service.Spec.Selector); diff != "" {
		t.Errorf("selector of the Service (-want +got):\n%s", diff)
	}
	var ports []string
	for _, p := range service.Spec.Ports {
		ports = append(ports, fmt.Sprintf("%s %d->%s", p.Name, p.Port, p.TargetPort.String()))
	}
	if diff := cmp.Diff([]string{"tcp-8080 8080->8080", "tcp-9090 9090->9090"}, ports); diff != "" {
		t.Errorf("ports of the Service (-want +got):\n%s", diff)
	}

	run := ns.EndAnalysisRun("demo-check", v1alpha1.AnalysisPhaseSuccessful, "")
	if got := *run.Spec.Args[0].Value; got != hash || !metav1.IsControlledBy(run, ex) {
		t.Errorf("argument hash is %s, want %s; owners %v", got, hash, run.OwnerReferences)
	}
	over := ns.WaitForExperiment("demo", "to be Successful", playtest.InPhase(v1alpha1.AnalysisPhaseSuccessful))
	if over.Status.Message != "Required AnalysisRuns completed" {
		t.Errorf("message %q", over.Status.Message)
	}
	ns.WaitForReplicaSets("to lose their pods", func(set *appsv1.ReplicaSet) bool { return set.Status.Replicas == 0 })
	ns.WaitForServices("to be gone", func(all []corev1.Service) bool { return len(all) == 0 })
	ns.WaitForExperimentEvents("demo",
		"ScalingReplicaSet Scaled up ReplicaSet demo-baseline from 0 to 2",
		"TemplateRunning Template 'canary' transitioned from Progressing -> Running",
		"AnalysisRunSuccessful AnalysisRun 'demo-check' transitioned from ",
		"ExperimentSuccessful Experiment 'demo' transitioned from Running -> Successful: Required AnalysisRuns completed",
	)
	restsWithExperiments(ns)
}

func TestAnExperimentThatFails(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	createTemplate(t, ns, "smoke")
	ns.StartController()
	ns.CreateExperiment(experimentOf("demo", judgedExperiment))
	ns.EndAnalysisRun("demo-check", v1alpha1.AnalysisPhaseFailed, "too many errors")
	over := ns.WaitForExperiment("demo", "to fail", playtest.InPhase(v1alpha1.AnalysisPhaseFailed))
	if over.Status.Message != "too many errors" {
		t.Errorf("message %q", over.Status.Message)
	}
	// Tried again, as the command does: the pods come back, and the analysis is another one.
	ns.PatchExperiment("demo", `{"status":null}`)
	ns.EndAnalysisRun("demo-check.1", v1alpha1.AnalysisPhaseSuccessful, "")
	ns.WaitForExperiment("demo", "to be Successful", playtest.InPhase(v1alpha1.AnalysisPhaseSuccessful))
	ns.WaitForReplicaSets("to lose their pods", func(set *appsv1.ReplicaSet) bool { return set.Status.Replicas == 0 })
}

func TestAnExperimentIsTerminated(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	createTemplate(t, ns, "smoke")
	ns.StartController()
	ns.CreateExperiment(experimentOf("demo", judgedExperiment))
	ns.WaitForAnalysisRun("demo-check", "to begin", func(*v1alpha1.AnalysisRun) bool { return true })
	ns.PatchExperiment("demo", `{"spec":{"terminate":true}}`)
	ns.WaitForExperiment("demo", "to end", playtest.InPhase(v1alpha1.AnalysisPhaseSuccessful))
	ns.WaitForAnalysisRun("demo-check", "to be ended", func(run *v1alpha1.AnalysisRun) bool { return run.Spec.Terminate })
	ns.WaitForReplicaSets("to lose their pods", func(set *appsv1.ReplicaSet) bool { return set.Status.Replicas == 0 })
	ns.WaitForServices("to be gone", func(all []corev1.Service) bool { return len(all) == 0 })
}

func TestAnExperimentWhosePodsDoNotComeUp(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	ns.StartController()
	ns.CreateExperiment(strings.Replace(experimentOf("demo", "  progressDeadlineSeconds: 20\n  scaleDownDelaySeconds: 0"), "nginx:2", "nginx:bad", 1))
	over := ns.WaitForExperiment("demo", "to fail", playtest.InPhase(v1alpha1.AnalysisPhaseFailed))
	if want := "Template 'canary' exceeded its progressDeadlineSeconds (20)"; over.Status.Message != want {
		t.Errorf("message %q, want %q", over.Status.Message, want)
	}
	ns.WaitForReplicaSets("to lose their pods", func(set *appsv1.ReplicaSet) bool { return *set.Spec.Replicas == 0 && set.Status.Replicas == 0 })
	ns.WaitForServices("to be gone", func(all []corev1.Service) bool { return len(all) == 0 })
}

func TestC26AnExperimentWaitsForTheServiceOfAnEarlierOne(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	ns.StartController()
	ns.CreateExperiment(experimentOf("first", "  duration: 1s\n  scaleDownDelaySeconds: 2"))
	ns.WaitForExperiment("first", "to end", playtest.InPhase(v1alpha1.AnalysisPhaseSuccessful))
	ns.CreateExperiment(experimentOf("second", "  duration: 1s\n  scaleDownDelaySeconds: 0"))
	ns.WaitForExperiment("second", "to wait", func(ex *v1alpha1.Experiment) bool {
		return len(ex.Status.TemplateStatuses) > 1 && ex.Status.TemplateStatuses[1].Message == `waiting for Service "canary" of another Experiment to go`
	})
	ns.WaitForExperiment("second", "to be Successful", playtest.InPhase(v1alpha1.AnalysisPhaseSuccessful))

	// One that was deleted leaves its ReplicaSets and Services to the garbage collector. Of the same name, it waits for those too.
	again := ns.CreateExperiment(experimentOf("third", "  scaleDownDelaySeconds: 0"))
	ns.WaitForExperiment("third", "to run", playtest.InPhase(v1alpha1.AnalysisPhaseRunning))
	if err := ns.Client.Delete(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	ns.CreateExperiment(experimentOf("third", "  duration: 1s\n  scaleDownDelaySeconds: 0"))
	over := ns.WaitForExperiment("third", "to be Successful", playtest.InPhase(v1alpha1.AnalysisPhaseSuccessful))
	for _, s := range over.Status.TemplateStatuses {
		if s.CollisionCount != nil {
			t.Errorf("template %s has used another name, want that it waits for its own", s.Name)
		}
	}
}

func TestAnExperimentThatIsInvalid(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	ns.StartController()
	ns.CreateExperiment(experimentOf("demo", judgedExperiment))
	ns.WaitForExperiment("demo", "to say so", func(ex *v1alpha1.Experiment) bool {
		return ex.Status.Phase == v1alpha1.AnalysisPhasePending && strings.Contains(ex.Status.Message, `AnalysisTemplate "smoke" not found`)
	})
	if sets := ns.ReplicaSets(); len(sets) > 0 {
		t.Errorf("%d ReplicaSets, want none while the spec is wrong", len(sets))
	}
	createTemplate(t, ns, "smoke")
	ns.EndAnalysisRun("demo-check", v1alpha1.AnalysisPhaseSuccessful, "")
	ns.WaitForExperiment("demo", "to be Successful", playtest.InPhase(v1alpha1.AnalysisPhaseSuccessful))
}

// TestAnExperimentKilledAtAnyMoment kills the controller again and again: the Experiment ends as it would have, with one AnalysisRun.
func TestAnExperimentKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 5))
	ns := playtest.New(t)
	createTemplate(t, ns, "smoke")
	ns.StartController()
	history := ns.Record()
	const experiments = 3
	for i := range experiments {
		name := fmt.Sprintf("demo-%d", i)
		ns.CreateExperiment(experimentOf(name, strings.ReplaceAll(judgedExperiment, "1h", "2s")))
		history.KillWhileMoving(random, 4, 6)
		// A run that ends before the Experiment has recorded it looks like an earlier attempt's, and is started again.
		ns.WaitForExperiment(name, "to know its analysis", func(ex *v1alpha1.Experiment) bool { return len(ex.Status.AnalysisRuns) == 1 })
		ns.EndAnalysisRun(name+"-check", v1alpha1.AnalysisPhaseSuccessful, "")
		history.KillWhileMoving(random, 2, 4)
		ns.WaitForExperiment(name, "to be Successful", playtest.InPhase(v1alpha1.AnalysisPhaseSuccessful))
	}
	ns.WaitForReplicaSets("to lose their pods", func(set *appsv1.ReplicaSet) bool { return set.Status.Replicas == 0 })
	ns.WaitForServices("to be gone", func(all []corev1.Service) bool { return len(all) == 0 })
	if runs := ns.AnalysisRuns(); len(runs) != experiments {
		t.Errorf("%d AnalysisRuns of %d Experiments", len(runs), experiments)
	}
	restsWithExperiments(ns)
}

// TestASettledExperimentIsLeftAlone watches for a while in which nothing is to be written.
func TestASettledExperimentIsLeftAlone(t *testing.T) {
	t.Parallel()
	ns := playtest.NewEarly(t)
	ns.StartController()
	ns.CreateExperiment(experimentOf("demo", "  duration: 1s\n  scaleDownDelaySeconds: 0"))
	ns.CreateExperiment(strings.ReplaceAll(experimentOf("endless", ""), "name: canary}", "name: other}"))
	ns.WaitForExperiment("demo", "to be Successful", playtest.InPhase(v1alpha1.AnalysisPhaseSuccessful))
	ns.WaitForExperiment("endless", "to run", playtest.InPhase(v1alpha1.AnalysisPhaseRunning))
	ns.WaitForServices("of demo to be gone", func(all []corev1.Service) bool { return len(all) == 1 })
	ns.WaitForPodsToGo()
	history := ns.Record()
	if !history.Quiet(time.Minute) {
		for _, p := range history.Stop()[1:] {
			t.Errorf("something was written: %s", p)
		}
	}
}
