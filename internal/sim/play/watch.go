package play

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/view"
)

// pass tells what was decided about the Rollout.
func (p *player) pass(pass sim.Pass) {
	p.passes++
	p.waiting = ""
	p.notes(pass.Plan.Notes, true)
	p.instant(pass.Plan.Events)
}

// experimented tells what was decided about an Experiment.
func (p *player) experimented(pass sim.ExperimentPass) {
	p.passes++
	p.notes(pass.Plan.Notes, false)
}

func (p *player) notes(notes []change.Note, waits bool) {
	for _, n := range notes {
		switch {
		case n.Topic != change.TopicWait:
			p.note(n.Text, n.Reason)
		case waits:
			p.waiting = p.sentence(n.Text, n.Reason)
		}
	}
}

// note is something that was done, and why.
func (p *player) note(text, reason string) {
	if text := p.sentence(text, reason); p.started && !p.noted(text) {
		p.done = append(p.done, text)
	}
}

// noted reports whether a text was already reported at this instant: every reconcile repeats what is still wrong.
func (p *player) noted(text string) bool {
	n := len(p.moments)
	now := n > 0 && p.moments[n-1].At == view.Seconds(p.since())
	return slices.Contains(p.done, text) || now && slices.Contains(p.moments[n-1].Done, text)
}

func (p *player) sentence(text, reason string) string {
	text = p.readable(text)
	if reason != "" {
		text += ": " + p.readable(reason)
	}
	return text
}

// tell is something that happened from outside.
func (p *player) tell(text string) {
	p.done = append(p.done, text)
	p.acts = append(p.acts, text)
}

// watch notes how things are after something happened.
func (p *player) watch() {
	if !p.started {
		return
	}
	p.most = max(p.most, p.world.PodCount())
	p.least = min(p.least, p.serving())
	m := p.moment()
	if n := len(p.moments); n > 0 {
		last := p.moments[n-1]
		if last.At == m.At {
			m.Done, m.Acts = slices.Concat(last.Done, m.Done), slices.Concat(last.Acts, m.Acts)
			p.moments[n-1] = m
			p.done, p.acts = nil, nil
			return
		}
		if len(m.Done) == 0 && same(last, m) {
			return
		}
	}
	p.moments = append(p.moments, m)
	p.done, p.acts = nil, nil
}

func same(a, b view.Moment) bool {
	return a.Step == b.Step && a.Phase == b.Phase && a.Message == b.Message && a.Weight == b.Weight && a.Waiting == b.Waiting &&
		slices.Equal(a.Versions, b.Versions)
}

// serving is how many pods of the Rollout can serve: those behind the active Service of a blue-green rollout.
func (p *player) serving() int {
	if b := p.world.Rollout().Spec.Strategy.BlueGreen; b != nil {
		return p.world.Behind(b.ActiveService)
	}
	n := 0
	for _, v := range p.world.Versions() {
		if v.Experiment == "" {
			n += v.Available
		}
	}
	return n
}

func (p *player) moment() view.Moment {
	ro := p.world.Rollout()
	m := view.Moment{
		At: view.Seconds(p.since()), Done: p.done, Acts: p.acts, Waiting: p.waiting,
		Phase: string(ro.Status.Phase), Message: p.readable(ro.Status.Message), Weight: p.weight(),
	}
	if c := ro.Spec.Strategy.Canary; c != nil && len(c.Steps) > 0 && ro.Status.CurrentStepIndex != nil {
		m.Steps, m.Step = len(c.Steps), min(int(*ro.Status.CurrentStepIndex)+1, len(c.Steps))
		m.StepsDone = int(*ro.Status.CurrentStepIndex) >= len(c.Steps)
	}
	for _, v := range p.world.Versions() {
		if v.Wanted == 0 && v.Pods == 0 {
			continue
		}
		m.Versions = append(m.Versions, view.Pods{
			Version: p.name(v), Wanted: v.Wanted, Pods: v.Pods, Available: v.Available, Experiment: v.Experiment != "",
		})
	}
	return m
}

// weight is the share of the traffic that the current version gets: its share of the pods that can serve where nothing else splits it.
func (p *player) weight() float64 {
	ro := p.world.Rollout()
	if ro.Status.CurrentPodHash == p.old {
		return 0
	}
	if b := ro.Spec.Strategy.BlueGreen; b != nil {
		if p.world.Selects(b.ActiveService) == ro.Status.CurrentPodHash {
			return 100
		}
		return 0
	}
	if w := ro.Status.Canary.Weights; w != nil {
		of, all := int32(0), int32(0)
		for _, d := range slices.Concat([]v1alpha1.WeightDestination{w.Canary, w.Stable}, w.Additional) {
			all += d.Weight
			if d.PodTemplateHash == ro.Status.CurrentPodHash {
				of += d.Weight
			}
		}
		return float64(of) * 100 / float64(max(all, 1))
	}
	current, all := 0, 0
	for _, v := range p.world.Versions() {
		if v.Experiment != "" {
			continue
		}
		all += v.Available
		if v.Hash == ro.Status.CurrentPodHash {
			current += v.Available
		}
	}
	if all == 0 {
		return 0
	}
	return float64(current) * 100 / float64(all)
}

// name is what a version is called: that of the last template is the new one.
func (p *player) name(v sim.Version) string {
	switch {
	case v.Experiment != "":
		return v.Template
	case v.Hash == p.old:
		return view.OldVersion
	case v.Hash == p.world.Rollout().Status.CurrentPodHash:
		return view.NewVersion
	}
	return "superseded"
}

var instants = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)

// readable puts names for hashes, and times since the update began for instants.
func (p *player) readable(text string) string {
	name := p.world.Rollout().Name
	versions := p.world.Versions()
	slices.SortFunc(versions, func(a, b sim.Version) int { return cmp.Compare(b.Experiment, a.Experiment) }) // theirs are longer names
	for _, v := range versions {
		if v.Experiment != "" {
			name, its := v.Experiment+"-"+v.Template, "the "+v.Template+" version"
			text = strings.ReplaceAll(text, "service "+name, "the service of "+its)
			text = strings.ReplaceAll(text, name, its)
			text = strings.ReplaceAll(text, v.Hash, its)
		}
	}
	for _, v := range versions {
		if v.Experiment != "" {
			continue
		}
		text = strings.ReplaceAll(text, fmt.Sprintf("ReplicaSet %q", name+"-"+v.Hash), "the "+p.name(v)+" version")
		text = strings.ReplaceAll(text, name+"-"+v.Hash+"-", name+"-"+p.name(v)+"-") // an AnalysisRun's, or an Experiment's
		text = strings.ReplaceAll(text, name+"-"+v.Hash, "the "+p.name(v)+" version")
		text = strings.ReplaceAll(text, v.Hash, "the "+p.name(v)+" version")
	}
	if p.turn != nil { // it begins now, so the instants are those of the clock
		return text
	}
	return instants.ReplaceAllStringFunc(text, func(s string) string {
		at, err := time.Parse(time.RFC3339, s)
		if err != nil {
			return s
		}
		return view.Seconds(at.Sub(sim.Start) - p.begun).String()
	})
}
