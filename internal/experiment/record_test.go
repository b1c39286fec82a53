package experiment_test

import (
	"math"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/clean"
	"github.com/sluice-delivery/sluice/internal/experiment"
)

// What others wrote comes into the status escaped, and is not written again.
func TestStatusesSteerNoTerminal(t *testing.T) {
	run := &v1alpha1.AnalysisRun{}
	run.Name, run.Namespace, run.UID = "a-1", "team", "2"
	ex := &v1alpha1.Experiment{}
	ex.Name, ex.Namespace, ex.UID = "a", "team", "1"
	ex.Spec.Terminate = true
	ex.Spec.Templates = []v1alpha1.TemplateSpec{{Name: "\x1b[2J\u202eevil"}, {Name: "\x1b[2J\u202eevil"}}
	ex.Status.Phase = v1alpha1.AnalysisPhaseRunning
	ex.Status.AnalysisRuns = []v1alpha1.ExperimentAnalysisRunStatus{{Name: "a", AnalysisRun: "a-1", Message: "forged \x1b[31m"}}
	ex.Status.TemplateStatuses = []v1alpha1.TemplateStatus{{Name: ex.Spec.Templates[0].Name, Status: v1alpha1.TemplateStatusError, Message: "forged \x1b[31m"}}
	run.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(ex, v1alpha1.GroupVersion.WithKind(v1alpha1.KindExperiment))}
	run.Status.Phase, run.Status.Message = v1alpha1.AnalysisPhaseFailed, "the server says \x1b[31m"
	seen := experiment.Observed{Now: time.Unix(60, 0), Experiment: ex, AnalysisRuns: []*v1alpha1.AnalysisRun{run}}
	const most = 5
	for range most {
		next := experiment.Next(seen)
		if next.Record == nil {
			break
		}
		seen.Experiment = next.Record.To
	}
	s := seen.Experiment.Status
	texts := []string{s.Message}
	for _, c := range s.Conditions {
		texts = append(texts, c.Message)
	}
	for _, a := range s.AnalysisRuns {
		texts = append(texts, a.Message)
	}
	for _, of := range s.TemplateStatuses {
		texts = append(texts, of.Message)
	}
	if text := strings.Join(texts, "\n"); strings.ContainsFunc(text, clean.IsHidden) || !strings.Contains(text, `the server says \u001b`) {
		t.Errorf("the status says %q", text)
	}
	if again := experiment.Next(seen); again.Record != nil {
		t.Errorf("after %d passes the status is still written: %+v", most, again.Record.To.Status)
	}
}

// The worst verdict is the Experiment's, wherever it stands among the others: Failed before Error, Error before Inconclusive.
func TestTheWorstVerdictCounts(t *testing.T) {
	const inconclusive, broken, failed = v1alpha1.AnalysisPhaseInconclusive, v1alpha1.AnalysisPhaseError, v1alpha1.AnalysisPhaseFailed
	for _, better := range [][2]v1alpha1.AnalysisPhase{{inconclusive, broken}, {broken, failed}, {inconclusive, failed}} {
		for _, order := range [][2]int{{0, 1}, {1, 0}} {
			ex := &v1alpha1.Experiment{}
			ex.Name, ex.Namespace, ex.UID = "a", "team", "1"
			ex.Spec.Templates = []v1alpha1.TemplateSpec{{
				Name: "web", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}},
			}}
			ex.Status.Phase = v1alpha1.AnalysisPhaseRunning
			for _, i := range order {
				ex.Status.AnalysisRuns = append(ex.Status.AnalysisRuns, v1alpha1.ExperimentAnalysisRunStatus{Name: string(better[i]), AnalysisRun: string(better[i]), Phase: better[i]})
			}
			p := experiment.Next(experiment.Observed{Now: time.Unix(60, 0), Experiment: ex})
			if p.Record == nil || p.Record.To.Status.Phase != better[1] {
				t.Errorf("%v in the order %v: %+v", better, order, p)
			}
		}
	}
}

