package controller_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
	"github.com/sluice-delivery/sluice/internal/playtest"
)

// experimenting is the strategy of a canary with an experiment step; more is the rest of the step.
func experimenting(more string) string {
	return `{maxUnavailable: 0, steps: [{setWeight: 50}, {experiment: {scaleDownDelaySeconds: 1,
      templates: [{name: baseline, specRef: stable}, {name: canary, specRef: canary, metadata: {labels: {part: trial}}}]` + more + `}}, {pause: {}}]}`
}

const checked = `, analyses: [{name: check, templateName: smoke, requiredForCompletion: true, args: [
        {name: hash, valueFrom: {podTemplateHashValue: Latest}}]}]`

func TestAnExperimentStep(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	createTemplate(t, ns, "smoke")
	ns.StartController()
	ns.CreateRollout(canary(2, experimenting(checked)))
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	ns.SetImage("web", "nginx:2")
	ro := ns.WaitForRollout("web", "to begin the experiment", func(ro *v1alpha1.Rollout) bool { return ro.Status.Canary.CurrentExperiment != "" })
	name := ro.Status.Canary.CurrentExperiment
	if want := fmt.Sprintf("web-%s-2-1", ro.Status.CurrentPodHash); name != want {
		t.Errorf("the experiment is %s, want %s", name, want)
	}
	ex := ns.WaitForExperiment(name, "to run", playtest.InPhase(v1alpha1.AnalysisPhaseRunning))
	if !metav1.IsControlledBy(ex, ro) || ex.Labels[v1alpha1.PodTemplateHashLabel] != ro.Status.CurrentPodHash {
		t.Errorf("owners %v, labels %v", ex.OwnerReferences, ex.Labels)
	}
	var images []string
	hashes := map[string]int{}
	for _, pod := range ns.Pods() {
		hash := pod.Labels[v1alpha1.PodTemplateHashLabel]
		hashes[hash]++
		if part, ok := pod.Labels["part"]; ok {
			images = append(images, pod.Spec.Containers[0].Image+" "+part)
		}
	}
	if diff := cmp.Diff([]string{"nginx:2 trial"}, images); diff != "" {
		t.Errorf("pods with the label of the template (-want +got):\n%s", diff)
	}
	if len(hashes) != 4 { // or a Service that selects a version would send to the experiment's pods
		t.Errorf("the pods have hashes %v, want those of two versions and of two templates", hashes)
	}
	if ro := ns.Rollout("web"); ro.Status.Replicas != 2 {
		t.Errorf("the Rollout counts %d pods, want its own 2", ro.Status.Replicas)
	}
	run := ns.EndAnalysisRun(name+"-check", v1alpha1.AnalysisPhaseSuccessful, "")
	if got := *run.Spec.Args[0].Value; got != ro.Status.CurrentPodHash {
		t.Errorf("argument hash is %s, want that of the new version", got)
	}
	ns.WaitForRollout("web", "to go on", playtest.AtStep(2))
	ns.WaitForEvents("web", "ExperimentCreated Created Experiment '"+name+"'", "RolloutStepCompleted Rollout step 2/3 completed (experiment)",
		"ExperimentSuccessful Experiment '"+name+"' transitioned from Running -> Successful", "AnalysisRunSuccessful AnalysisRun '"+name+"-check' transitioned from")
	ns.PatchStatus("web", resume)
	ns.WaitForRollout("web", "to be Healthy with the new version", playtest.Healthy)
	restsWithExperiments(ns)
}

