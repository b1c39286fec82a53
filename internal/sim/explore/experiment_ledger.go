package explore

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/sim"
)

// ledger is what was measured, beside what AnalysisRuns tell of it: nothing is told twice, nothing that was told is taken back, and what
// came back to a process that lives is told in time.
type ledger struct {
	lab     *laboratory
	entries map[entry]*account
	// over are the phases of runs that have ended.
	over map[types.UID]v1alpha1.AnalysisPhase
	runs []*v1alpha1.AnalysisRun // as they were when they were looked at last
}

// entry is a metric of an AnalysisRun.
type entry struct {
	run    types.UID
	metric string
}

// account is how often a metric was measured in all, the largest count that its run has reported, and when the answers to the present
// process came back, or will, after `before` answers to earlier ones.
type account struct {
	asked, told, before int64
	answers             []time.Time
}

// inTime is how late a status may tell of a measurement: caches that are cut off keep their process from writing.
const inTime = 3 * time.Minute

func newLedger(l *laboratory) *ledger {
	return &ledger{lab: l, entries: map[entry]*account{}, over: map[types.UID]v1alpha1.AnalysisPhase{}}
}

func (g *ledger) of(e entry) *account {
	if g.entries[e] == nil {
		g.entries[e] = &account{}
	}
	return g.entries[e]
}

// asked notes that a provider was asked, and when it answers.
func (g *ledger) asked(r metric.Request, m sim.Measurement) {
	a := g.of(entry{r.Run.UID, r.Metric.Name})
	a.asked++
	a.answers = append(a.answers, g.lab.world.Now().Add(m.Takes))
}

// startOver forgets what was reported.
func (g *ledger) startOver() {
	for _, a := range g.entries {
		a.before, a.answers = a.told, nil
	}
}

// later allows for a clock that jumped.
func (g *ledger) later(by time.Duration) {
	for _, a := range g.entries {
		for i := range a.answers {
			a.answers[i] = a.answers[i].Add(by)
		}
	}
}

// see checks what runs tell now.
func (g *ledger) see() {
	runs := g.lab.world.Runs()
	for i, run := range runs {
		if i < len(g.runs) && g.runs[i] == run {
			continue
		}
		if phase, ended := g.over[run.UID]; ended && phase != run.Status.Phase {
			g.lab.fail("verdict", "%s was %s and is %q now", run.Name, phase, run.Status.Phase)
		}
		if analysis.Ended(run.Status.Phase) {
			g.over[run.UID] = run.Status.Phase
		}
		for j := range run.Status.MetricResults {
			g.tells(run, &run.Status.MetricResults[j])
		}
	}
	g.runs = runs
}

func (g *ledger) tells(run *v1alpha1.AnalysisRun, result *v1alpha1.MetricResult) {
	a, told := g.of(entry{run.UID, result.Name}), int64(result.Count)+int64(result.Error)
	switch {
	case told > a.asked:
		g.lab.fail("measure", "%s of %s was measured %d times and counts %d", result.Name, run.Name, a.asked, told)
	case told < a.told:
		g.lab.fail("measure", "%s of %s counted %d measurements and counts %d now", result.Name, run.Name, a.told, told)
	}
	a.told = told
}

// rest checks that nothing was forgotten, and that no run outlives those it is for.
func (g *ledger) rest() {
	now := g.lab.world.Now()
	for _, run := range g.lab.world.Runs() {
		if owner := metav1.GetControllerOfNoCopy(run); owner != nil && owner.Kind == v1alpha1.KindExperiment {
			if ex := g.lab.world.Experiment(owner.Name); ex == nil || ex.UID != owner.UID {
				g.lab.fail("end", "%s is still there, and what it was for is not", run.Name)
			}
		}
		for _, result := range run.Status.MetricResults {
			a := g.of(entry{run.UID, result.Name})
			if !g.lab.Shell || analysis.Ended(run.Status.Phase) || analysis.Ended(result.Phase) || run.Spec.Terminate {
				continue
			}
			came := a.before
			for _, at := range a.answers {
				if at.Add(inTime).Before(now) {
					came++
				}
			}
			if a.told < came {
				g.lab.fail("measure", "%s of %s was measured %d times and counts %d", result.Name, run.Name, came, a.told)
			}
		}
	}
}
