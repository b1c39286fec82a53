package controller_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
)

// templateSpec is what an AnalysisTemplate of one metric says, which names others.
func templateSpec(metric string, others ...v1alpha1.AnalysisTemplateRef) v1alpha1.AnalysisTemplateSpec {
	return v1alpha1.AnalysisTemplateSpec{
		Args: []v1alpha1.Argument{{Name: "hash"}},
		Metrics: []v1alpha1.Metric{{
			Name: metric, InitialDelay: "1h", // nothing is measured: tests say how runs end
			Provider: v1alpha1.MetricProvider{Web: &v1alpha1.WebMetric{URL: "https://test/{{args.hash}}"}},
		}},
		Templates: others,
	}
}

func createTemplate(t *testing.T, ns *playtest.Namespace, name string, others ...v1alpha1.AnalysisTemplateRef) {
	t.Helper()
	createObject(t, ns, &v1alpha1.AnalysisTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ns.Name}, Spec: templateSpec(name, others...),
	})
}

// judged is a blue-green Rollout with the same analysis at each place of the list.
func judged(places ...string) string {
	analysis := `{templates: [{templateName: smoke}], args: [{name: hash, valueFrom: {podTemplateHashValue: Latest}}], analysisRunMetadata: {labels: {team: a}}}`
	var text strings.Builder
	for _, place := range places {
		fmt.Fprintf(&text, ", %s: %s", place, analysis)
	}
	return blueGreen(2, "{activeService: active, previewService: preview"+text.String()+"}")
}

const (
	before = "prePromotionAnalysis"
	behind = "postPromotionAnalysis"
)

func TestAnalysesOfABlueGreenUpdate(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	createServices(t, ns, "active", "preview")
	createTemplate(t, ns, "smoke")
	ns.StartController()
	ns.CreateRollout(judged(before, behind))
	first := ns.WaitForRollout("web", "to be Healthy", playtest.Healthy).Status.CurrentPodHash
	if runs := ns.AnalysisRuns(); len(runs) != 0 {
		t.Errorf("%d analyses of the first version, want none", len(runs))
	}

	ns.SetImage("web", "nginx:2")
	begun := ns.WaitForRollout("web", "to analyse before the switch", func(ro *v1alpha1.Rollout) bool {
		return ro.Status.BlueGreen.PrePromotionAnalysisRunStatus != nil
	})
	second := begun.Status.CurrentPodHash
	pre, post := "web-"+second+"-2-pre", "web-"+second+"-2-post"
	run := ns.EndAnalysisRun(pre, v1alpha1.AnalysisPhaseSuccessful, "")
	want := map[string]string{
		"app": "web", "team": "a", v1alpha1.RolloutTypeLabel: v1alpha1.RolloutTypePrePromotion, v1alpha1.PodTemplateHashLabel: second,
	}
	if diff := cmp.Diff(want, run.Labels); diff != "" {
		t.Errorf("labels of the analysis (-want +got):\n%s", diff)
	}
	if got := *run.Spec.Args[0].Value; got != second || !metav1.IsControlledBy(run, begun) {
		t.Errorf("argument hash is %s, want %s; owners %v", got, second, run.OwnerReferences)
	}

	verifying := ns.WaitForRollout("web", "to analyze after the switch", func(ro *v1alpha1.Rollout) bool {
		return ro.Status.Message == "waiting for analysis to complete" && ro.Status.BlueGreen.PostPromotionAnalysisRunStatus != nil
	})
	if s := verifying.Status; s.StableRS != first || s.BlueGreen.ActiveSelector != second || s.Replicas != 4 {
		t.Errorf("after the switch: stable %s, active %s, %d pods; want both stacks whole", s.StableRS, s.BlueGreen.ActiveSelector, s.Replicas)
	}
	ns.EndAnalysisRun(post, v1alpha1.AnalysisPhaseSuccessful, "")
	ns.WaitForRollout("web", "to be Healthy on the second version", func(ro *v1alpha1.Rollout) bool {
		return playtest.Healthy(ro) && ro.Status.StableRS == second
	})
	ns.WaitForEvents("web",
		"AnalysisRunSuccessful PrePromotion Analysis Run '"+pre+"' Status New: 'Successful'",
		"AnalysisRunPending PostPromotion Analysis Run '"+post+"' Status New: 'Pending' Previous: 'NoPreviousStatus'",
	)
}

