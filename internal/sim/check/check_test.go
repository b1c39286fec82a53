package check

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/sim/explore"
)

// TestSmallWorlds searches every state of the smallest worlds.
func TestSmallWorlds(t *testing.T) {
	for _, w := range Worlds {
		if !w.Small {
			continue
		}
		t.Run(w.Name, func(t *testing.T) {
			r := Search(t.Context(), w, plan.Next, Limits{})
			if r.Found != nil {
				t.Fatal(r.Found.Story(w, plan.Next))
			}
			if !r.Complete || r.States < 100 || r.Rests == 0 {
				t.Errorf("%s; complete: %v", Line(r), r.Complete)
			}
			t.Log(Line(r))
		})
	}
}

// TestFinds breaks the engine, and demands the nearest state that shows it.
func TestFinds(t *testing.T) {
	for _, tt := range []struct {
		name, world, rule string
		engine            explore.Engine
	}{
		{"pods that carry go", "canary", "decision", plan.Without("ByPods/capacity/fit by pods")},
		{"a Service is pointed at nobody", "services", "service", plan.Without("ByPods/service/pods for a Service")},
		{"a routed Service is pointed at nobody", "gateway-hands", "service", plan.Without("ByWeight/service/pods for the canary Service")},
		{"it does not go on", "canary", "wake", func(o plan.Observed) plan.Plan {
			if s := o.Rollout.Status; s.CurrentStepIndex != nil && *s.CurrentStepIndex == 0 && s.StableRS != s.CurrentPodHash && s.UpdatedReplicas > 0 {
				return plan.Plan{}
			}
			return plan.Next(o)
		}},
		{"it forgets what it waits for", "gateway", "end", func(o plan.Observed) plan.Plan {
			p := plan.Next(o)
			p.Wake = time.Time{}
			return p
		}},
		{"it never stops writing", "gateway", "live", func(o plan.Observed) plan.Plan {
			p := plan.Next(o)
			if len(o.Rollout.Status.PauseConditions) == 0 || p.Writes() {
				return p
			}
			to := o.Rollout.DeepCopy()
			to.Status.Message = map[string]string{"a": "b"}[o.Rollout.Status.Message]
			if to.Status.Message == "" {
				to.Status.Message = "a"
			}
			p.Record = &plan.Record{From: o.Rollout, To: to}
			return p
		}},
		{"it panics", "blue-green", "panic", func(o plan.Observed) plan.Plan {
			if o.Rollout.Status.Abort {
				panic("out of reach")
			}
			return plan.Next(o)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := Named(tt.world)
			r := Search(t.Context(), w, tt.engine, Limits{States: 20000})
			if r.Found == nil {
				t.Fatalf("nothing is found: %s", Line(r))
			}
			if r.Found.Rule != tt.rule {
				t.Errorf("it breaks %s, want %s:\n%s", r.Found.Rule, tt.rule, r.Found.Story(w, tt.engine))
			}
			again, err := ParseWay(r.Found.Way())
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(again.steps, r.Found.steps) {
				t.Errorf("%s is read as %v, want %v", r.Found.Way(), again.steps, r.Found.steps)
			}
			told(t, w, tt.engine, again)
		})
	}
}

// told demands that a counterexample can be played as a transcript, and that it ends as the search does.
func told(t *testing.T, w *World, engine explore.Engine, c *Counterexample) {
	t.Helper()
	transcript := c.Transcript(w, engine)
	if transcript.Err != nil {
		if !strings.Contains(transcript.Err.Error(), "panic: ") {
			t.Errorf("the transcript cannot be played: %v\n%s", transcript.Err, c.Story(w, engine))
		}
		return
	}
	at := w.begin(engine)
	for _, what := range c.steps {
		at.try(what)
	}
	if want := at.referee.Summary(); transcript.End != want && len(c.again) == 0 {
		t.Errorf("the transcript ends\n%s\nthe search\n%s\n%s", transcript.End, want, c.Story(w, engine))
	}
}

func TestWaysThatLeadNowhere(t *testing.T) {
	for _, text := range []string{"", "x", "pv1", "r", "j0.x"} {
		if _, err := ParseWay(text); err == nil {
			t.Errorf("way %q is read", text)
		}
	}
	c, err := ParseWay("m0,p,r9")
	if err != nil {
		t.Fatal(err)
	}
	if story := c.Story(Named("canary"), plan.Next); !strings.Contains(story, "r9 cannot happen here") {
		t.Errorf("a step that cannot happen is told as\n%s", story)
	}
}

