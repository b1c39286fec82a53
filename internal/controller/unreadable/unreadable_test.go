package unreadable

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
)

// rollout is the spec of a canary with an image and a request of memory.
func rollout(app, memory, strategy string) string {
	return fmt.Sprintf(`{spec: {replicas: 2, selector: {matchLabels: {app: %[1]s}}, strategy: {canary: %[3]s}, template: {metadata: {labels: {app: %[1]s}},
		spec: {containers: [{name: web, image: "nginx:1", resources: {requests: {memory: %[2]s}}}]}}}}`, app, memory, strategy)
}

// invalid returns a predicate: the Rollout has the condition InvalidSpec, and says each of the texts.
func invalid(texts ...string) func(*v1alpha1.Rollout) bool {
	return func(ro *v1alpha1.Rollout) bool {
		for _, c := range ro.Status.Conditions {
			if c.Type == v1alpha1.ConditionInvalidSpec && c.Status == corev1.ConditionTrue {
				return saysAll(c.Message, texts) && ro.Status.Phase == v1alpha1.RolloutPhaseDegraded
			}
		}
		return false
	}
}

func saysAll(message string, texts []string) bool {
	for _, text := range texts {
		if !strings.Contains(message, text) {
			return false
		}
	}
	return true
}

// on returns a predicate: the Rollout is Healthy on its revision.
func on(revision string) func(*v1alpha1.Rollout) bool {
	return func(ro *v1alpha1.Rollout) bool {
		return playtest.Healthy(ro) && ro.Annotations[v1alpha1.RevisionAnnotation] == revision
	}
}

const setMemory = `{"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "nginx:1", "resources": {"requests": {"memory": %q}}}]}}}}`

// One Rollout has a quantity that is none. Its neighbors update, abort and finish, also after a restart of the controller; it says what
// is wrong, keeps what runs, is stored as it was, and goes on when it is corrected.
func TestAnUnreadableRolloutCostsItselfOnly(t *testing.T) {
	ns := playtest.New(t)
	const path = "spec.template.spec.containers[0].resources.requests.memory: \"invalid\" is not a quantity: write"
	create(t, ns, v1alpha1.KindRollout, "bad", rollout("bad", "invalid", "{}"))
	create(t, ns, v1alpha1.KindRollout, "ran", rollout("ran", "16Mi", "{}"))
	create(t, ns, v1alpha1.KindRollout, "web", rollout("web", "16Mi", `{steps: [{setWeight: 50}, {pause: {}}]}`))
	ns.StartController()
	ns.WaitForRollout("web", "to be Healthy", on("1"))
	ns.WaitForRollout("ran", "to be Healthy", on("1"))
	ns.WaitForRollout("bad", "to have InvalidSpec", invalid(path))

	patch(t, ns, v1alpha1.KindRollout, "ran", fmt.Sprintf(setMemory, "invalid"))
	ns.WaitForRollout("ran", "to have InvalidSpec", invalid(path))
	ns.PatchStatus("ran", `{"status": {"abort": true}}`)
	ns.WaitForRollout("ran", "to say what becomes of an abort", invalid(path, "status.abort: the update is aborted as soon as"))
	ns.SetImage("web", "nginx:2")
	ns.WaitForRollout("web", "to be paused", playtest.Paused)
	ns.PatchStatus("web", `{"status": {"abort": true}}`)
	ns.WaitForRollout("web", "to be aborted", func(ro *v1alpha1.Rollout) bool {
		return ro.Status.Abort && ro.Status.Phase == v1alpha1.RolloutPhaseDegraded && ro.Status.AvailableReplicas == 2
	})

	ns.StopController(syscall.SIGKILL)
	ns.SetImage("web", "nginx:3")
	ns.StartController()
	ns.WaitForRollout("web", "to be paused on the third version", playtest.Paused)
	ns.PatchStatus("web", `{"status": {"pauseConditions": null}}`)
	ns.WaitForRollout("web", "to be Healthy on the third version", on("3"))
	if ran := ns.Rollout("ran"); ran.Status.AvailableReplicas != 2 {
		t.Errorf("what ran has %d available pods, want 2", ran.Status.AvailableReplicas)
	}
	for _, rs := range ns.ReplicaSets() {
		if strings.HasPrefix(rs.Name, "bad-") || strings.HasPrefix(rs.Name, "ran-") && *rs.Spec.Replicas != 2 {
			t.Errorf("ReplicaSet %s was created or scaled", rs.Name)
		}
	}
	want := object(v1alpha1.KindRollout, "bad", rollout("bad", "invalid", "{}")).Object["spec"]
	if diff := cmp.Diff(want, stored(t, ns, v1alpha1.KindRollout, "bad", "spec")); diff != "" {
		t.Errorf("the stored spec has changed:\n%s", diff)
	}

	patch(t, ns, v1alpha1.KindRollout, "bad", fmt.Sprintf(setMemory, "16Mi"))
	ns.WaitForRollout("bad", "to be Healthy", on("1"))
	ns.PatchStatus("ran", `{"status": {"abort": null}}`)
	patch(t, ns, v1alpha1.KindRollout, "ran", fmt.Sprintf(setMemory, "32Mi"))
	ns.WaitForRollout("ran", "to be Healthy on the corrected version", on("2"))
}

