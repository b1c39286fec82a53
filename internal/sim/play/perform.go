package play

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/sim"
)

// perform lets the update run, with what the scenario brings.
func (p *player) perform() {
	events := slices.SortedStableFunc(slices.Values(p.Scenario), func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	p.watch()
	for p.since() < longest {
		until := longest
		if len(events) > 0 {
			until = events[0].At
		}
		if at := p.autoscaler.at; at > 0 && at < until {
			until = at
		}
		rested := p.run(until)
		switch {
		case len(events) > 0 && until == events[0].At:
			p.wait(until)
			p.do(events[0])
			events = events[1:]
		case until == p.autoscaler.at:
			p.wait(until)
			p.autoscale()
		case !rested || p.StopAtPauses || !p.goOn():
			return
		}
	}
}

// run lets happen what happens by itself before a time, and reports whether nothing does any more, but that metrics are measured which
// change nothing.
func (p *player) run(until time.Duration) (rested bool) {
	end := sim.Start.Add(p.begun + until - time.Nanosecond) // what the scenario has for an instant comes first
	idle := 0
	for {
		if p.world.DueBesidesMeasuring().IsZero() && until == longest {
			if idle++; p.world.Due().IsZero() || p.personIsAwaited() || idle > p.patience() {
				return true
			}
		} else {
			idle = 0
		}
		if p.spent() || !p.world.Step(end) {
			return false
		}
		p.events++
	}
}

// spent reports whether as much has happened as may.
func (p *player) spent() bool { return p.limit > 0 && p.events >= p.limit }

// wait lets the time pass until an instant, of which everything before has happened.
func (p *player) wait(until time.Duration) {
	if by := until - p.since(); by > 0 {
		p.world.Jump(by)
	}
}

func (p *player) personIsAwaited() bool {
	return !p.StopAtPauses && p.world.Rollout().Status.Phase == v1alpha1.RolloutPhasePaused
}

// patience is how much may happen to analyses, and to nothing else, before it is certain that nothing comes of it: measurements come out
// as they did, so that every limit there is has been reached by then.
func (p *player) patience() int {
	n := 100
	for _, run := range p.world.Runs() {
		for i := range run.Spec.Metrics {
			m := &run.Spec.Metrics[i]
			for _, limit := range []*intstr.IntOrString{m.Count, m.FailureLimit, m.InconclusiveLimit, m.ConsecutiveErrorLimit, m.ConsecutiveSuccessLimit} {
				if limit != nil {
					n += 3 * max(0, min(limit.IntValue(), 10_000)) // a measurement is begun, lands and is looked at
				}
			}
		}
	}
	return n
}

// goOn is what a person does about a rollout that waits for one, and reports whether one does.
func (p *player) goOn() bool {
	s := p.world.Rollout().Status
	if s.Phase != v1alpha1.RolloutPhasePaused || p.promotions > 1000 || p.turn != nil && !p.turn() {
		return false
	}
	p.promotions++
	if p.turn == nil {
		p.done = append(p.done, "someone promotes: nothing else would continue")
	}
	p.world.Promote()
	return true
}

// do is something that the scenario has.
func (p *player) do(e Event) {
	p.tell(e.String())
	if name, ok := e.metric(); ok {
		if p.outcomes[name] == nil {
			p.outcomes[name] = &outcome{}
		}
		p.outcomes[name].change(e)
		p.watch()
		return
	}
	w := p.world
	switch e.Verb {
	case "scale":
		w.Scale(e.number())
	case "load":
		p.setLoad(e.number())
	case "image":
		container, image, _ := strings.Cut(e.Args[0], "=")
		p.edit(func(t *corev1.PodTemplateSpec) { _ = setImage(t, container, image) }) // it was checked
	case "undo":
		p.edit(func(t *corev1.PodTemplateSpec) { *t = *p.before.DeepCopy() })
	case "promote":
		w.Promote()
	case "promote-full":
		w.PromoteFull()
	case "abort":
		w.Abort()
	case "retry":
		w.Retry()
	case "pause":
		w.Pause(true)
	case "resume":
		w.Pause(false)
	case "restart":
		w.Restart(w.Now())
	case "delete":
		w.DeleteService(e.Args[1])
	case "restore":
		p.restore(e.Args[1])
	case "break":
		w.SetFate(p.image(), sim.Fate{Broken: true})
	case "crash":
		w.SetFate(p.image(), sim.Fate{Broken: true})
		w.Unready(p.image(), w.PodCount(), 0)
	case "kill":
		w.Kill(p.image(), int(e.number()))
	case "mend":
		w.SetFate(p.image(), sim.Fate{Start: p.PodStartup})
	}
	p.watch()
}

// restore puts a Service back as it was given.
func (p *player) restore(name string) {
	if p.world.Service(name) != nil {
		return
	}
	for _, s := range p.Services {
		if s.Name == name {
			s = s.DeepCopy()
			delete(s.Spec.Selector, v1alpha1.PodTemplateHashLabel)
			p.world.PutService(s)
		}
	}
}

// image is the current version's.
func (p *player) image() string {
	for _, v := range p.world.Versions() {
		if v.Hash == p.world.Rollout().Status.CurrentPodHash {
			return v.Image
		}
	}
	return ""
}
