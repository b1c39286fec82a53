package check

import (
	"fmt"
	"slices"

	"github.com/sluice-delivery/sluice/internal/sim"
)

// Move is something that may happen.
type Move struct {
	// Line is what happens, in the language of transcripts.
	Line string
	// More is how often it may happen after the first time.
	More uint8
	// Can reports whether it makes a difference now; nil for always.
	Can func(*sim.World) bool
	// Approves: the person who does it accepts the version that is being updated to.
	Approves bool
}

func image(name string) Move {
	return Move{Line: "set image " + name, Can: func(w *sim.World) bool { return w.Rollout().Spec.Template.Spec.Containers[0].Image != name }}
}

func set(what string) Move { return Move{Line: "set " + what} }

func updating(w *sim.World) bool {
	s := w.Rollout().Status
	return s.StableRS != "" && s.StableRS != s.CurrentPodHash
}

func abort() Move {
	return Move{Line: "abort", Can: func(w *sim.World) bool { return updating(w) && !w.Rollout().Status.Abort }}
}

func retry() Move {
	return Move{Line: "retry", Can: func(w *sim.World) bool { return w.Rollout().Status.Abort }}
}

func promote() Move {
	return Move{Line: "promote", Approves: true, Can: func(w *sim.World) bool { return len(w.Rollout().Status.PauseConditions) > 0 }}
}

func promoteFull() Move { return Move{Line: "promote full", Can: updating, Approves: true} }

func scale(n int32) Move {
	return Move{Line: fmt.Sprintf("scale %d", n), Can: func(w *sim.World) bool { return *w.Rollout().Spec.Replicas != n }}
}

func hold() Move {
	return Move{Line: "pause", Can: func(w *sim.World) bool { return !w.Rollout().Spec.Paused }}
}

func resume() Move {
	return Move{Line: "resume", Can: func(w *sim.World) bool { return w.Rollout().Spec.Paused }}
}

// lead is another process that takes the lead.
func lead() Move { return Move{Line: "lead"} }

// restart is due in a moment: pods that are made at the same instant are none to restart.
func restart() Move { return Move{Line: "restart in 10s"} }

func has(image string) func(*sim.World) bool {
	return func(w *sim.World) bool {
		return slices.ContainsFunc(w.Versions(), func(v sim.Version) bool { return v.Image == image })
	}
}

func hasPods(image string) func(*sim.World) bool {
	return func(w *sim.World) bool {
		return slices.ContainsFunc(w.Versions(), func(v sim.Version) bool { return v.Image == image && v.Pods > 0 })
	}
}

// kill has a pod die, unready one fail for good.
func kill(image string) Move    { return Move{Line: "kill 1 of " + image, Can: hasPods(image)} }
func unready(image string) Move { return Move{Line: "unready 1 of " + image, Can: hasPods(image)} }
func breaks(image string) Move  { return Move{Line: "break " + image} }

func deleteSet(image string) Move {
	return Move{Line: "delete replicaset " + image, Can: has(image)}
}

// point is a manual edit of a Service's selector: to the version of an image, or to no version.
func point(service, at string) Move {
	m := Move{Line: fmt.Sprintf("point %s %s", service, at), Can: hasService(service)}
	if at != "nobody" {
		m.Can = func(w *sim.World) bool { return hasService(service)(w) && has(at)(w) }
	}
	return m
}

func hasService(name string) func(*sim.World) bool {
	return func(w *sim.World) bool { return w.Service(name) != nil }
}

func deleteService(name string) Move {
	return Move{Line: "delete service " + name, Can: hasService(name)}
}

func makeService(name string) Move {
	return Move{Line: "service " + name, Can: func(w *sim.World) bool { return w.Service(name) == nil }}
}

// bend is a manual edit of a route's weights: the canary's share, of 100.
func bend(kind string, weight int) Move {
	return Move{Line: fmt.Sprintf("bend %s %d", kind, weight), Can: func(w *sim.World) bool { return w.CanBend(kind) }}
}

func hasRoute(w *sim.World, kind string) bool {
	for key := range w.Routes() {
		if key.Kind == kind && key.Name == "web" {
			return true
		}
	}
	return false
}

func deleteRoute(kind string) Move {
	return Move{Line: "delete route " + kind, Can: func(w *sim.World) bool { return hasRoute(w, kind) }}
}

func restoreRoute(kind string) Move {
	return Move{Line: "route " + kind, Can: func(w *sim.World) bool { return !hasRoute(w, kind) }}
}

func refuse() Move { return Move{Line: `refuse "no more of these"`} }
func allow() Move  { return Move{Line: "allow"} }

func workload(what string) Move { return Move{Line: "workload " + what, Can: hasWorkload} }

func hasWorkload(w *sim.World) bool   { return w.Deployment() != nil }
func hasNoWorkload(w *sim.World) bool { return w.Deployment() == nil }