func TestAnAnalysisThatFailsAfterTheSwitch(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	createServices(t, ns, "active", "preview")
	createTemplate(t, ns, "smoke")
	ns.StartController()
	ns.CreateRollout(judged(behind))
	first := ns.WaitForRollout("web", "to be Healthy", playtest.Healthy).Status.CurrentPodHash
	history := ns.Record()
	ns.SetImage("web", "nginx:2")
	second := ns.WaitForRollout("web", "to analyse", func(ro *v1alpha1.Rollout) bool {
		return ro.Status.BlueGreen.PostPromotionAnalysisRunStatus != nil
	}).Status.CurrentPodHash
	post := "web-" + second + "-2-post"
	ns.EndAnalysisRun(post, v1alpha1.AnalysisPhaseFailed, "too many errors")
	back := ns.WaitForRollout("web", "to be back on the first version", func(ro *v1alpha1.Rollout) bool {
		return playtest.Degraded(ro) && ro.Status.BlueGreen.ActiveSelector == first
	})
	want := "RolloutAborted: Rollout aborted update to revision 2: Blue/green post-promotion analysis phase error/failed: too many errors"
	if back.Status.Message != want {
		t.Errorf("message %q, want %q", back.Status.Message, want)
	}
	ns.PatchStatus("web", `{"status":{"abort":false}}`)
	ns.EndAnalysisRun(post+".1", v1alpha1.AnalysisPhaseSuccessful, "")
	ns.WaitForRollout("web", "to be Healthy with a fresh analysis", func(ro *v1alpha1.Rollout) bool {
		return playtest.Healthy(ro) && ro.Status.StableRS == second
	})
	checkCutover(t, history.Stop(), "active", 2)
}

func TestAnAnalysisIsEndedByAnAbort(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	createServices(t, ns, "active", "preview")
	createTemplate(t, ns, "smoke")
	ns.StartController()
	ns.CreateRollout(judged(before))
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	ns.SetImage("web", "nginx:2")
	name := ns.WaitForRollout("web", "to analyse", func(ro *v1alpha1.Rollout) bool {
		return ro.Status.BlueGreen.PrePromotionAnalysisRunStatus != nil
	}).Status.BlueGreen.PrePromotionAnalysisRunStatus.Name
	ns.WaitForAnalysisRun(name, "to run", func(run *v1alpha1.AnalysisRun) bool { return run.Status.Phase == v1alpha1.AnalysisPhaseRunning })
	ns.PatchStatus("web", `{"status":{"abort":true}}`)
	ns.WaitForAnalysisRun(name, "to be terminated", func(run *v1alpha1.AnalysisRun) bool {
		return run.Spec.Terminate && run.Status.Phase == v1alpha1.AnalysisPhaseInconclusive && run.Status.Message == "Run Terminated"
	})
}

func TestTemplatesThatAreMissing(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	createServices(t, ns, "active", "preview")
	ns.StartController()
	ns.CreateRollout(judged(before))
	waitFor := func(text string) {
		t.Helper()
		ns.WaitForRollout("web", "to say "+text, func(ro *v1alpha1.Rollout) bool {
			return playtest.Degraded(ro) && strings.Contains(ro.Status.Message, text)
		})
	}
	waitFor(`prePromotionAnalysis.templates[0].templateName: AnalysisTemplate "smoke" not found`)
	ofCluster := v1alpha1.AnalysisTemplateRef{TemplateName: ns.Name, ClusterScope: true}
	createTemplate(t, ns, "smoke", ofCluster)
	waitFor(`ClusterAnalysisTemplate "` + ns.Name + `", which AnalysisTemplate "smoke" names, not found`)
	nested := &v1alpha1.ClusterAnalysisTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: ns.Name}, Spec: templateSpec("nested", v1alpha1.AnalysisTemplateRef{TemplateName: "deep"}),
	}
	createObject(t, ns, nested)
	t.Cleanup(func() { _ = ns.Client.Delete(t.Context(), nested) })
	waitFor(`AnalysisTemplate "deep", which ClusterAnalysisTemplate "` + ns.Name + `" names, not found`)
	createTemplate(t, ns, "deep")
	ns.WaitForRollout("web", "to be Healthy by itself", playtest.Healthy)
}

// TestAnalysesKilledAtAnyMoment kills the controller again and again while it updates with analyses: the promises of the switch hold,
// and a settled rollout writes nothing.
func TestAnalysesKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 3))
	ns := playtest.New(t)
	createServices(t, ns, "active", "preview")
	createTemplate(t, ns, "smoke")
	ns.PassAnalysisRuns()
	ns.StartController()
	ns.CreateRollout(judged(before, behind))
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	ns.Patch("web", `{"spec":{"strategy":{"blueGreen":{"scaleDownDelaySeconds":2}}}}`)
	history := ns.Record()
	for image := 2; image <= 4; image++ {
		ns.SetImage("web", fmt.Sprintf("nginx:%d", image))
		history.KillWhileMoving(random, 4, 8)
	}
	ns.WaitForRollout("web", "to be Healthy on the last version", both(playtest.Healthy, pods(2)))
	checkCutover(t, history.Stop(), "active", 2)

	ns.RestartsQuietly(func() map[string]string { return writesOf(ns) })
}

// writesOf are the resourceVersions of all that the controller writes.
func writesOf(ns *playtest.Namespace) map[string]string {
	versions := ns.Versions()
	for _, run := range ns.AnalysisRuns() {
		versions["AnalysisRun "+run.Name] = run.ResourceVersion
	}
	return versions
}
