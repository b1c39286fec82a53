package sim

import (
	"maps"
	"slices"
	"time"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// Fork is a separate World in the same state, with its controller: what happens in one does not happen in the other. Its callbacks,
// such as Watch, Wrote and the controller's functions, are the same until the caller replaces them. Worlds whose Experiments or
// AnalysisRuns have a controller, and worlds under the real shell, cannot be forked.
//
// Of what watches have shown it keeps what a view that is up to `behind` writes of a kind late may still show.
func (w *World) Fork(behind int) *World {
	if w.experimentLoop != nil || w.analysisLoop != nil {
		panic("a world whose Experiments or AnalysisRuns have a controller cannot be forked")
	}
	next := *w
	next.objects, next.elsewhere = w.objects.fork(behind), w.elsewhere.fork(behind)
	next.sets = make([]*set, len(w.sets))
	for i, s := range w.sets {
		next.sets[i] = s.fork()
	}
	next.fates = maps.Clone(w.fates)
	next.verdicts = slices.Clone(w.verdicts)
	if w.loop != nil {
		c := *w.loop.(*Controller)
		c.world = &next
		c.refusals, c.routeRefusals = maps.Clone(c.refusals), maps.Clone(c.routeRefusals)
		next.loop = &c
	}
	return &next
}

// fork is a copy of the objects, and of what watches may still show of them, that grows by itself.
func (o objects) fork(behind int) objects {
	o.rollouts.past = o.rollouts.past.fork(behind)
	o.replicaSets.past = o.replicaSets.past.fork(behind)
	o.services.past = o.services.past.fork(behind)
	o.runs.past = o.runs.past.fork(behind)
	o.experiments.past = o.experiments.past.fork(behind)
	o.templates.past = o.templates.past.fork(behind)
	o.deployments.past = o.deployments.past.fork(behind)
	o.routes.past = o.routes.past.fork(behind)
	return o
}

func (p past[S]) fork(behind int) past[S] {
	p.unseen = min(p.unseen, behind)
	p.states = slices.Clip(p.states[max(0, len(p.states)-1-p.unseen):])
	return p
}

func (s *set) fork() *set {
	next := *s
	next.pods = make([]*pod, len(s.pods))
	for i, p := range s.pods {
		pod := *p
		next.pods[i] = &pod
	}
	return &next
}

// The functions below do one thing that is due, while [World.Step] does the first one: for callers that try every order.

// Syncable are the names of the ReplicaSets whose controller looks at them now.
func (w *World) Syncable() (names []string) {
	for _, s := range w.sets {
		if !s.syncAt.IsZero() && !s.syncAt.After(w.now) {
			names = append(names, s.Name)
		}
	}
	return names
}

// Sync lets the ReplicaSet controller look at a ReplicaSet.
func (w *World) Sync(name string) {
	w.sync(w.set(name))
	w.watched()
}

// Rested reports whether a fork differs in nothing but that ReplicaSet controllers have looked: no pods came or went, and nothing was written.
func (w *World) Rested(was *World) bool {
	return w.version == was.version && slices.EqualFunc(w.sets, was.sets, func(a, b *set) bool {
		return len(a.pods) == len(b.pods) && (a.syncAt.IsZero() || a.syncAt.Equal(b.syncAt))
	})
}

// Starting are the names of the ReplicaSets with pods that become ready now.
func (w *World) Starting() (names []string) {
	for _, s := range w.sets {
		if slices.ContainsFunc(s.pods, func(p *pod) bool { return p.starts(w.now) }) {
			names = append(names, s.Name)
		}
	}
	return names
}

// StartPod lets one of the pods of a ReplicaSet become ready. Which one makes no difference.
func (w *World) StartPod(name string) {
	s := w.set(name)
	w.change(s, s.pods[slices.IndexFunc(s.pods, func(p *pod) bool { return p.starts(w.now) })])
	w.watched()
}

func (p *pod) starts(now time.Time) bool { return !p.changesAt().IsZero() && !p.changesAt().After(now) }

// Pronounces reports whether an AnalysisRun now reaches a phase that was set for it, which Pronounce carries out.
func (w *World) Pronounces() bool {
	return slices.ContainsFunc(w.verdicts, func(v verdict) bool { return !v.at.After(w.now) })
}

// Pronounce lets the first such AnalysisRun come to its phase.
func (w *World) Pronounce() {
	w.pronounce()
	w.watched()
}

// Act has the loop in charge act once.
func (w *World) Act() {
	w.loop.Act()
	w.watched()
}

// Judge has an AnalysisRun come to a phase.
func (w *World) Judge(run *v1alpha1.AnalysisRun, phase v1alpha1.AnalysisPhase) {
	w.SetPhase(run, phase, "")
	w.watched()
}

// Unseen is how many writes of each kind a view may be behind, at the most.
func (w *World) Unseen(most int) View {
	o := &w.objects
	behind := func(unseen, states int) int { return max(0, min(most, unseen, states-1)) }
	return View{
		Rollout:      behind(o.rollouts.past.unseen, len(o.rollouts.past.states)),
		ReplicaSets:  behind(o.replicaSets.past.unseen, len(o.replicaSets.past.states)),
		Services:     behind(o.services.past.unseen, len(o.services.past.states)),
		Routes:       behind(o.routes.past.unseen, len(o.routes.past.states)),
		AnalysisRuns: behind(o.runs.past.unseen, len(o.runs.past.states)),
		Experiments:  behind(o.experiments.past.unseen, len(o.experiments.past.states)),
	}
}

// Broken reports whether something in the cluster keeps pods or ReplicaSets from coming up.
func (w *World) Broken() bool {
	broken := w.quota >= 0 || w.objects.replicaSets.refused != "" || w.objects.runs.refused != "" || w.labelsRefused != "" || w.releasesRefused != ""
	for _, f := range w.fates {
		broken = broken || f.Broken
	}
	for _, s := range w.sets {
		broken = broken || slices.ContainsFunc(s.pods, func(p *pod) bool { return !p.ready && p.readyAt.IsZero() })
	}
	return broken
}

// Deadline is when the next thing happens that nothing but time brings about, zero if nothing does.
func (w *World) Deadline() (at time.Time) {
	later := func(t time.Time) {
		if t.After(w.now) {
			at = earliest(at, t)
		}
	}
	for _, s := range w.sets {
		later(s.syncAt)
		for _, p := range s.pods {
			later(p.changesAt())
		}
	}
	if c, ok := w.loop.(*Controller); ok {
		later(c.wake)
		later(c.due)
	}
	for _, v := range w.verdicts {
		later(v.at)
	}
	later(w.collectAt)
	return at
}

func (w *World) watched() {
	if w.Watch != nil {
		w.Watch()
	}
}
