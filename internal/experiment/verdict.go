package experiment

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
	"github.com/sluice-delivery/sluice/internal/change"
)

// What an Experiment says that ended before its time. The first is wire format.
const (
	messageRequired   = "Required AnalysisRuns completed"
	messageTerminated = "Experiment terminated"
)

// decide says whether the Experiment is over, and how it went: the first line that fits.
func (p *pass) decide() {
	template, verdict := p.worstTemplate(), p.worstVerdict()
	switch {
	case template != nil:
		p.end(phaseFor(template.is.Status), template.is.Message)
	case verdict != nil:
		p.end(verdict.Phase, cmp.Or(verdict.Message, fmt.Sprintf("AnalysisRun %s is %s", verdict.AnalysisRun, verdict.Phase)))
	case p.spec.Terminate:
		p.end(v1alpha1.AnalysisPhaseSuccessful, messageTerminated)
	case p.requiredPassed():
		p.end(v1alpha1.AnalysisPhaseSuccessful, messageRequired)
	case p.is.AvailableAt == nil && !p.allRunning():
		p.is.Phase, p.is.Message = v1alpha1.AnalysisPhasePending, ""
	default:
		p.goOn()
	}
}

// goOn runs the Experiment until its time is over, and then for as long as a required analysis takes: its pods are what is measured.
func (p *pass) goOn() {
	if p.is.AvailableAt == nil {
		p.is.AvailableAt = new(p.nowOrLater())
	}
	p.is.Phase, p.is.Message = v1alpha1.AnalysisPhaseRunning, ""
	if !p.spec.Timed {
		p.journal.Note(change.TopicWait, "the end", "there is no duration: until an analysis or a user ends it")
		return
	}
	end := p.is.AvailableAt.Add(p.spec.Duration)
	if p.Now.Before(end) {
		p.journal.WakeAt(end)
		p.journal.Note(change.TopicWait, "the end", "at "+end.UTC().Format(time.RFC3339))
		return
	}
	p.finishTemplates()
	if waiting := p.requiredUnderWay(); waiting != "" {
		p.journal.Note(change.TopicWait, "the end", "its time is over, and it waits for the required analysis "+waiting)
		return
	}
	p.end(v1alpha1.AnalysisPhaseSuccessful, "")
}

func (p *pass) end(phase v1alpha1.AnalysisPhase, message string) {
	p.finishTemplates()
	p.is.Phase, p.is.Message = phase, message
	p.journal.Note(change.TopicUpdate, "the Experiment is "+string(phase), message)
}

// finishTemplates ends those well that did not end badly.
func (p *pass) finishTemplates() {
	for _, t := range p.templates {
		if !finished(t.is.Status) {
			p.finish(t, v1alpha1.TemplateStatusSuccessful, "")
		}
	}
}

func (p *pass) allRunning() bool {
	return !slices.ContainsFunc(p.templates, func(t *template) bool { return t.is.Status != v1alpha1.TemplateStatusRunning })
}

// worstTemplate is one that ended badly, the worst; nil if none did.
func (p *pass) worstTemplate() *template {
	var found *template
	for _, t := range p.templates {
		bad := t.is.Status == v1alpha1.TemplateStatusFailed || t.is.Status == v1alpha1.TemplateStatusError
		if bad && (found == nil || badness(phaseFor(t.is.Status)) > badness(phaseFor(found.is.Status))) {
			found = t
		}
	}
	return found
}

func phaseFor(status v1alpha1.TemplateStatusCode) v1alpha1.AnalysisPhase {
	if status == v1alpha1.TemplateStatusError {
		return v1alpha1.AnalysisPhaseError
	}
	return v1alpha1.AnalysisPhaseFailed
}

// worstVerdict is that of an analysis that did not end well, the worst; nil if there is none.
func (p *pass) worstVerdict() *v1alpha1.ExperimentAnalysisRunStatus {
	var found *v1alpha1.ExperimentAnalysisRunStatus
	for i := range p.is.AnalysisRuns {
		v := &p.is.AnalysisRuns[i]
		if badness(v.Phase) > 0 && (found == nil || badness(v.Phase) > badness(found.Phase)) {
			found = v
		}
	}
	return found
}

// badness orders the phases in which things do not end well.
func badness(phase v1alpha1.AnalysisPhase) int {
	switch phase {
	case v1alpha1.AnalysisPhaseInconclusive:
		return 1
	case v1alpha1.AnalysisPhaseError:
		return 2
	case v1alpha1.AnalysisPhaseFailed:
		return 3
	case v1alpha1.AnalysisPhaseSuccessful, v1alpha1.AnalysisPhasePending, v1alpha1.AnalysisPhaseRunning, "":
	}
	return 0
}

// requiredPassed reports whether there are required analyses and all have passed.
func (p *pass) requiredPassed() bool {
	required := false
	for _, a := range p.spec.Analyses {
		if !a.Required {
			continue
		}
		required = true
		if v := p.verdictOf(a.Name); v == nil || v.Phase != v1alpha1.AnalysisPhaseSuccessful {
			return false
		}
	}
	return required
}

// requiredUnderWay is a required analysis that has not ended, empty for none.
func (p *pass) requiredUnderWay() string {
	for _, a := range p.spec.Analyses {
		if v := p.verdictOf(a.Name); a.Required && (v == nil || !analysis.Ended(v.Phase)) {
			return a.Name
		}
	}
	return ""
}
