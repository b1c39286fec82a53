package main

import (
	"fmt"
	"log"
	"maps"
	"slices"
	"time"
)

// report is what became of a sample.
type report struct {
	of, drawn  int
	seed       uint64
	took       time.Duration
	killed     int
	equivalent int
	broken     []outcome
	survivors  []outcome
	stages     map[string]effort
}

// effort is how many mutants a stage was tried on, how many it killed, and its CPU time.
type effort struct {
	tried, killed int
	spent         time.Duration
}

func (r *report) add(o outcome) {
	if r.stages == nil {
		r.stages = map[string]effort{}
	}
	for stage, spent := range o.spent {
		e := r.stages[stage]
		e.tried++
		e.spent += spent
		if stage == o.stage {
			e.killed++
		}
		r.stages[stage] = e
	}
	switch {
	case o.killed:
		r.killed++
	case o.broken != "":
		r.broken = append(r.broken, o)
	default:
		r.survivors = append(r.survivors, o)
	}
}

func (r *report) ran() int { return r.killed + len(r.survivors) }

func (r *report) write(w *log.Logger) {
	for _, o := range r.broken {
		w.Printf("DOES NOT COMPILE, and does not count: %s\n%s\n", o.Mutant, o.broken)
	}
	for _, o := range r.survivors {
		w.Printf("SURVIVED %s\n", o.Mutant)
	}
	summary := fmt.Sprintf("%d of %d mutants, drawn by seed %d, in %s: %d killed, %d survived, %d known to be equivalent",
		r.drawn, r.of, r.seed, r.took.Round(time.Second), r.killed, len(r.survivors), r.equivalent)
	if n := r.ran(); n > 0 {
		summary += fmt.Sprintf(": %.1f %% killed", 100*float64(r.killed)/float64(n))
	}
	for _, stage := range slices.SortedFunc(maps.Keys(r.stages), func(a, b string) int { return r.stages[b].tried - r.stages[a].tried }) {
		e := r.stages[stage]
		w.Printf("%s: %d tried, %d killed, %s", stage, e.tried, e.killed, e.spent.Round(time.Second))
	}
	w.Print(summary)
	if len(r.survivors) > 0 {
		w.Print("Each survivor needs a test, or an entry with a reason in hack/mutants/equivalent.txt.")
	}
}

// tell says what became of one mutant.
func (r *report) tell(w *log.Logger, o outcome) {
	text := "killed by " + o.by
	switch {
	case o.broken != "":
		text = "does not compile"
	case !o.killed:
		text = "SURVIVED"
	}
	w.Printf("%d, %s: %s", r.ran()+len(r.broken), o.Mutant, text)
}