// If someone takes the names of an Experiment's ReplicaSets, or writes another count of them into its status, its template ends, but only
// after twenty names were tried; no reconcile loops without end.
func TestNamesThatAreTaken(t *testing.T) {
	for name, count := range map[string]*int32{"from the beginning": nil, "with a forged count": new(int32(math.MaxInt32)), "with a negative count": new(int32(-5))} {
		t.Run(name, func(t *testing.T) {
			ex := &v1alpha1.Experiment{}
			ex.Name, ex.Namespace, ex.UID = "a", "team", "1"
			ex.Spec.Templates = []v1alpha1.TemplateSpec{{
				Name: "web", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}},
			}}
			ex.Status.TemplateStatuses = []v1alpha1.TemplateStatus{{Name: "web", CollisionCount: count}}
			seen := experiment.Observed{Now: time.Unix(60, 0), Experiment: ex}
			for range 21 {
				next := experiment.Next(seen)
				if len(next.Grow) != 1 {
					t.Fatalf("after %d names it creates %d ReplicaSets: %+v", len(seen.CreateFailures), len(next.Grow), next.Record.To.Status)
				}
				if n, got := len(seen.CreateFailures), next.Record.To.Status.TemplateStatuses[0].CollisionCount; n > 0 && (got == nil || int(*got) != n) {
					t.Errorf("after %d names that are taken, the status counts %v", n, got)
				}
				set := next.Grow[0].(change.CreateReplicaSet).ReplicaSet
				seen.CreateFailures = append(seen.CreateFailures, experiment.CreateFailure{
					Kind: experiment.ReplicaSet, CreateFailure: change.CreateFailure{Name: set.Name, Taken: true, Message: "the name is taken"},
				})
			}
			next := experiment.Next(seen)
			if got := next.Record.To.Status.TemplateStatuses[0]; len(next.Grow) > 0 || got.Status != v1alpha1.TemplateStatusError || !strings.Contains(got.Message, "are taken by others: delete these ReplicaSets") {
				t.Errorf("%d more are created, and the status is %+v", len(next.Grow), got)
			}
		})
	}
}

// A ReplicaSet with the name that is going makes the template wait, and not fail.
func TestANameThatIsGoingIsWaitedFor(t *testing.T) {
	ex := &v1alpha1.Experiment{}
	ex.Name, ex.Namespace, ex.UID = "a", "team", "1"
	ex.Spec.Templates = []v1alpha1.TemplateSpec{{
		Name: "web", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}},
	}}
	seen := experiment.Observed{Now: time.Unix(60, 0), Experiment: ex}
	set := experiment.Next(seen).Grow[0].(change.CreateReplicaSet).ReplicaSet
	failure := change.CreateFailure{Name: set.Name, Leaving: true, Message: "it is being deleted"}
	seen.CreateFailures = []experiment.CreateFailure{{Kind: experiment.ReplicaSet, CreateFailure: failure}}
	next := experiment.Next(seen)
	if next.Record != nil && next.Record.To.Status.TemplateStatuses[0].Status == v1alpha1.TemplateStatusError {
		t.Errorf("the template fails: %+v", next.Record.To.Status.TemplateStatuses[0])
	}
	if len(next.Grow) > 0 || next.Wake.IsZero() {
		t.Errorf("it is created again, or not reconciled again: %+v, %s", next.Grow, next.Wake)
	}
}

