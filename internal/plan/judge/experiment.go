package judge

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/world"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// PassedExperiment reports whether the Experiment of the current step has ended well, or else what it waits for. It begins when the
// status has the step, as all that steps do.
func (j *Judge) PassedExperiment(s spec.RunExperiment) (passed bool, missing string) {
	name := j.update.Is.Canary.CurrentExperiment
	if name == "" && !j.update.StepRecorded() {
		return false, "the experiment begins now"
	}
	ex := j.world.Experiment(name)
	if ex == nil { // none yet, or someone deleted it
		return false, j.startExperiment(s)
	}
	switch ex.Status.Phase {
	case v1alpha1.AnalysisPhaseSuccessful:
		return true, ""
	case v1alpha1.AnalysisPhaseFailed, v1alpha1.AnalysisPhaseError:
		j.update.Failure = "Experiment analysis phase is error/failed"
		if ex.Status.Message != "" {
			j.update.Failure += ": " + ex.Status.Message
		}
		return false, j.update.Failure
	case v1alpha1.AnalysisPhaseInconclusive:
		resumed, missing := j.update.Hold(v1alpha1.PauseReasonInconclusiveExperiment, spec.Pause{Indefinite: true})
		if !resumed {
			return false, "experiment " + name + " is inconclusive: " + missing
		}
		return false, j.startExperiment(s)
	case v1alpha1.AnalysisPhasePending, v1alpha1.AnalysisPhaseRunning, "":
	}
	missing = fmt.Sprintf("experiment %s is %s", name, cmp.Or(ex.Status.Phase, v1alpha1.AnalysisPhasePending))
	if ex.Status.Message != "" {
		missing += ": " + ex.Status.Message
	}
	return false, missing
}

// startExperiment begins the Experiment of the current step under the first name that is free, and returns what is waited for then. One
// that goes on and is the very same was begun by a pass that could not record it.
func (j *Judge) startExperiment(s spec.RunExperiment) string {
	switch {
	case j.world.Stable == nil: // what was resumed is not to pause it again
		j.update.Is.Canary.CurrentExperiment = ""
		return "the stable version has no ReplicaSet to copy"
	case j.world.New == nil: // a user deleted it; this reconcile creates it again
		return "the new version has no ReplicaSet to copy yet"
	}
	ex, problems := j.newExperiment(s)
	if len(problems) > 0 {
		j.update.Complain(problems)
		return "the experiment cannot start: " + problems[0].String()
	}
	if going := j.experimentUnderWay(ex); going != nil {
		j.update.Is.Canary.CurrentExperiment = going.Name
		return "experiment " + going.Name + " has started"
	}
	base := ex.Name
	for i := 1; j.world.IsTaken(ex.Name); i++ {
		ex.Name = fmt.Sprintf("%s-%d", base, i)
	}
	if refusal := j.world.ExperimentFailure(ex.Name); refusal != nil {
		j.update.Complain([]spec.Problem{{Field: s.Resolved.Field, Text: fmt.Sprintf("Experiment %q was refused: %s", ex.Name, refusal.Message)}})
		j.journal.WakeAt(j.world.Now.Add(world.CreateRetry))
		return "the API server refused the Experiment"
	}
	j.draft.Judge = append(j.draft.Judge, change.CreateExperiment{Experiment: ex})
	j.journal.Note(change.TopicJudge, "begin experiment "+ex.Name, s.Resolved.Field)
	j.journal.Event(v1alpha1.EventExperimentCreated, "Created Experiment '%s'", ex.Name)
	j.update.Is.Canary.CurrentExperiment = ex.Name
	return "experiment " + ex.Name + " has started"
}

// experimentUnderWay is the Experiment that is wanted under whatever name of the step it was begun, nil if there is none: which names are
// taken by others is not known before they are tried.
func (j *Judge) experimentUnderWay(want *v1alpha1.Experiment) *v1alpha1.Experiment {
	return analysis.FirstNamed(j.world.Experiments, func(ex *v1alpha1.Experiment) bool {
		return j.OfStep(ex.Name) && ex.DeletionTimestamp == nil && !analysis.Ended(ex.Status.Phase) && equality.Semantic.DeepEqual(ex.Spec, want.Spec)
	})
}

