package move

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-delivery/sluice/internal/plan/target"
)

// retire deletes a version's pods once its delay has passed since it was first found unused. Until then it keeps its pods: a rollback to it
// is immediate, and proxies with stale endpoints still reach live pods. A delay of zero overrides a deadline that was set before.
func (m *Mover) retire(idle target.Idle) {
	v := idle.Version
	if slices.ContainsFunc(idle.Services, func(name string) bool { return m.entry(name).after == v.Hash }) {
		m.draft.Keep(v) // a Service was pointed back to it: the delay begins when that Service has left it again
	}
	switch {
	case v.Desired() == 0:
	case m.reached(v, idle.Services):
		m.journal.Hold(Service, v.Name+" keeps its pods", "until no service selects it")
	case !m.delays(idle) && m.unreached(v, idle.Services):
		m.draft.Scale(v, 0, idle.Why)
	}
}

// delays reports whether an idle version keeps its pods for a while longer.
func (m *Mover) delays(idle target.Idle) bool {
	if idle.Delay == 0 {
		return false
	}
	by := m.draft.AfterUse(idle.Delay)
	if idle.Aborted {
		by = m.draft.AfterAbort(idle.Delay)
	}
	v, deadline := idle.Version, m.draft.StartDelay(idle.Version, by)
	if !m.world.Now.Before(deadline) {
		return false
	}
	until := "until " + deadline.UTC().Format(time.RFC3339)
	m.draft.Scale(v, max(v.Desired(), idle.Whole), "kept at full size "+until) // never fewer: it may be what one goes back to
	m.journal.Hold(Delay, fmt.Sprintf("%s keeps its pods %s", v.Name, until), idle.Why)
	m.journal.WakeAt(deadline)
	return true
}
