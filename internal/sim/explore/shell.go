package explore

import (
	"slices"

	"github.com/sluice-delivery/sluice/internal/sim/shell"
)

// weather is how much goes wrong around the shell of tier two.
func (h *history) weather() shell.Weather {
	w := shell.Weather{
		Late: h.stale, Twice: h.stale / 10, Cut: h.deaf, Crash: h.crash, HandOver: h.crash / 3,
		Timeout: []int{0, 10, 100}[h.IntN(3)], Slow: []int{0, 20, 200}[h.IntN(3)],
		Standby: h.Standby,
	}
	for _, what := range h.Without {
		switch what {
		case Staleness:
			w.Late, w.Twice, w.Cut = 0, 0, 0
		case Crashes:
			w.Crash, w.HandOver = 0, 0
		case Delays:
			w.Slow, w.Cut = 0, 0
		case Timeouts:
			w.Timeout = 0
		}
	}
	return w
}

// clear makes fair weather.
func (h *history) clear() {
	if h.shell != nil {
		h.shell.Weather = shell.Weather{}
	}
}

// between are the moves that may come between what a pass decided and its writes.
var between = []string{"new image", "abort", "promote", "promote full", "scale", "pause", "kill pods", "point a Service", "delete a Service"}

// meanwhile makes a move in the middle of a pass.
func (h *history) meanwhile() {
	if h.calm || h.fault != nil || h.Moves != nil && len(h.Moves) == 0 {
		return
	}
	if h.replay != nil {
		h.interrupt(func(name string, do func()) {
			h.rules.during(func() { h.user(do) })
			h.describe(name)
		})
		return
	}
	name := between[h.chaos.IntN(len(between))]
	i := slices.IndexFunc(disturbances, func(d disturbance) bool { return d.name == name })
	h.doing, h.between = name, true
	defer func() { h.between = false }()
	choices := h.Rand
	h.Rand = h.chaos // the choices of the moves stay as they are without this one
	h.rules.during(func() { h.user(func() { disturbances[i].do(h) }) })
	h.Rand = choices
	h.describe("MEANWHILE " + name)
}
