package script

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// teller turns what happens into lines. What is decided it tells at once; what is waited for, how many pods there are and what the
// status says it tells when an instant is over, and only where that has changed.
type teller struct {
	lines []string
	// versions are the readable names of hashes.
	versions map[string]string
	events   bool
	hushed   bool

	experimentWait, experimentState         string
	toldExperimentWait, toldExperimentState string

	at                time.Duration
	wait, pods, state string
	// held is what the mover's promises hold back, all of it.
	held, toldHeld         string
	toldWait, toldPods     string
	toldState, toldRefusal string
}

// pass tells what a pass decided.
func (t *teller) pass(w *sim.World, p sim.Pass) {
	if t.hushed {
		t.learn(w, p)
		return
	}
	t.catchUp(w)
	t.learn(w, p)
	t.wait, t.held = "", ""
	refusal := ""
	for _, n := range p.Plan.Notes {
		line := t.line(w, string(n.Topic), n.Text, Because(n))
		switch {
		case n.Promise.Name != "":
			t.held += line
		case n.Topic == change.TopicWait:
			t.wait = line
		case n.Topic == change.TopicRefuse:
			refusal += line
		default:
			t.lines = append(t.lines, line)
		}
	}
	if t.wait == "" {
		t.toldWait = ""
	}
	if t.held == "" {
		t.toldHeld = ""
	}
	if text := withoutTimes(refusal); text != t.toldRefusal {
		t.lines = append(t.lines, refusal)
		t.toldRefusal = text
	}
	t.outcome(w, p.Outcome, p.Plan.Events)
	for _, call := range p.Asked {
		text, why := callText(call)
		t.tell(w, "ask", text, why)
	}
	if ro := w.Rollout(); ro != nil {
		t.state = t.stateOf(w, ro)
	}
}

// Because is the reason of a note, and the promise that has it wait if one does.
func Because(n change.Note) string {
	if n.Promise.Name == "" {
		return n.Reason
	}
	return n.Reason + " [" + n.Promise.Name + "]"
}

// outcome tells what came of a plan.
func (t *teller) outcome(w *sim.World, o sim.Outcome, events []change.Event) {
	switch {
	case o.Crashed:
		t.tell(w, "crash", fmt.Sprintf("the controller stops after %d writes", o.Writes), "")
	case o.Conflict:
		t.tell(w, "conflict", fmt.Sprintf("another look, after %d writes", o.Writes), "")
	}
	if o.Idle != "" {
		t.tell(w, "FAULT", o.Idle, "")
	}
	if t.events {
		for _, e := range events {
			topic := "event"
			if e.Warning {
				topic = "warning"
			}
			t.tell(w, topic, e.Reason, e.Message)
		}
	}
}

// happened notes what else changed.
func (t *teller) happened(w *sim.World) {
	if t.hushed {
		return
	}
	t.catchUp(w)
	if pods := w.Pods(); pods != "" {
		t.pods = t.line(w, "pods", pods, "")
	}
}

// catchUp ends the last instant if time has moved on.
func (t *teller) catchUp(w *sim.World) {
	if w.Elapsed() != t.at {
		t.close()
		t.at = w.Elapsed()
	}
}

// close ends an instant.
func (t *teller) close() {
	for _, l := range []struct{ now, told *string }{
		{&t.pods, &t.toldPods},
		{&t.held, &t.toldHeld},
		{&t.wait, &t.toldWait},
		{&t.state, &t.toldState},
		{&t.experimentWait, &t.toldExperimentWait},
		{&t.experimentState, &t.toldExperimentState},
	} {
		if *l.now != "" && withoutTimes(*l.now) != withoutTimes(*l.told) {
			t.lines = append(t.lines, *l.now)
			*l.told = *l.now
		}
	}
	t.wait, t.held, t.experimentWait = "", "", ""
}

// flush returns the lines since the last flush.
func (t *teller) flush(w *sim.World) string {
	t.close()
	t.at = w.Elapsed()
	text := strings.Join(t.lines, "")
	t.lines = nil
	return text
}

func (t *teller) tell(w *sim.World, topic, text, reason string) {
	t.lines = append(t.lines, t.line(w, topic, text, reason))
}

const timeWidth = 9

func (t *teller) line(w *sim.World, topic, text, reason string) string {
	line := fmt.Sprintf("%-*s%-8s%-48s  %s", timeWidth, shortly(w.Elapsed()), topic, t.readable(text), t.readable(reason))
	return strings.TrimRight(line, " ") + "\n"
}

func withoutTimes(lines string) string {
	var b strings.Builder
	for line := range strings.Lines(lines) {
		b.WriteString(afterTime(line))
	}
	return b.String()
}

func afterTime(line string) string { return line[min(timeWidth, len(line)):] }

func (t *teller) stateOf(w *sim.World, ro *v1alpha1.Rollout) string {
	s := ro.Status
	text := string(s.Phase)
	if s.Message != "" {
		text += ": " + s.Message
	}
	step := ""
	if s.CurrentStepIndex != nil {
		step = fmt.Sprintf("step %d/%d", *s.CurrentStepIndex, len(ro.Spec.Strategy.Canary.Steps))
	}
	return t.line(w, "status", text, step)
}