func TestAnExperimentStepThatFails(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	createTemplate(t, ns, "smoke")
	ns.StartController()
	ns.CreateRollout(canary(1, experimenting(checked)))
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	ns.SetImage("web", "nginx:2")
	begun := func(ro *v1alpha1.Rollout) bool { return ro.Status.Canary.CurrentExperiment != "" }
	first := ns.WaitForRollout("web", "to begin the experiment", begun).Status.Canary.CurrentExperiment
	ns.EndAnalysisRun(first+"-check", v1alpha1.AnalysisPhaseFailed, "too many errors")
	back := ns.WaitForRollout("web", "to abort", playtest.Degraded)
	want := "RolloutAborted: Rollout aborted update to revision 2: Experiment analysis phase is error/failed: too many errors"
	if back.Status.Message != want {
		t.Errorf("message %q, want %q", back.Status.Message, want)
	}
	ns.PatchStatus("web", `{"status":{"abort":false}}`)
	ns.EndAnalysisRun(first+"-1-check", v1alpha1.AnalysisPhaseInconclusive, "nobody knows")
	ns.WaitForRollout("web", "to pause", func(ro *v1alpha1.Rollout) bool {
		return playtest.Paused(ro) && ro.Status.Message == string(v1alpha1.PauseReasonInconclusiveExperiment)
	})
	ns.PatchStatus("web", resume)
	ns.WaitForExperiment(first+"-2", "to run", playtest.InPhase(v1alpha1.AnalysisPhaseRunning))

	// A new template ends what runs for the old one.
	ns.SetImage("web", "nginx:3")
	over := ns.WaitForExperiment(first+"-2", "to be ended", playtest.InPhase(v1alpha1.AnalysisPhaseSuccessful))
	if !over.Spec.Terminate {
		t.Error("the experiment has ended by itself, want it terminated")
	}
	ns.WaitForRollout("web", "to begin another experiment", func(ro *v1alpha1.Rollout) bool { return begun(ro) && ro.Status.Canary.CurrentExperiment != first+"-2" })
}

// TestAnExperimentStepKilledAtAnyMoment kills the controller again and again. Every update goes through with one Experiment on record,
// and no two are ever under way. One that ended before any controller lived long enough to record it has no say: another is begun then.
func TestAnExperimentStepKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 7))
	ns := playtest.New(t)
	ns.StartController()
	ns.CreateRollout(canary(2, experimenting(`, duration: 2s`)))
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	history := ns.Record()
	for image := 2; image <= 3; image++ {
		ns.SetImage("web", fmt.Sprintf("nginx:%d", image))
		history.KillWhileMoving(random, 5, 10)
		ns.WaitForRollout("web", "to come to the pause", playtest.AtStep(2))
		ns.PatchStatus("web", resume)
		ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	}
	points := history.Stop()
	recorded := map[string]bool{}
	for _, p := range points {
		if p.Available() < 2 {
			t.Errorf("fewer than 2 pods serve: %s", p)
		}
		if p.Experiment != "" {
			recorded[p.Experiment] = true
		}
		underWay := 0
		for _, phase := range p.Experiments {
			if !analysis.Ended(phase) {
				underWay++
			}
		}
		if underWay > 1 {
			t.Errorf("%d experiments are under way: %s", underWay, p)
		}
	}
	if len(recorded) != 2 {
		t.Errorf("2 updates recorded the experiments %v", slices.Sorted(maps.Keys(recorded)))
	}
	for _, ex := range ns.Experiments() {
		if ex.Spec.Terminate {
			t.Errorf("experiment %s was ended before its time", ex.Name)
		}
	}
	if t.Failed() {
		for _, p := range points {
			t.Log(p)
		}
	}
	restsWithExperiments(ns)
}

// restsWithExperiments checks that nothing more is written once the experiments have ended and their pods are gone, not even by a
// controller that has just started.
func restsWithExperiments(ns *playtest.Namespace) {
	ns.WaitForReplicaSets("of experiments to be empty", func(set *appsv1.ReplicaSet) bool {
		return set.Annotations[v1alpha1.ExperimentNameAnnotation] == "" || *set.Spec.Replicas == 0 && set.Status.Replicas == 0
	})
	ns.WaitForPodsToGo()
	for !ns.Record().Quiet(5 * time.Second) { // the experiments tell of it
	}
	ns.RestartsQuietly(func() map[string]string { return writesOf(ns) })
}
