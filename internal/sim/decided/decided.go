// Package decided makes hashes of what the engines decide, so that tests can record decisions and see which of them change. Only tests use it.
package decided

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"slices"

	"github.com/sluice-delivery/sluice/internal/analysis/measure"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/experiment"
	"github.com/sluice-delivery/sluice/internal/plan"
)

// Sum is a hash of all that was done, and one of the words in which it was said.
type Sum struct{ Does, Says uint32 }

func (s Sum) String() string { return fmt.Sprintf("%08x %08x", s.Does, s.Says) }

// Hash takes decisions in, in their order.
type Hash struct {
	does, says interface {
		io.Writer
		Sum32() uint32
	}
}

// New has taken in nothing.
func New() *Hash { return &Hash{fnv.New32a(), fnv.New32a()} }

// Sum is the hash of what was taken in so far.
func (h *Hash) Sum() Sum { return Sum{h.does.Sum32(), h.says.Sum32()} }

// Plan takes in a decision about a Rollout.
func (h *Hash) Plan(p plan.Plan) {
	h.changes(p.Grow, p.Route, p.Judge, p.Shrink, p.Label)
	if p.Record != nil {
		h.status(p.Record)
	}
	h.add(p.Calls, p.Heard)
	h.journal(change.Journal{Events: p.Events, Notes: p.Notes, Needs: p.Needs, Wake: p.Wake})
}

// Experiment takes in a decision about an Experiment.
func (h *Hash) Experiment(p experiment.Plan) {
	h.changes(p.Grow, p.Route, p.Judge, p.Shrink)
	h.add(p.Record, p.NeedsRollout)
	h.journal(change.Journal{Events: slices.Concat(p.Events, p.RolloutEvents), Notes: p.Notes, Wake: p.Wake})
}

// Measure takes in a decision about an AnalysisRun.
func (h *Hash) Measure(p measure.Plan) {
	h.add(p.NeedsArguments, p.Cancel, p.Stop, p.Forget, p.Record, p.Measure, p.Delete)
	h.journal(p.Journal)
}

// put writes into a hash, which takes everything.
func (h *Hash) put(into io.Writer, format string, args ...any) {
	if _, err := fmt.Fprintf(into, format, args...); err != nil {
		panic(err)
	}
}

// add takes values in that are data.
func (h *Hash) add(values ...any) {
	for _, v := range values {
		text, err := json.Marshal(v)
		if err != nil {
			panic(fmt.Sprintf("a decision cannot be written as JSON: %v", err))
		}
		h.put(h.does, "%s", text)
	}
}

func (h *Hash) changes(lists ...[]change.Change) {
	for _, list := range lists {
		for _, c := range list {
			h.put(h.does, "%T", c)
			h.add(c)
		}
		h.put(h.does, "\n")
	}
}

// status takes in what is recorded. Its messages are words.
func (h *Hash) status(r *plan.Record) {
	status := r.To.Status.DeepCopy()
	h.put(h.says, "%v\n", status.Message)
	status.Message = ""
	for i := range status.Conditions {
		h.put(h.says, "%v\n", status.Conditions[i].Message)
		status.Conditions[i].Message = ""
	}
	h.add(status, r.To.Annotations, r.To.Spec.Replicas, r.CanWait)
}

func (h *Hash) journal(j change.Journal) {
	for _, e := range j.Events {
		h.put(h.does, "%v %v\n", e.Reason, e.Warning)
		h.put(h.says, "%v\n", e.Message)
	}
	for _, n := range j.Notes {
		h.put(h.does, "%v %v\n", n.Topic, n.Promise)
		h.put(h.says, "%v %v\n", n.Text, n.Reason)
	}
	for _, n := range j.Needs {
		h.put(h.does, "%T%v\n", n, n)
	}
	h.put(h.does, "%v\n", j.Wake.UTC())
}
