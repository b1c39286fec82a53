package play

import (
	"fmt"
	"strings"

	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/view"
)

// summarise is the whole story, in numbers too.
func (p *player) summarise() view.Simulation {
	ro := p.world.Rollout()
	s := view.Simulation{Rollout: ro.Name, Strategy: "canary", Moments: p.moments, Measured: p.measures, Warnings: p.warnings}
	if ro.Spec.Strategy.BlueGreen != nil {
		s.Strategy = "blue-green"
	}
	end := view.Seconds(0)
	if n := len(p.moments); n > 0 {
		end = p.moments[n-1].At
	}
	s.Summary = view.Played{
		Phase: string(ro.Status.Phase), Message: p.readable(ro.Status.Message), Duration: end, MostPods: p.most, LeastAvailable: p.least, Passes: p.passes,
		Promoted: ro.Status.StableRS == ro.Status.CurrentPodHash && ro.Status.StableRS != p.old, Aborted: ro.Status.Abort,
	}
	written := ro
	if d := p.world.Deployment(); d != nil {
		written, _ = spec.WithWorkload(ro, d)
	}
	resolved, problems := spec.Resolve(written)
	problems = append(problems, spec.Policy{}.Problems(resolved)...)
	if canary, ok := resolved.Strategy.(spec.Canary); ok {
		for _, step := range canary.Steps {
			s.Steps = append(s.Steps, fmt.Sprint(step))
		}
	}
	if p.promotions > 0 {
		s.Warnings = append(s.Warnings, fmt.Sprintf("a user must promote %s; here it took no time", times(p.promotions)))
	}
	if !p.world.DueBesidesMeasuring().IsZero() {
		s.Warnings = append(s.Warnings, "things still happen after 14 days: the story ends there")
	}
	if len(problems) == 0 && resolved.Replicas == 0 {
		s.Warnings = append(s.Warnings, "with 0 replicas there is nothing to see: use --replicas")
	}
	if len(problems) > 0 && p.started {
		var texts []string
		for _, problem := range problems {
			texts = append(texts, problem.String())
		}
		s.Warnings = append(s.Warnings, "what stands in the spec in the end cannot be carried out: "+strings.Join(texts, "; "))
	}
	return s
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