// newExperiment is the Experiment of the current step, under the first name that it may have. Its pods are those of the two versions, as
// users wrote them: without what pods carry for the part that a version plays.
func (j *Judge) newExperiment(s spec.RunExperiment) (*v1alpha1.Experiment, []spec.Problem) {
	var problems []spec.Problem
	argument := func(arg v1alpha1.AnalysisRunArgument) string {
		from := arg.ValueFrom
		switch {
		case from == nil:
			return arg.Value
		case from.PodTemplateHashValue != nil && *from.PodTemplateHashValue == v1alpha1.ValueFromStable:
			return j.update.Is.StableRS
		case from.PodTemplateHashValue != nil:
			return j.update.Is.CurrentPodHash
		}
		value, err := analysis.Field(j.world.Rollout, from.FieldRef.FieldPath)
		if err != nil {
			problems = append(problems, spec.Problem{Field: s.Resolved.Field + ".analyses", Text: fmt.Sprintf("argument %q: fieldRef %q: %s", arg.Name, from.FieldRef.FieldPath, err)})
		}
		return value
	}
	version := func(v *world.Version) spec.Version {
		return spec.Version{Template: spec.Bare(v.ReplicaSet), MinReadySeconds: v.Spec.MinReadySeconds}
	}
	labels := map[string]string{v1alpha1.PodTemplateHashLabel: j.update.Is.CurrentPodHash}
	if id, ok := j.world.Rollout.Labels[v1alpha1.InstanceIDLabel]; ok {
		labels[v1alpha1.InstanceIDLabel] = id
	}
	return &v1alpha1.Experiment{
		ObjectMeta: metav1.ObjectMeta{
			Name:            j.experimentName(),
			Namespace:       j.world.Rollout.Namespace,
			Labels:          labels,
			Annotations:     map[string]string{v1alpha1.RevisionAnnotation: j.update.Revision()},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(j.world.Rollout, v1alpha1.RolloutGVK)},
		},
		Spec: s.Spec(version(j.world.Stable), version(j.world.New), argument),
	}, problems
}

// experimentName is the first name that the Experiment of the current step may have.
func (j *Judge) experimentName() string { return j.runName("-" + strconv.Itoa(int(j.update.At()))) }

// OfStep reports whether an Experiment's name is one that the current step gives.
func (j *Judge) OfStep(name string) bool {
	number, suffixed := strings.CutPrefix(name, j.experimentName()+"-")
	_, err := strconv.Atoi(number)
	return name == j.experimentName() || suffixed && err == nil
}

// dropExperiment forgets an Experiment that is not of the current step, as when a person skips one, and the pause that it led to.
func (j *Judge) dropExperiment(c spec.Canary) {
	running := false
	if j.update.At() < j.world.StepCount() {
		_, running = c.Steps[j.update.At()].(spec.RunExperiment)
	}
	if !running || !j.OfStep(j.update.Is.Canary.CurrentExperiment) {
		j.update.Is.Canary.CurrentExperiment = ""
	}
	ex := j.world.Experiment(j.update.Is.Canary.CurrentExperiment)
	if !j.update.PausedSince(v1alpha1.PauseReasonInconclusiveExperiment).IsZero() && (ex == nil || ex.Status.Phase != v1alpha1.AnalysisPhaseInconclusive) {
		j.update.EndPause(v1alpha1.PauseReasonInconclusiveExperiment)
	}
}

// EndExperiments ends the Experiments that nothing waits for any more.
func (j *Judge) EndExperiments() {
	if j.update.State() == progress.Settled {
		j.update.Is.Canary.CurrentExperiment = ""
	}
	for _, ex := range j.world.Experiments {
		if analysis.Ended(ex.Status.Phase) || ex.Spec.Terminate || ex.DeletionTimestamp != nil {
			continue
		}
		reason := j.noUseForExperiment(ex)
		if reason == "" {
			continue
		}
		to := ex.DeepCopy()
		to.Spec.Terminate = true
		j.endFirst(change.TerminateExperiment{From: ex, To: to})
		j.journal.Note(change.TopicJudge, "end experiment "+ex.Name, reason)
	}
}

// noUseForExperiment is why an Experiment is of no use, empty if it is of use.
func (j *Judge) noUseForExperiment(ex *v1alpha1.Experiment) string {
	current := j.update.Is.Canary.CurrentExperiment
	switch why := j.noJudging(); {
	case why != "":
		return why
	case current == "" && j.OfStep(ex.Name) && !j.update.Begun && !j.update.Retried: // a pass that could not record it made it, and it will be found
		return ""
	case current != ex.Name:
		return "nothing waits for it any more"
	}
	return ""
}

// experimenting reports whether an Experiment is under way that the update waits for.
func (j *Judge) experimenting() bool {
	ex := j.world.Experiment(j.update.Is.Canary.CurrentExperiment)
	return ex != nil && !analysis.Ended(ex.Status.Phase)
}
