package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// The Experiments of a canary's steps. The status has the name of the current one, and the object itself tells how it goes.

// passedExperiment reports whether the Experiment of the current step has ended well, or else what it waits for. It begins when the
// status has the step, as all that steps do.
func (p *pass) passedExperiment(s spec.RunExperiment) (passed bool, missing string) {
	name := p.is.Canary.CurrentExperiment
	if name == "" && !p.stepRecorded() {
		return false, "the experiment begins now"
	}
	ex := p.experiment(name)
	if ex == nil { // none yet, or someone deleted it
		return false, p.startExperiment(s)
	}
	switch ex.Status.Phase {
	case v1alpha1.AnalysisPhaseSuccessful:
		return true, ""
	case v1alpha1.AnalysisPhaseFailed, v1alpha1.AnalysisPhaseError:
		p.failure = "Experiment analysis phase is error/failed"
		if ex.Status.Message != "" {
			p.failure += ": " + ex.Status.Message
		}
		return false, p.failure
	case v1alpha1.AnalysisPhaseInconclusive:
		resumed, missing := p.hold(v1alpha1.PauseReasonInconclusiveExperiment, spec.Pause{Indefinite: true})
		if !resumed {
			return false, "experiment " + name + " is inconclusive: " + missing
		}
		return false, p.startExperiment(s)
	case v1alpha1.AnalysisPhasePending, v1alpha1.AnalysisPhaseRunning, "":
	}
	missing = fmt.Sprintf("experiment %s is %s", name, cmp.Or(ex.Status.Phase, v1alpha1.AnalysisPhasePending))
	if ex.Status.Message != "" {
		missing += ": " + ex.Status.Message
	}
	return false, missing
}

func (p *pass) experiment(name string) *v1alpha1.Experiment {
	for _, ex := range p.Experiments {
		if ex.Name == name && ex.DeletionTimestamp == nil {
			return ex
		}
	}
	return nil
}

// startExperiment begins the Experiment of the current step under the first name that is free, and returns what is waited for then. One
// that goes on and is the very same was begun by a pass that could not record it.
func (p *pass) startExperiment(s spec.RunExperiment) string {
	switch {
	case p.stable == nil: // what was resumed is not to pause it again
		p.is.Canary.CurrentExperiment = ""
		return "the stable version has no ReplicaSet to copy"
	case p.new == nil: // somebody deleted it; this pass makes it anew
		return "the new version has no ReplicaSet to copy yet"
	}
	ex, problems := p.newExperiment(s)
	if len(problems) > 0 {
		p.complain(problems)
		return "the experiment cannot be begun: " + problems[0].String()
	}
	if going := p.experimentUnderWay(ex); going != nil {
		p.is.Canary.CurrentExperiment = going.Name
		return "experiment " + going.Name + " has begun"
	}
	base := ex.Name
	for i := 1; p.isTaken(ex.Name); i++ {
		ex.Name = fmt.Sprintf("%s-%d", base, i)
	}
	if refusal := p.experimentFailure(ex.Name); refusal != nil {
		p.complain([]spec.Problem{{Field: s.Resolved.Field, Text: fmt.Sprintf("Experiment %q was refused: %s", ex.Name, refusal.Message)}})
		p.WakeAt(p.Now.Add(createRetry))
		return "the API server refused the Experiment"
	}
	p.judge = append(p.judge, change.CreateExperiment{Experiment: ex, Reason: s.Resolved.Field})
	p.Note(change.TopicJudge, "begin experiment "+ex.Name, s.Resolved.Field)
	p.Event(v1alpha1.EventExperimentCreated, "Created Experiment '%s'", ex.Name)
	p.is.Canary.CurrentExperiment = ex.Name
	return "experiment " + ex.Name + " has begun"
}

// experimentUnderWay is the Experiment that is wanted under whatever name of the step it was begun, nil if there is none: which names are
// taken by others is not known before they are tried.
func (p *pass) experimentUnderWay(want *v1alpha1.Experiment) *v1alpha1.Experiment {
	return analysis.FirstNamed(p.Experiments, func(ex *v1alpha1.Experiment) bool {
		return p.ofStep(ex.Name) && ex.DeletionTimestamp == nil && !analysis.Ended(ex.Status.Phase) && equality.Semantic.DeepEqual(ex.Spec, want.Spec)
	})
}

// isTaken reports whether an Experiment's name is another object's, or that of one before it.
func (p *pass) isTaken(name string) bool {
	failure := p.experimentFailure(name)
	return failure != nil && failure.Taken || slices.ContainsFunc(p.Experiments, func(ex *v1alpha1.Experiment) bool { return ex.Name == name })
}

func (p *pass) experimentFailure(name string) *change.CreateFailure {
	for i := range p.ExperimentFailures {
		if p.ExperimentFailures[i].Name == name {
			return &p.ExperimentFailures[i]
		}
	}
	return nil
}

