package spec

import "github.com/sluice-delivery/sluice/api/v1alpha1"

// Analysis is an analysis that the Rollout asks for.
type Analysis struct {
	v1alpha1.RolloutAnalysis
	// Field is where the spec asks for it.
	Field string
	// Endless: it may measure until it is stopped.
	Endless bool
}

// RunAnalysis holds the canary where it is until an analysis has passed.
type RunAnalysis struct{ Analysis }

func (RunAnalysis) String() string { return "analysis" }

// RunHistory is how many AnalysisRuns are kept when they have ended and play no part any more.
type RunHistory struct{ Successful, Unsuccessful int }

func (p *problems) runHistory(a *v1alpha1.AnalysisRunStrategy) RunHistory {
	if a == nil {
		a = &v1alpha1.AnalysisRunStrategy{}
	}
	successful := orDefault(a.SuccessfulRunHistoryLimit, v1alpha1.DefaultRunHistoryLimit)
	unsuccessful := orDefault(a.UnsuccessfulRunHistoryLimit, v1alpha1.DefaultRunHistoryLimit)
	if successful < 0 {
		p.add("spec.analysis.successfulRunHistoryLimit", "%d is negative: write 0 or more", successful)
	}
	if unsuccessful < 0 {
		p.add("spec.analysis.unsuccessfulRunHistoryLimit", "%d is negative: write 0 or more", unsuccessful)
	}
	return RunHistory{Successful: int(successful), Unsuccessful: int(unsuccessful)}
}

// analysis resolves an analysis that must come to an end, nil for none.
func (p *problems) analysis(field string, a *v1alpha1.RolloutAnalysis) *Analysis {
	if a == nil {
		return nil
	}
	if len(a.Templates) == 0 {
		p.add(field+".templates", `name at least one AnalysisTemplate under templates, as "- templateName: <name>"`)
	}
	for i, arg := range a.Args {
		from := arg.ValueFrom
		if from != nil && (from.PodTemplateHashValue != nil) == (from.FieldRef != nil) {
			p.add(field+".args", "argument %q (number %d): set exactly one of podTemplateHashValue and fieldRef", arg.Name, i+1)
		}
	}
	return &Analysis{RolloutAnalysis: *a, Field: field}
}

// promotionAnalyses resolves the analyses before and after the switch. A delay that is set ends the one after the switch. A
// delay of 0 leaves no time to measure anything, and does not end it.
func (p *problems) promotionAnalyses(out *BlueGreen, b *v1alpha1.BlueGreenStrategy) {
	out.PrePromotion = p.analysis(blueGreenField+".prePromotionAnalysis", b.PrePromotionAnalysis)
	out.PostPromotion = p.analysis(blueGreenField+".postPromotionAnalysis", b.PostPromotionAnalysis)
	if b.ScaleDownDelaySeconds != nil {
		out.PostPromotionLimit = out.ScaleDownDelay
	}
}

// Analyses are all analyses that the spec asks for.
func (r Rollout) Analyses() []Analysis {
	var all []Analysis
	add := func(a *Analysis) {
		if a != nil {
			all = append(all, *a)
		}
	}
	switch s := r.Strategy.(type) {
	case Canary:
		add(s.Background)
		for _, step := range s.Steps {
			if a, ok := step.(RunAnalysis); ok {
				add(&a.Analysis)
			}
		}
	case BlueGreen:
		add(s.PrePromotion)
		add(s.PostPromotion)
	}
	return all
}

// background resolves the analysis beside the steps, which ends with the update at the latest and so need have no end of its own.
func (p *problems) background(out *Canary, a *v1alpha1.RolloutAnalysisBackground) {
	if a == nil {
		return
	}
	out.Background = p.analysis(canaryField+".analysis", &a.RolloutAnalysis)
	out.Background.Endless = true
	out.BackgroundStep = orDefault(a.StartingStep, 0)
	if out.BackgroundStep < 0 {
		p.add(canaryField+".analysis.startingStep", "%d is negative: write the index of a step, counting from 0", out.BackgroundStep)
	}
}