const template = `{spec: {args: [{name: command, value: "true"}], metrics: [{name: check, count: %s, provider: {job: {spec: {backoffLimit: 0, template: {spec: {
	restartPolicy: Never, containers: [{name: check, image: busybox, command: ["true"]}]}}}}}}]}}`

// A template that cannot be read holds the Rollout that names it, and nobody else.
func TestAnUnreadableAnalysisTemplateCostsThoseThatNameIt(t *testing.T) {
	ns := playtest.New(t)
	create(t, ns, v1alpha1.KindAnalysisTemplate, "bad", fmt.Sprintf(template, "{}"))
	create(t, ns, v1alpha1.KindAnalysisTemplate, "good", fmt.Sprintf(template, "1"))
	for _, name := range []string{"bad", "good"} {
		create(t, ns, v1alpha1.KindRollout, name, rollout(name, "16Mi", fmt.Sprintf(`{steps: [{setWeight: 50}, {analysis: {templates: [{templateName: %s}]}}]}`, name)))
	}
	ns.StartController()
	ns.WaitForRollout("good", "to be Healthy", on("1"))
	ns.WaitForRollout("bad", "to have InvalidSpec", invalid(`AnalysisTemplate "bad" cannot be read: spec.metrics[0].count: an object is neither a text nor a whole number`))

	ns.StopController(syscall.SIGKILL)
	ns.StartController()
	ns.SetImage("good", "nginx:2")
	ns.WaitForRollout("good", "to be Healthy on the second version", on("2"))
	patch(t, ns, v1alpha1.KindAnalysisTemplate, "bad", `{"spec": {"metrics": [{"name": "check", "count": 1, "provider": {"web": {"url": "http://192.0.2.1"}}}]}}`)
	ns.WaitForRollout("bad", "to be Healthy", on("1"))
}

// An AnalysisRun that cannot be read ends with an error, and others are measured.
func TestAnUnreadableAnalysisRunCostsItselfOnly(t *testing.T) {
	ns := playtest.New(t)
	create(t, ns, v1alpha1.KindAnalysisRun, "bad", fmt.Sprintf(template, "{}"))
	ns.StartController()
	ns.WaitForAnalysisRun("bad", "to end with an error", func(run *v1alpha1.AnalysisRun) bool {
		return run.Status.Phase == v1alpha1.AnalysisPhaseError &&
			saysAll(run.Status.Message, []string{"Analysis spec invalid: spec.metrics[0].count: an object is neither a text nor a whole number"})
	})
	ns.StopController(syscall.SIGKILL)
	create(t, ns, v1alpha1.KindAnalysisRun, "good", fmt.Sprintf(template, "1"))
	broken := strings.Replace(fmt.Sprintf(template, "1"), "{spec:", `{status: {phase: 5, startedAt: soon, metricResults: [{name: check, measurements: 1}]}, spec:`, 1)
	create(t, ns, v1alpha1.KindAnalysisRun, "forged", broken)
	ns.StartController()
	for _, name := range []string{"good", "forged"} {
		ns.WaitForAnalysisRun(name, "to be Successful", func(run *v1alpha1.AnalysisRun) bool {
			return run.Status.Phase == v1alpha1.AnalysisPhaseSuccessful && len(run.Unreadable) == 0
		})
	}
}

