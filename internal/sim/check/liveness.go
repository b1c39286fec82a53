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
		case status.Abort, strings.HasPrefix(status.Message, v1alpha1.ReasonInvalidSpec), s.now.Broken():
			return ""
		}
		return "nothing is broken, and it is Degraded for ever"
	case v1alpha1.RolloutPhaseProgressing:
		return "nobody will look again"
	}
	return "it has no phase"
}

// live checks what only the whole graph can say: that no state leads back to itself, with nobody doing anything, by a way on which something is
// written; and that what goes on looking for ever says why.
func (s *search) live() {
	for _, component := range s.components() {
		inside := map[int32]bool{}
		for _, id := range component {
			inside[id] = true
		}
		leaves := false
		for _, id := range component {
			for _, e := range s.own[id] {
				if e.wrote && inside[e.to] {
					s.result.Found = &Counterexample{
						Rule: "live", Text: "it writes again and again, and nothing comes of it", steps: s.way(id), again: s.back(id, inside),
					}
					return
				}
				leaves = leaves || !inside[e.to]
			}
		}
		if leaves {
			continue
		}
		for _, id := range component {
			st := s.replay(s.way(id))
			if st.rest(); st.referee.Fault() != nil {
				s.found(s.way(id), st.referee.Fault())
				s.result.Found.again = s.back(id, inside)
				return
			}
		}
	}
}

// back is a way from a state back to itself that stays inside a component.
func (s *search) back(from int32, inside map[int32]bool) []step {
	type reached struct {
		id  int32
		way []step
	}
	seen := map[int32]bool{}
	at := []reached{{id: from}}
	for len(at) > 0 {
		r := at[0]
		at = at[1:]
		st := s.replay(append(s.way(from), r.way...))
		for i, what := range slices.DeleteFunc(st.steps(), func(what step) bool { return !what.own() }) {
			e := s.own[r.id][i]
			way := append(slices.Clone(r.way), what)
			switch {
			case !inside[e.to]:
			case e.to == from:
				return way
			case !seen[e.to]:
				seen[e.to] = true
				at = append(at, reached{e.to, way})
			}
		}
	}
	return nil
}

// replay takes steps from the beginning.
func (s *search) replay(steps []step) *state {
	st := s.world.begin(s.engine)
	for _, what := range steps {
		st.do(what)
	}
	return st
}

// components are the strongly connected components of the graph of what happens by itself, those with a cycle only.
// (Tarjan, Depth-first search and linear graph algorithms, 1972; without recursion.)
func (s *search) components() (all [][]int32) {
	const unseen = -1
	n := int32(len(s.own))
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
		if index[root] != unseen {
			continue
		}
		enter(root)
		for len(calls) > 0 {
			f := &calls[len(calls)-1]
			if int(f.edge) < len(s.own[f.id]) {
				to := s.own[f.id][f.edge].to
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
			loops := slices.ContainsFunc(s.own[id], func(e edge) bool { return e.to == id })
			if len(component) > 1 || loops {
				all = append(all, component)
			}
		}
	}
	return all
}