// A Service that the API server refuses is told as that, and one whose name someone else has as that.
func TestServicesThatCannotBeCreated(t *testing.T) {
	for want, taken := range map[string]bool{"was refused: no more": false, "is there already and is not of this Experiment": true} {
		ex := &v1alpha1.Experiment{}
		ex.Name, ex.Namespace, ex.UID = "a", "team", "1"
		ex.Spec.Templates = []v1alpha1.TemplateSpec{{
			Name: "web", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, Service: &v1alpha1.TemplateService{Name: "web"},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Ports: []corev1.ContainerPort{{ContainerPort: 80}}}}},
			},
		}}
		failure := experiment.CreateFailure{Kind: experiment.Service, CreateFailure: change.CreateFailure{Name: "web", Taken: taken, Message: "no more"}}
		next := experiment.Next(experiment.Observed{Now: time.Unix(60, 0), Experiment: ex, CreateFailures: []experiment.CreateFailure{failure}})
		if got := next.Record.To.Status.TemplateStatuses[0]; got.Status != v1alpha1.TemplateStatusError || !strings.Contains(got.Message, want) {
			t.Errorf("the status is %+v, want one with %q", got, want)
		}
	}
}

// A template whose ReplicaSet is gone has no pods, whatever the status said of it.
func TestPodsOfAReplicaSetThatIsGoneAreNotCounted(t *testing.T) {
	ex := &v1alpha1.Experiment{}
	ex.Name, ex.Namespace, ex.UID = "a", "team", "1"
	ex.Spec.Templates = []v1alpha1.TemplateSpec{{
		Name: "web", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}},
	}}
	ex.Status.TemplateStatuses = []v1alpha1.TemplateStatus{{Name: "web", Replicas: 3, UpdatedReplicas: 3, ReadyReplicas: 3, AvailableReplicas: 3}}
	next := experiment.Next(experiment.Observed{Now: time.Unix(60, 0), Experiment: ex})
	if s := next.Record.To.Status.TemplateStatuses[0]; s.Replicas+s.UpdatedReplicas+s.ReadyReplicas+s.AvailableReplicas != 0 {
		t.Errorf("pods are counted that are not there: %+v", s)
	}
}

// Whether a plan is logged and traced depends on whether it writes anything, even if only to other objects.
func TestEveryWriteCounts(t *testing.T) {
	changes := []change.Change{change.DeleteService{}}
	for name, p := range map[string]experiment.Plan{
		"grow": {Grow: changes}, "route": {Route: changes}, "judge": {Judge: changes}, "shrink": {Shrink: changes}, "record": {Record: &experiment.Record{}},
	} {
		if !p.Writes() {
			t.Errorf("a plan with something to %s writes nothing", name)
		}
	}
	if (experiment.Plan{Wake: time.Now()}).Writes() {
		t.Error("a plan that only waits writes")
	}
}

// Only a Rollout has routers that may send to an Experiment's pods: of no other owner anything is read before they go.
func TestOnlyARolloutIsReadBeforePodsGo(t *testing.T) {
	ex := &v1alpha1.Experiment{}
	ex.Name, ex.Namespace, ex.UID = "demo", "team", "1"
	ex.Spec.Templates = []v1alpha1.TemplateSpec{{Name: "canary"}}
	ex.Status.Phase = v1alpha1.AnalysisPhaseSuccessful
	ex.Spec.ScaleDownDelaySeconds = new(int32(0))
	set := &appsv1.ReplicaSet{}
	set.Name, set.Namespace = "demo-canary", "team"
	set.Spec.Replicas = new(int32(1))
	set.Annotations = map[string]string{v1alpha1.ExperimentTemplateNameAnnotation: "canary"}
	set.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(ex, v1alpha1.GroupVersion.WithKind(v1alpha1.KindExperiment))}
	for kind, want := range map[string]bool{v1alpha1.KindRollout: true, "Workflow": false} {
		ex.OwnerReferences = []metav1.OwnerReference{{APIVersion: "argoproj.io/v1alpha1", Kind: kind, Name: "web", UID: "2", Controller: new(true)}}
		next := experiment.Next(experiment.Observed{Now: time.Unix(3600, 0), Experiment: ex, ReplicaSets: []*appsv1.ReplicaSet{set}})
		if next.NeedsRollout != want {
			t.Errorf("of a %s, the Rollout is read: %t", kind, next.NeedsRollout)
		}
	}
}
