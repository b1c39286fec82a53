package view_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/view"
)

// experiment is one with two templates and two analyses, of which one makes Jobs.
func experiment(owner types.UID) view.Objects {
	exp := &v1alpha1.Experiment{
		ObjectMeta: metav1.ObjectMeta{
			Name: "compare", Namespace: "shop", UID: "exp", CreationTimestamp: ago(5 * time.Minute),
			Annotations: map[string]string{v1alpha1.RevisionAnnotation: "2"}, OwnerReferences: owned(owner),
		},
		Spec: v1alpha1.ExperimentSpec{
			Duration:  "10m",
			Templates: []v1alpha1.TemplateSpec{{Name: "baseline"}, {Name: "candidate"}},
		},
		Status: v1alpha1.ExperimentStatus{Phase: v1alpha1.AnalysisPhaseRunning, AvailableAt: ptr.To(ago(4 * time.Minute))},
	}
	w := canaryWorld(1).
		version(1, "candidate", "registry.example.com/shop/frontend/web-server:2026-03-04", 2, waiting("CreateContainerConfigError", "secret \"s\" not found")).
		version(2, "baseline", "registry.example.com/shop/frontend/web-server:2026-03-03", 1)
	for i, template := range []string{"candidate", "baseline"} {
		w.ReplicaSets[i].Name = "compare-" + template
		w.ReplicaSets[i].OwnerReferences = owned(exp.UID)
		w.ReplicaSets[i].Annotations[v1alpha1.ExperimentTemplateNameAnnotation] = template
	}
	jobs := analysisRun("compare-load", exp.UID, v1alpha1.AnalysisPhaseRunning)
	jobs.Status.MetricResults = []v1alpha1.MetricResult{{
		Name: "load", Successful: 1, Measurements: []v1alpha1.Measurement{
			measured("Successful", "compare-load.load.1", 3*time.Minute), measured("Running", "compare-load.load.2", 40*time.Second),
		},
	}}
	return view.Objects{
		Experiment: exp, ReplicaSets: w.ReplicaSets, Pods: w.Pods,
		AnalysisRuns: []*v1alpha1.AnalysisRun{analysisRun("compare-errors", exp.UID, v1alpha1.AnalysisPhaseRunning), jobs},
	}
}

func owned(by types.UID) []metav1.OwnerReference {
	return []metav1.OwnerReference{{UID: by, Controller: ptr.To(true)}}
}

func measured(phase v1alpha1.AnalysisPhase, job string, since time.Duration) v1alpha1.Measurement {
	return v1alpha1.Measurement{Phase: phase, StartedAt: ptr.To(ago(since)), Metadata: map[string]string{"job-name": job}}
}

// analysisRun is one that has measured something of everything, once in vain: that does not count.
func analysisRun(name string, owner types.UID, phase v1alpha1.AnalysisPhase) *v1alpha1.AnalysisRun {
	return &v1alpha1.AnalysisRun{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "shop", UID: types.UID(name), CreationTimestamp: ago(4 * time.Minute),
			Annotations: map[string]string{v1alpha1.RevisionAnnotation: "2"}, OwnerReferences: owned(owner),
		},
		Status: v1alpha1.AnalysisRunStatus{Phase: phase, MetricResults: []v1alpha1.MetricResult{
			{Name: "errors", Phase: phase, Successful: 12, Failed: 1, Error: 2, Measurements: []v1alpha1.Measurement{
				{Phase: v1alpha1.AnalysisPhaseSuccessful, Value: "[0.01]"},
				{
					Phase: v1alpha1.AnalysisPhaseSuccessful, Value: "[0.02]", FinishedAt: new(ago(10 * time.Second)),
					Metadata: map[string]string{"asked": "query `sum(rate(errors[5m]))` at http://prometheus"},
				},
			}},
			{Name: "latency", Phase: v1alpha1.AnalysisPhaseRunning, Successful: 3, Inconclusive: 1, Measurements: []v1alpha1.Measurement{
				{Phase: v1alpha1.AnalysisPhaseError, Message: "query `target=latency` at http://graphite: no answer within 10s", StartedAt: new(ago(20 * time.Second))},
			}},
			{Name: "new", DryRun: true, Failed: 9},
		}},
	}
}

// A canary with all that can belong to it.
func judged() *world {
	w := canaryWorld(2, weight(50), v1alpha1.CanaryStep{Experiment: &v1alpha1.RolloutExperimentStep{}}).
		status(v1alpha1.RolloutPhaseProgressing, "waiting for all steps to complete").step(1).hashes("6d9f7c5b8d", "5b94c8d7f6").
		version(1, "5b94c8d7f6", "registry.example.com/shop/frontend/web-server:2026-03-03", 1).
		version(2, "6d9f7c5b8d", "registry.example.com/shop/frontend/web-server:2026-03-04", 1)
	its := experiment(w.Rollout.UID)
	w.Experiments = []*v1alpha1.Experiment{its.Experiment}
	w.ReplicaSets = append(w.ReplicaSets, its.ReplicaSets...)
	w.Pods = append(w.Pods, its.Pods...)
	failed := analysisRun("web-6d9f7c5b8d-2-0", "ro", v1alpha1.AnalysisPhaseFailed)
	failed.Status.Message = `Metric "errors" assessed Failed due to failed (1) > failureLimit (0)`
	w.AnalysisRuns = slices.Concat(its.AnalysisRuns, []*v1alpha1.AnalysisRun{
		failed, analysisRun("another", "somebody-else", v1alpha1.AnalysisPhaseRunning),
		analysisRun("web-6d9f7c5b8d-2", "ro", v1alpha1.AnalysisPhaseInconclusive),
	})
	return w
}

func TestExperiment(t *testing.T) {
	ended := experiment("")
	ended.Experiment.Status.Phase = v1alpha1.AnalysisPhaseFailed
	ended.Experiment.Status.Message = "Template 'candidate' exceeded its progressDeadlineSeconds (600)"
	for name, p := range map[string]view.Picture{
		"experiment":       view.Look(experiment(""), now),
		"experiment-ended": view.Look(ended, now),
		"canary-judged":    view.Look(judged().Objects, now),
	} {
		for _, columns := range []int{80, 120, 200} {
			golden(t, fmt.Sprintf("%s-%d.txt", name, columns), p.Text(view.TextOptions{Width: columns}))
		}
		golden(t, name+"-pipe.txt", p.Text(view.TextOptions{})+"\n"+p.Summary()+"\n")
	}
}