// learn finds readable names for the hashes of a pass: the image's name, with a tick for a second hash of the same one.
func (t *teller) learn(w *sim.World, p sim.Pass) {
	if p.Observed.CreateFailure != nil || !t.hushed { // the name that is wanted, before any other that is tried instead
		template := templateOf(p.Observed)
		t.call(spec.PodHash(&template, p.Observed.Rollout.Status.CollisionCount), sim.ImageOf(template))
	}
	for _, s := range w.AllReplicaSets() {
		t.call(s.Labels[v1alpha1.PodTemplateHashLabel], sim.ImageOf(s.Spec.Template))
	}
}

func (t *teller) call(hash, version string) {
	if t.versions == nil {
		t.versions = map[string]string{}
	}
	if hash == "" || t.versions[hash] != "" {
		return
	}
	for _, taken := range t.versions {
		if taken == version {
			version += "'"
		}
	}
	t.versions[hash] = version
}

var instants = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)

// readable puts names for hashes and times since the beginning for instants.
func (t *teller) readable(text string) string {
	for hash, version := range t.versions {
		text = strings.ReplaceAll(text, hash, version)
	}
	return instants.ReplaceAllStringFunc(text, func(s string) string {
		at, err := time.Parse(time.RFC3339, s)
		if err != nil {
			return s
		}
		return shortly(at.Sub(sim.Start))
	})
}

// shortly is a duration without its zeros.
func shortly(d time.Duration) string {
	s := d.String()
	if s != "0s" {
		s = strings.TrimSuffix(s, "0s")
		if !strings.HasSuffix(s, "m") {
			return d.String()
		}
		if strings.HasSuffix(s, "h0m") {
			s = strings.TrimSuffix(s, "0m")
		}
	}
	return s
}

// status is the whole status, for a closer look.
func (t *teller) status(w *sim.World) string {
	var b strings.Builder
	row := func(key, format string, args ...any) {
		text := fmt.Sprintf("%-15s ", t.readable(key)) + t.readable(fmt.Sprintf(format, args...))
		b.WriteString(strings.TrimRight(text, " ") + "\n")
	}
	if ro := w.Rollout(); ro != nil {
		t.rolloutStatus(ro, row)
	}
	t.experimentStatus(w, row)
	for _, set := range w.AllReplicaSets() {
		row(set.Name, "%s", setText(w, set))
	}
	for _, run := range w.Runs() {
		row("analysis", "%s %s", run.Name, runText(run))
	}
	for _, service := range w.Services() {
		row(service.Name, "%s", serviceText(service))
	}
	for _, o := range w.SortedRoutes() {
		row(o.GetKind(), "%s: %s", o.GetName(), routeText(o))
	}
	return b.String()
}

func (t *teller) rolloutStatus(ro *v1alpha1.Rollout, row func(key, format string, args ...any)) {
	s := ro.Status
	row("phase", "%s %s", s.Phase, s.Message)
	row("versions", "current %s, stable %s", s.CurrentPodHash, s.StableRS)
	row("pods", "%d in all, %d updated, %d ready, %d available", s.Replicas, s.UpdatedReplicas, s.ReadyReplicas, s.AvailableReplicas)
	if s.CurrentStepIndex != nil {
		row("step", "%d of %d", *s.CurrentStepIndex, len(ro.Spec.Strategy.Canary.Steps))
	}
	if s.Canary.CurrentExperiment != "" {
		row("experiment", "%s", s.Canary.CurrentExperiment)
	}
	for _, e := range s.Canary.StepPluginStatuses {
		row("plugin", "%s", pluginText(e))
	}
	for _, c := range s.PauseConditions {
		row("paused", "%s since %s", c.Reason, c.StartTime.UTC().Format(time.RFC3339))
	}
	if s.Abort {
		row("aborted", "at %s", s.AbortedAt.UTC().Format(time.RFC3339))
	}
	if s.PromoteFull || s.ControllerPause {
		row("flags", "promoteFull %t, controllerPause %t", s.PromoteFull, s.ControllerPause)
	}
	for _, c := range s.Conditions {
		row(string(c.Type), "%s %s at %s: %s", c.Status, c.Reason, c.LastUpdateTime.UTC().Format(time.RFC3339), c.Message)
	}
	if d := s.Duration; d != nil {
		row("duration", "%s", durationText(d))
	}
	if weights := s.Canary.Weights; weights != nil {
		row("weights", "%s", weightsText(weights))
	}
}

func durationText(d *v1alpha1.RolloutDuration) string {
	var parts []string
	if d.RolloutStartedAt != nil {
		parts = append(parts, "from "+d.RolloutStartedAt.UTC().Format(time.RFC3339))
	}
	if d.FinishedAt != nil {
		parts = append(parts, fmt.Sprintf("to %s (%s)", d.FinishedAt.UTC().Format(time.RFC3339), d.CompletionStatus))
	}
	if d.ManualPauseStartedAt != nil {
		parts = append(parts, "held since "+d.ManualPauseStartedAt.UTC().Format(time.RFC3339))
	}
	if d.TotalManualPauseDurationSeconds != nil {
		parts = append(parts, fmt.Sprintf("held for %ds", *d.TotalManualPauseDurationSeconds))
	}
	return strings.Join(parts, ", ")
}

// setText is a ReplicaSet's size and annotations.
func setText(w *sim.World, s *appsv1.ReplicaSet) string {
	parts := []string{fmt.Sprintf("%d pods wanted", *s.Spec.Replicas)}
	for key, value := range s.Annotations {
		parts = append(parts, fmt.Sprintf("%s %s", key[strings.LastIndex(key, "/")+1:], value))
	}
	slices.Sort(parts[1:])
	parts = append(parts, markText(w, s)...)
	return strings.Join(parts, ", ")
}