// newExperiment is the Experiment of the current step, under the first name that it may have. Its pods are those of the two versions, as
// users wrote them: without what pods carry for the part that a version plays.
func (p *pass) newExperiment(s spec.RunExperiment) (*v1alpha1.Experiment, []spec.Problem) {
	var problems []spec.Problem
	argument := func(arg v1alpha1.AnalysisRunArgument) string {
		from := arg.ValueFrom
		switch {
		case from == nil:
			return arg.Value
		case from.PodTemplateHashValue != nil && *from.PodTemplateHashValue == v1alpha1.ValueFromStable:
			return p.is.StableRS
		case from.PodTemplateHashValue != nil:
			return p.is.CurrentPodHash
		}
		value, err := analysis.Field(p.Rollout, from.FieldRef.FieldPath)
		if err != nil {
			problems = append(problems, spec.Problem{Field: s.Resolved.Field + ".analyses", Text: fmt.Sprintf("argument %q: fieldRef %q: %s", arg.Name, from.FieldRef.FieldPath, err)})
		}
		return value
	}
	version := func(v *version) spec.Version {
		return spec.Version{Template: spec.Bare(v.ReplicaSet), MinReadySeconds: v.Spec.MinReadySeconds}
	}
	labels := map[string]string{v1alpha1.PodTemplateHashLabel: p.is.CurrentPodHash}
	if id, ok := p.Rollout.Labels[v1alpha1.InstanceIDLabel]; ok {
		labels[v1alpha1.InstanceIDLabel] = id
	}
	return &v1alpha1.Experiment{
		ObjectMeta: metav1.ObjectMeta{
			Name:            p.experimentName(),
			Namespace:       p.Rollout.Namespace,
			Labels:          labels,
			Annotations:     map[string]string{v1alpha1.RevisionAnnotation: p.revision()},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(p.Rollout, v1alpha1.RolloutGVK)},
		},
		Spec: s.Spec(version(p.stable), version(p.new), argument),
	}, problems
}

// experimentName is the first name that the Experiment of the current step may have.
func (p *pass) experimentName() string { return p.runName("-" + strconv.Itoa(int(p.at()))) }

// ofStep reports whether an Experiment's name is one that the current step gives.
func (p *pass) ofStep(name string) bool {
	number, suffixed := strings.CutPrefix(name, p.experimentName()+"-")
	_, err := strconv.Atoi(number)
	return name == p.experimentName() || suffixed && err == nil
}

// dropExperiment forgets an Experiment that is not of the current step, as when a person skips one, and the pause that it led to.
func (p *pass) dropExperiment(c spec.Canary) {
	running := false
	if p.at() < p.stepCount() {
		_, running = c.Steps[p.at()].(spec.RunExperiment)
	}
	if !running || !p.ofStep(p.is.Canary.CurrentExperiment) {
		p.is.Canary.CurrentExperiment = ""
	}
	ex := p.experiment(p.is.Canary.CurrentExperiment)
	if !p.pausedSince(v1alpha1.PauseReasonInconclusiveExperiment).IsZero() && (ex == nil || ex.Status.Phase != v1alpha1.AnalysisPhaseInconclusive) {
		p.endPause(v1alpha1.PauseReasonInconclusiveExperiment)
	}
}

// endExperiments ends the Experiments that nothing waits for any more.
func (p *pass) endExperiments() {
	if p.promoted() {
		p.is.Canary.CurrentExperiment = ""
	}
	for _, ex := range p.Experiments {
		if analysis.Ended(ex.Status.Phase) || ex.Spec.Terminate || ex.DeletionTimestamp != nil {
			continue
		}
		reason := p.noUseForExperiment(ex)
		if reason == "" {
			continue
		}
		to := ex.DeepCopy()
		to.Spec.Terminate = true
		p.endFirst(change.TerminateExperiment{From: ex, To: to, Reason: reason})
		p.Note(change.TopicJudge, "end experiment "+ex.Name, reason)
	}
}

// noUseForExperiment is why an Experiment is of no use, empty if it is of use.
func (p *pass) noUseForExperiment(ex *v1alpha1.Experiment) string {
	current := p.is.Canary.CurrentExperiment
	switch {
	case p.is.Abort:
		return "the update was aborted"
	case p.promoted():
		return "the update is over"
	case p.is.PromoteFull:
		return "a full promotion was requested"
	case current == "" && p.ofStep(ex.Name) && !p.begun && !p.retried: // a pass that could not record it made it, and it will be found
		return ""
	case current != ex.Name:
		return "nothing waits for it any more"
	}
	return ""
}

func hasPods(ex *v1alpha1.Experiment) bool {
	for _, t := range ex.Status.TemplateStatuses {
		if t.Replicas > 0 {
			return true
		}
	}
	return false
}

// experimenting reports whether an Experiment is under way that the update waits for.
func (p *pass) experimenting() bool {
	ex := p.experiment(p.is.Canary.CurrentExperiment)
	return ex != nil && !analysis.Ended(ex.Status.Phase)
}