// TestNothingIsLost compares what is seen where names, UIDs and old times count, and where they do not.
func TestNothingIsLost(t *testing.T) {
	w := &World{
		Name: "tiny", Lines: []string{`rollout web replicas=2 maxSurge=1 maxUnavailable=0` + steps},
		Moves: []Move{image("v2"), kill("v1"), abort(), promote()}, Total: 2, Crashes: 1,
	}
	see := func(exact bool) (map[string]bool, Result) {
		seen := map[string]bool{}
		r := Search(t.Context(), w, plan.Next, Limits{Exact: exact, See: func(s Seen) { seen[s.Summary] = true }})
		if r.Found != nil || !r.Complete {
			t.Fatalf("exact %v: %s, found %v", exact, Line(r), r.Found)
		}
		return seen, r
	}
	reduced, few := see(false)
	whole, many := see(true)
	if few.States >= many.States {
		t.Errorf("%d states and %d with all names: nothing is left out", few.States, many.States)
	}
	if !maps.Equal(reduced, whole) {
		t.Errorf("%d things are seen, %d with all names", len(reduced), len(whole))
	}
	t.Logf("%d states, %d with all names; %d summaries", few.States, many.States, len(reduced))
}

// TestReduction compares searches in which quiet deliveries come first with ones in which they come whenever they like: the places where none is due
// are the same, the same rules are broken there, and it rests in as many ways.
func TestReduction(t *testing.T) {
	for _, name := range []string{"gateway", "blue-green-rename", "deadline"} {
		t.Run(name, func(t *testing.T) {
			see := func(unreduced bool) (map[key]string, Result) {
				seen := map[key]string{}
				r := Search(t.Context(), Named(name), plan.Next, Limits{Unreduced: unreduced, See: func(s Seen) {
					if !s.Quiet {
						seen[s.Key] = s.Summary
					}
				}})
				if r.Found != nil || !r.Complete {
					t.Fatalf("unreduced %v: %s, found %v", unreduced, Line(r), r.Found)
				}
				return seen, r
			}
			reduced, few := see(false)
			whole, many := see(true)
			if !maps.Equal(reduced, whole) || few.Rests != many.Rests {
				t.Errorf("%d loud places and %d rests, %d and %d unreduced", len(reduced), few.Rests, len(whole), many.Rests)
			}
			if few.States >= many.States {
				t.Errorf("%d states, %d unreduced: nothing is left out", few.States, many.States)
			}
			t.Logf("%d states and %d transitions, %d and %d unreduced; %d loud places", few.States, few.Transitions, many.States, many.Transitions, len(reduced))
		})
	}
}

// TestForksStay takes every step from states on random ways, and demands that they stay as they are.
func TestForksStay(t *testing.T) {
	for _, name := range []string{"canary", "gateway-hands", "blue-green-hands", "analysis"} {
		w := Named(name)
		canon := &sim.Canon{Horizon: Horizon, Lag: w.Lag}
		at := w.begin(plan.Next)
		for n := range 60 {
			before, _ := at.key(canon, nil)
			steps := slices.Concat(at.own(), at.moves(), at.stale())
			if len(steps) == 0 {
				break
			}
			for _, what := range steps {
				at.fork().try(what)
				if after, _ := at.key(canon, nil); after != before {
					t.Fatalf("%s: step %d, %s: a fork changes what it is a fork of", name, n, what)
				}
			}
			at = at.fork()
			at.do(steps[n*7%len(steps)])
		}
	}
}

func TestWorldsMakeSense(t *testing.T) {
	for _, w := range Worlds {
		s := w.begin(plan.Next)
		if phase := s.now.Rollout().Status.Phase; !w.Fresh && phase != v1alpha1.RolloutPhaseHealthy {
			t.Errorf("world %s begins %s: %s", w.Name, phase, s.referee.Summary())
		}
		if fault := s.referee.Fault(); fault != nil {
			t.Errorf("world %s begins with a fault: %v", w.Name, fault)
		}
		if len(w.Moves) > len(s.left.moves) {
			t.Errorf("world %s has %d moves, and room for %d", w.Name, len(w.Moves), len(s.left.moves))
		}
		for i, other := range Worlds {
			if other.Name == w.Name && Worlds[i] != w {
				t.Errorf("two worlds are named %s", w.Name)
			}
		}
	}
}

// BenchmarkStates is how long a state takes on one processor.
func BenchmarkStates(b *testing.B) {
	for _, name := range []string{"rolling", "dynamic", "blue-green-hands"} {
		b.Run(name, func(b *testing.B) {
			states := 0
			for b.Loop() {
				states += Search(b.Context(), Named(name), plan.Next, Limits{States: 5000, Workers: 1}).States
			}
			b.ReportMetric(float64(states)/b.Elapsed().Seconds(), "states/s")
		})
	}
}
