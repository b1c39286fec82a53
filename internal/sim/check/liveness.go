package check

import (
	"slices"
	"strings"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// stuck is why a world at rest is not as it should be, empty if it is: Healthy, or waiting for a person with a message that says so.
func (s *state) stuck() string {
	ro := s.now.Rollout()
	status := ro.Status
	switch status.Phase {
	case v1alpha1.RolloutPhaseHealthy:
		s.referee.End()
		return ""
	case v1alpha1.RolloutPhasePaused:
		if status.Message == "" {
			return "it waits for a person, and does not say so"
		}
		return ""
	case v1alpha1.RolloutPhaseDegraded:
		switch {
		case status.Message == "":
			return "it is Degraded, and does not say why"
		case s.overdue():
			return "its deadline has passed, progressDeadlineAbort is set, and it is not aborted"
		case status.Abort, strings.HasPrefix(status.Message, v1alpha1.ReasonInvalidSpec), s.now.Broken():
			return ""
		}
		return "nothing is broken, and it stays Degraded"
	case v1alpha1.RolloutPhaseProgressing:
		return "nobody will look again"
	}
	return "it has no phase"
}

// overdue reports whether an update has timed out that is to be aborted when it does.
func (s *state) overdue() bool {
	ro := s.now.Rollout()
	timedOut := slices.ContainsFunc(ro.Status.Conditions, func(c v1alpha1.RolloutCondition) bool {
		return c.Type == v1alpha1.ConditionProgressing && c.Reason == v1alpha1.ReasonProgressDeadlineExceeded
	})
	return timedOut && ro.Spec.ProgressDeadlineAbort && updating(s.now) && !ro.Status.Abort && !ro.Spec.Paused
}

// live checks what only the whole graph can show: that no state leads back to itself through a write while nobody does anything, and that
// a Rollout that is requeued without end says why.
func (s *search) live() {
	for _, component := range s.components() {
		inside := map[int32]bool{}
		for _, id := range component {
			inside[id] = true
		}
		leaves := false
		for _, id := range component {
			for _, l := range s.places[id].links[own] {
				if l.writes > 0 && inside[l.to] {
					s.result.Found = &Counterexample{
						Rule: "live", Text: "it writes again and again, and nothing comes of it", steps: s.way(s.places[id].reached), again: s.back(id, inside),
					}
					return
				}
				leaves = leaves || !inside[l.to]
			}
		}
		if leaves {
			continue
		}
		for _, id := range component {
			at := s.build(id).fork()
			if at.rest(); at.referee.Fault() != nil {
				s.found(s.way(s.places[id].reached), at.referee.Fault())
				s.result.Found.again = s.back(id, inside)
				return
			}
		}
	}
}

// back is a way from a place back to itself that stays inside a component.
func (s *search) back(from int32, inside map[int32]bool) []step {
	type stop struct {
		id  int32
		way []step
	}
	seen := map[int32]bool{}
	at := []stop{{id: from}}
	for len(at) > 0 {
		here := at[0]
		at = at[1:]
		for _, l := range s.places[here.id].links[own] {
			way := append(slices.Clone(here.way), l.what)
			switch {
			case !inside[l.to]:
			case l.to == from:
				return way
			case !seen[l.to]:
				seen[l.to] = true
				at = append(at, stop{l.to, way})
			}
		}
	}
	return nil
}

// components are the strongly connected components of the graph of what happens by itself, those with a cycle only.
// (Tarjan, Depth-first search and linear graph algorithms, 1972; without recursion.)
func (s *search) components() (all [][]int32) {
	const unseen = -1
	n := int32(len(s.places))
	index, low := make([]int32, n), make([]int32, n)
	for i := range index {
		index[i] = unseen
	}
	on := make([]bool, n)
	type frame struct{ id, edge int32 }
	var stack []int32
	var calls []frame
	counter := int32(0)
	enter := func(id int32) {
		index[id], low[id] = counter, counter
		counter++
		stack, on[id] = append(stack, id), true
		calls = append(calls, frame{id: id})
	}
	for root := range n {
		if index[root] != unseen || s.places[root].reached < 0 {
			continue
		}
		enter(root)
		for len(calls) > 0 {
			f := &calls[len(calls)-1]
			if links := s.places[f.id].links[own]; int(f.edge) < len(links) {
				to := links[f.edge].to
				f.edge++
				if index[to] == unseen {
					enter(to)
				} else if on[to] {
					low[f.id] = min(low[f.id], index[to])
				}
				continue
			}
			id := f.id
			calls = calls[:len(calls)-1]
			if len(calls) > 0 {
				parent := calls[len(calls)-1].id
				low[parent] = min(low[parent], low[id])
			}
			if low[id] != index[id] {
				continue
			}
			var component []int32
			for {
				top := stack[len(stack)-1]
				stack = stack[:len(stack)-1]
				on[top] = false
				component = append(component, top)
				if top == id {
					break
				}
			}
			loops := slices.ContainsFunc(s.places[id].links[own], func(l link) bool { return l.to == id })
			if len(component) > 1 || loops {
				all = append(all, component)
			}
		}
	}
	return all
}