// An Experiment that cannot be read says so and begins when it is corrected, and others go on.
func TestAnUnreadableExperimentCostsItselfOnly(t *testing.T) {
	ns := playtest.New(t)
	experiment := func(app, replicas string) string {
		return fmt.Sprintf(`{spec: {duration: 1s, templates: [{name: a, replicas: %[2]s, selector: {matchLabels: {app: %[1]s}}, template: {
			metadata: {labels: {app: %[1]s}}, spec: {containers: [{name: web, image: "nginx:1"}]}}}]}}`, app, replicas)
	}
	create(t, ns, v1alpha1.KindExperiment, "bad", experiment("bad", "one"))
	create(t, ns, v1alpha1.KindExperiment, "forged", strings.Replace(experiment("forged", "1"), "{spec:", `{status: {phase: 5, templateStatuses: {}, conditions: [1]}, spec:`, 1))
	ns.StartController()
	ns.WaitForExperiment("forged", "to be Successful", func(ex *v1alpha1.Experiment) bool {
		return ex.Status.Phase == v1alpha1.AnalysisPhaseSuccessful && len(ex.Unreadable) == 0
	})
	ns.WaitForExperiment("bad", "to say what is wrong", func(ex *v1alpha1.Experiment) bool {
		return ex.Status.Phase == v1alpha1.AnalysisPhasePending && saysAll(ex.Status.Message, []string{`spec.templates[0].replicas: "one" is not a whole number`})
	})
	ns.StopController(syscall.SIGKILL)
	ns.StartController()
	create(t, ns, v1alpha1.KindExperiment, "good", experiment("good", "1"))
	ns.WaitForExperiment("good", "to be Successful", playtest.InPhase(v1alpha1.AnalysisPhaseSuccessful))
	patch(t, ns, v1alpha1.KindExperiment, "bad", `{"spec": {"templates": [{"name": "a", "replicas": 1, "selector": {"matchLabels": {"app": "bad"}}, "template": {"metadata": {"labels": {"app": "bad"}}, "spec": {"containers": [{"name": "web", "image": "nginx:1"}]}}}]}}`)
	ns.WaitForExperiment("bad", "to be Successful", playtest.InPhase(v1alpha1.AnalysisPhaseSuccessful))
}

// A status that cannot be read is rebuilt from what exists.
func TestAnUnreadableStatusIsRebuilt(t *testing.T) {
	ns := playtest.New(t)
	create(t, ns, v1alpha1.KindRollout, "web", rollout("web", "16Mi", `{steps: [{setWeight: 50}, {pause: {}}]}`))
	ns.StartController()
	ns.WaitForRollout("web", "to be Healthy", on("1"))
	ns.SetImage("web", "nginx:2")
	ns.WaitForRollout("web", "to be paused", playtest.Paused)
	ns.PatchStatus("web", `{"status": {"replicas": "many", "canary": [], "pauseConditions": [{"reason": "CanaryPauseStep", "startTime": "now"}], "conditions": [1], "abortedAt": 5}}`)
	readable := func(ro *v1alpha1.Rollout) bool { return len(ro.Unreadable) == 0 }
	ns.WaitForRollout("web", "to have a status that can be read", readable)
	ns.WaitForRollout("web", "to be paused or to go on", func(ro *v1alpha1.Rollout) bool { return playtest.Paused(ro) || playtest.Healthy(ro) })
}

// What is stored with more steps than there may be is refused by field, count and limit, and costs its neighbors nothing.
func TestMoreThanTheLimitIsRefused(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	ns.StartController()
	steps := strings.Repeat(`{setWeight: 10},`, 20_000)
	create(t, ns, v1alpha1.KindRollout, "web", `{spec: {replicas: 1, selector: {matchLabels: {app: web}},
		template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "nginx:1"}]}}, strategy: {canary: {steps: [`+steps+`]}}}}`)
	ns.WaitForRollout("web", "to be refused", func(ro *v1alpha1.Rollout) bool {
		return strings.Contains(ro.Status.Message, "spec.strategy.canary.steps: has 20000 items, and may have 500: take some out")
	})
	patch(t, ns, v1alpha1.KindRollout, "web", `{"spec": {"strategy": {"canary": {"steps": [{"setWeight": 10}]}}}}`)
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
}
