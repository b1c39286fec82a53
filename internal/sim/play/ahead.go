package play

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/view"
)

// The most that is played ahead: a Rollout of someone else must not keep the process busy.
const (
	aheadPods       = 2000
	aheadEvents     = 20_000
	aheadPromotions = 25
	aheadMoments    = 200
)

// Ahead plays a Rollout on from where it was observed. Pods become ready after the given time, measurements pass, and where only a person can
// continue, someone promotes. After each promotion a new stretch begins, for nobody knows when that will be.
func Ahead(seen plan.Observed, startup time.Duration) (view.Outlook, error) {
	_, out, err := ahead(seen, startup)
	return out, err
}

func ahead(seen plan.Observed, startup time.Duration) (*player, view.Outlook, error) {
	if err := playable(seen); err != nil {
		return nil, view.Outlook{}, err
	}
	p := &player{
		Stage:    Stage{Rollout: seen.Rollout, Services: seen.Services, Templates: seen.Templates, Providers: providersOf(seen), PodStartup: startup},
		outcomes: map[string]*outcome{}, limit: aheadEvents,
	}
	p.world = sim.New(sim.Options{PodStart: startup})
	p.world.Adopt(seen)
	p.old, p.begun, p.started = seen.Rollout.Status.StableRS, p.world.Elapsed(), true
	out := view.Outlook{From: seen.Now, Startup: startup}
	end := func() {
		if moments := telling(p.moments); len(moments) > 0 {
			out.Stretches = append(out.Stretches, view.Stretch{Promoted: p.promotions > 0, Moments: moments})
		}
	}
	p.turn = func() bool {
		if p.promotions >= aheadPromotions {
			return false
		}
		end()
		p.moments, p.begun = nil, p.world.Elapsed()
		return true
	}
	p.charge()
	p.perform()
	end()
	if end := p.summarise().Summary; end.Promoted || end.Aborted || seen.Rollout.Status.CurrentPodHash != p.old {
		out.Result = end.Result()
	}
	switch {
	case p.spent():
		out.Cut = fmt.Sprintf("more than %d things happen", aheadEvents)
	case p.promotions >= aheadPromotions:
		out.Cut = fmt.Sprintf("someone promotes more than %d times", aheadPromotions)
	case p.since() >= longest:
		out.Cut = "it takes more than 14 days"
	}
	return p, out, nil
}

// playable reports what cannot be played.
func playable(seen plan.Observed) error {
	pods := int64(0)
	for _, rs := range slices.Concat(seen.ReplicaSets, seen.ExperimentSets) {
		pods += int64(rs.Status.Replicas)
	}
	if n := seen.Rollout.Spec.Replicas; n != nil {
		pods = max(pods, int64(*n))
	}
	if pods > aheadPods {
		return fmt.Errorf("%d pods are more than the %d that are played ahead", pods, aheadPods)
	}
	if ref := seen.Rollout.Spec.WorkloadRef; ref != nil {
		if kind, _ := spec.WorkloadKind(ref); kind != spec.Deployment {
			return fmt.Errorf("the pod template is in %s %q: only Deployments can be simulated", ref.Kind, ref.Name)
		}
	}
	return nil
}

// providersOf are the providers of all metrics: the controller has them, or the analysis would have failed already.
func providersOf(seen plan.Observed) []string {
	known := map[string]bool{}
	add := func(metrics []v1alpha1.Metric) {
		for i := range metrics {
			known[metric.NameOf(metrics[i].Provider)] = true
		}
	}
	for _, t := range seen.Templates {
		add(t.Metrics)
	}
	for _, run := range seen.AnalysisRuns {
		add(run.Spec.Metrics)
	}
	var names []string
	for name := range known {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// telling are the moments at which something is decided, or the update gets to another step, weight, or phase.
func telling(all []view.Moment) []view.Moment {
	var out []view.Moment
	for i, m := range all {
		same := i > 0 && m.Step == all[i-1].Step && m.StepsDone == all[i-1].StepsDone && m.Phase == all[i-1].Phase
		repeated := len(out) > 0 && slices.Equal(m.Done, out[len(out)-1].Done)
		if len(m.Done) == 0 && (i == 0 || same) || repeated && same {
			continue
		}
		if len(out) == aheadMoments {
			break
		}
		out = append(out, m)
	}
	return out
}
