package explore

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/move"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// experimentRules check a history of Experiments while it goes on.
type experimentRules struct {
	lab    *laboratory
	passes int
	// over is when each Experiment was first seen to have ended, and began which run each analysis was begun as in its present attempt.
	over  map[types.UID]time.Time
	began map[string]types.UID
	// again are those that a user retried after they had ended.
	again map[types.UID]bool
	// measured is what was measured, and what became of it.
	measured *ledger
	// bulletin is what was told.
	bulletin *bulletin
	// bent: something was deleted by hand, and nothing has been at rest since.
	bent bool
}

func newExperimentRules(l *laboratory) experimentRules {
	return experimentRules{
		lab: l, over: map[types.UID]time.Time{}, began: map[string]types.UID{}, again: map[types.UID]bool{},
		measured: newLedger(l), bulletin: newBulletin(l),
	}
}

func (r *experimentRules) fail(rule, format string, args ...any) { r.lab.fail(rule, format, args...) }

// outside allows for what happened from outside: where something was deleted by hand, traffic may go nowhere for a while.
func (r *experimentRules) outside(deleted bool) {
	r.bent = r.bent || deleted
	r.see()
}

// see notes which Experiments are over, and forgets those that begin again.
func (r *experimentRules) see() {
	w := r.lab.world
	r.measured.see()
	for _, ex := range w.Experiments() {
		_, known := r.over[ex.UID]
		if known && ex.Status.Phase == "" {
			r.again[ex.UID] = true
		}
		switch ended := analysis.Ended(ex.Status.Phase); {
		case ended && !known:
			r.over[ex.UID] = w.Now()
		case !ended && known && len(ex.Status.TemplateStatuses) > 0: // a user retried it, and it has started: it is not refused
			delete(r.over, ex.UID)
			for _, a := range ex.Spec.Analyses {
				delete(r.began, string(ex.UID)+a.Name)
			}
		}
	}
}

// startOver notes that a process begins, which knows of nothing that was under way.
func (r *experimentRules) startOver() {
	r.measured.startOver()
	r.bulletin.startOver()
}

// watch is called after everything that happens, wrote after each write of a controller.
func (r *experimentRules) watch() { r.see() }

func (r *experimentRules) wrote() { r.see(); r.routed() }

// routed checks that no traffic goes to a version of an Experiment that is to have no pods.
func (r *experimentRules) routed() {
	w := r.lab.world
	if r.bent || w.Rollout() == nil {
		return
	}
	for service, weight := range r.shares() {
		if weight == 0 || !strings.HasPrefix(service, "web-") || service == canaryService || service == stableService {
			continue
		}
		hash := w.Selects(service)
		i := slices.IndexFunc(w.Versions(), func(v sim.Version) bool { return v.Hash == hash && v.Experiment != "" })
		if hash == "" || i < 0 || w.Versions()[i].Wanted == 0 {
			r.fail(move.Weight.Name, "%d %% of the traffic go to %s, which is to have no pods", weight, service)
		}
	}
}

// shares are the weights in the route.
func (r *experimentRules) shares() map[string]int64 {
	if route := r.lab.route("HTTPRoute"); route != nil {
		return sharesOf(route).by
	}
	return nil
}

// pass is called for each reconcile of the Rollout.
func (r *experimentRules) pass(p sim.Pass) {
	r.count("rollout", p.Outcome, p.Plan.Notes)
	begun := slices.ContainsFunc(p.Plan.Judge, func(c change.Change) bool { _, ok := c.(change.CreateExperiment); return ok })
	if !begun || !p.Whole() || r.bent {
		return
	}
	var live []string
	for _, ex := range r.lab.world.Experiments() {
		if !analysis.Ended(ex.Status.Phase) && !ex.Spec.Terminate && !r.again[ex.UID] {
			live = append(live, ex.Name)
		}
	}
	if len(live) > 1 {
		r.fail("twice", "%s go on at the same time", strings.Join(live, " and "))
	}
}

// planned checks what was decided about an Experiment, before it is done.
func (r *experimentRules) planned(p sim.ExperimentPass) {
	ex, now := p.Observed.Experiment, r.lab.world.Now()
	resolved, problems := spec.ResolveExperiment(ex)
	if len(problems) > 0 {
		return
	}
	for _, c := range slices.Concat(p.Plan.Grow, p.Plan.Shrink) {
		u, ok := c.(change.UpdateReplicaSet)
		if !ok {
			continue
		}
		r.size(ex, u.To)
		if over, ended := r.over[ex.UID]; replicas(u.From) > 0 && replicas(u.To) == 0 && ended && now.Before(over.Add(resolved.ScaleDownDelay)) {
			r.fail(move.Delay.Name, "%s loses its pods %s after the end, not %s", u.To.Name, now.Sub(over), resolved.ScaleDownDelay)
		}
	}
	for _, c := range p.Plan.Grow {
		if create, ok := c.(change.CreateReplicaSet); ok {
			r.size(ex, create.ReplicaSet)
		}
	}
	if record := p.Plan.Record; record != nil && !analysis.Ended(ex.Status.Phase) && record.To.Status.Phase == v1alpha1.AnalysisPhaseSuccessful {
		r.success(record.To, resolved)
	}
}

// size checks that no version gets more pods than it is to have.
func (r *experimentRules) size(ex *v1alpha1.Experiment, set *appsv1.ReplicaSet) {
	for _, t := range ex.Spec.Templates {
		if t.Name == set.Annotations[v1alpha1.ExperimentTemplateNameAnnotation] && replicas(set) > int(*t.Replicas) {
			r.fail("size", "%s gets %d pods, not %d", set.Name, replicas(set), *t.Replicas)
		}
	}
}

// success checks that an Experiment ends well only if nothing speaks against it, and not before its time.
func (r *experimentRules) success(ex *v1alpha1.Experiment, s spec.Experiment) {
	for _, v := range ex.Status.AnalysisRuns {
		run := r.run(v.AnalysisRun)
		if bad(v.Phase) || run != nil && bad(run.Status.Phase) && r.lab.stale == 0 && !r.lab.Shell {
			r.fail("verdict", "%s is Successful although %s is %s", ex.Name, v.AnalysisRun, v.Phase)
		}
	}
	if s.Terminate {
		return
	}
	required, passed := 0, 0
	for _, a := range s.Analyses {
		if !a.Required {
			continue
		}
		required++
		for _, v := range ex.Status.AnalysisRuns {
			if v.Name == a.Name && v.Phase == v1alpha1.AnalysisPhaseSuccessful {
				passed++
			}
		}
	}
	at, now := ex.Status.AvailableAt, r.lab.world.Now()
	switch {
	case passed < required:
		r.fail("verdict", "%s is Successful before its required analyses are", ex.Name)
	case required == 0 && (!s.Timed || at == nil || now.Before(at.Add(s.Duration))):
		r.fail("duration", "%s ends before its time", ex.Name)
	}
}

func (r *experimentRules) run(name string) *v1alpha1.AnalysisRun {
	for _, run := range r.lab.world.Runs() {
		if run.Name == name {
			return run
		}
	}
	return nil
}

func bad(phase v1alpha1.AnalysisPhase) bool {
	return analysis.Ended(phase) && phase != v1alpha1.AnalysisPhaseSuccessful
}

// experimentPass is called for each reconcile of an Experiment.
func (r *experimentRules) experimentPass(p sim.ExperimentPass) {
	ex := p.Observed.Experiment
	r.count(ex.Name, p.Outcome, p.Plan.Notes)
	live := map[string]int{}
	for _, run := range r.lab.world.Runs() {
		if !metav1.IsControlledBy(run, ex) {
			continue
		}
		for _, a := range ex.Spec.Analyses {
			name := spec.ExperimentChildName(ex.Name, a.Name)
			if (run.Name == name || strings.HasPrefix(run.Name, name+".")) && !analysis.Ended(run.Status.Phase) && !run.Spec.Terminate {
				live[a.Name]++
			}
		}
	}
	for name, n := range live {
		if n > 1 {
			r.fail("twice", "%d runs of analysis %s of %s go on", n, name, ex.Name)
		}
	}
	for _, c := range p.Plan.Judge {
		create, ok := c.(change.CreateAnalysisRun)
		if !ok || p.Writes == 0 {
			continue
		}
		run := r.run(create.Run.Name)
		if run == nil {
			continue
		}
		if !slices.ContainsFunc(r.lab.world.Experiments(), func(have *v1alpha1.Experiment) bool { return have.UID == ex.UID }) {
			continue // it is gone, and the view does not show it yet: what is begun for it is collected
		}
		key := string(ex.UID) + create.Run.Name
		if before, begun := r.began[key]; begun && before != run.UID && !r.bent {
			r.fail("twice", "%s is begun again", create.Run.Name)
		}
		r.began[key] = run.UID
	}
}

// count counts a reconcile, and logs it.
func (r *experimentRules) count(about string, o sim.Outcome, notes []change.Note) {
	r.passes++
	if o.Idle != "" {
		r.fail("fixpoint", "%s", o.Idle)
	}
	if o.Garbled != "" {
		r.fail("record", "%s", o.Garbled)
	}
	if r.lab.telling {
		text := fmt.Sprintf("%s pass over %s: writes=%d conflict=%t crashed=%t; %s", r.lab.world.Elapsed(), about, o.Writes, o.Conflict, o.Crashed, r.lab.world.Pods())
		for _, n := range notes {
			text += fmt.Sprintf("\n        %-7s %s (%s)", n.Topic, n.Text, n.Reason)
		}
		r.lab.log("%s", text)
	}
}
