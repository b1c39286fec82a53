package play

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/routers"
	"github.com/sluice-delivery/sluice/internal/view"
)

// Stage is what an update is played with.
type Stage struct {
	// Rollout as it will be. Its status counts for nothing: the update begins on a settled rollout.
	Rollout *v1alpha1.Rollout
	// Services, Templates and Deployment are what it names.
	Services   []*corev1.Service
	Templates  analysis.Templates
	Deployment *appsv1.Deployment
	// Routes are what its traffic routers split.
	Routes []*unstructured.Unstructured
	// Images, by container, are what is updated to. Without any the update is to the template as it is, from an earlier one.
	Images map[string]string
	// PodStartup is how long a pod takes to become ready.
	PodStartup time.Duration
	Scenario   []Event
	// StopAtPauses ends the story where a person would have to go on; otherwise somebody promotes at once.
	StopAtPauses bool
}

// longest is how much virtual time an update may take.
const longest = 14 * 24 * time.Hour

// Play plays the update to its end.
func Play(s Stage) (view.Simulation, error) {
	p := &player{Stage: s}
	p.stage()
	if err := p.settle(); err != nil {
		return view.Simulation{}, err
	}
	if err := p.begin(); err != nil {
		return view.Simulation{}, err
	}
	p.perform()
	return p.tell(), nil
}

type player struct {
	Stage
	world *sim.World
	// begun is when the update began.
	begun   time.Duration
	old     string
	started bool

	moments []view.Moment
	done    []string
	waiting string
	passes  int
	least   int
	most    int
	// promotions are how often somebody had to promote.
	promotions int
}

func (p *player) stage() {
	p.world = sim.New(sim.Options{PodStart: p.PodStartup, Verdict: p.verdict})
	for _, s := range p.Services {
		s = s.DeepCopy()
		delete(s.Spec.Selector, v1alpha1.PodTemplateHashLabel)
		delete(s.Annotations, v1alpha1.ManagedByAnnotation)
		p.world.PutService(s)
	}
	p.world.PutTemplates(p.Templates)
	ro := p.Rollout.DeepCopy()
	ro.Namespace = cmp.Or(ro.Namespace, metav1.NamespaceDefault)
	for _, o := range p.Routes {
		o = routers.Release(traffic.Owner{Namespace: ro.Namespace, Name: ro.Name, UID: ro.UID}, o.DeepCopy())
		if o == nil {
			continue // the Rollout's own, which is made anew
		}
		o.SetNamespace(cmp.Or(o.GetNamespace(), ro.Namespace))
		p.world.PutRoute(o)
	}
	ro.Status, ro.ResourceVersion = v1alpha1.RolloutStatus{}, ""
	ro.Spec.Paused, ro.Spec.RestartAt = false, nil
	template := &ro.Spec.Template
	if ro.Spec.WorkloadRef != nil && p.Deployment != nil {
		p.world.PutDeployment(func(d *appsv1.Deployment) { *d = *p.Deployment.DeepCopy() })
		template = nil
	}
	if template != nil && len(p.Images) == 0 {
		before(template)
	} else if len(p.Images) == 0 {
		p.world.PutDeployment(func(d *appsv1.Deployment) { before(&d.Spec.Template) })
	}
	p.world.Create(ro)
	p.world.Watch = p.watch
	p.world.Control(&sim.Controller{Next: plan.Next, OnPass: p.pass})
}

// earlier marks the template that is there before the update.
const earlier = "simulate.sluice/earlier"

func before(t *corev1.PodTemplateSpec) {
	t.Annotations = maps.Clone(t.Annotations)
	if t.Annotations == nil {
		t.Annotations = map[string]string{}
	}
	t.Annotations[earlier] = "true"
}

// settle brings up what there is before the update.
func (p *player) settle() error {
	p.world.Settle(longest)
	ro := p.world.Rollout()
	if ro.Status.Phase == v1alpha1.RolloutPhaseHealthy {
		p.old, p.begun, p.started = ro.Status.StableRS, p.world.Elapsed(), true
		p.least, p.passes = p.world.Available(), 0
		return nil
	}
	var problems []string
	for _, c := range ro.Status.Conditions {
		if c.Type == v1alpha1.ConditionInvalidSpec {
			problems = append(problems, c.Message)
		}
	}
	if len(problems) > 0 {
		return errors.New(strings.Join(problems, "; "))
	}
	return fmt.Errorf("the rollout does not become healthy even before the update: %s %s", ro.Status.Phase, ro.Status.Message)
}

// begin sets the new template.
func (p *player) begin() error {
	var err error
	change := func(t *corev1.PodTemplateSpec) {
		delete(t.Annotations, earlier)
		if len(t.Annotations) == 0 {
			t.Annotations = nil
		}
		for container, image := range p.Images {
			if e := setImage(t, container, image); e != nil {
				err = e
			}
		}
	}
	p.edit(change)
	return err
}

func (p *player) edit(change func(*corev1.PodTemplateSpec)) {
	if p.Rollout.Spec.WorkloadRef != nil {
		p.world.PutDeployment(func(d *appsv1.Deployment) { change(&d.Spec.Template) })
		return
	}
	p.world.Edit(func(ro *v1alpha1.Rollout) { change(&ro.Spec.Template) })
}

func setImage(t *corev1.PodTemplateSpec, container, image string) error {
	var names []string
	for i := range t.Spec.Containers {
		c := &t.Spec.Containers[i]
		if c.Name == container || container == "*" {
			c.Image = image
			return nil
		}
		names = append(names, c.Name)
	}
	return fmt.Errorf("there is no container %q: the pods have %s", container, strings.Join(names, ", "))
}

// perform lets the update run, with what the scenario brings.
func (p *player) perform() {
	events := p.Scenario
	for p.since() < longest {
		until := longest
		if len(events) > 0 {
			until = events[0].At
		}
		for p.world.Step(sim.Start.Add(p.begun + until)) {
		}
		if len(events) > 0 {
			p.world.Run(sim.Start.Add(p.begun + until))
			p.do(events[0])
			events = events[1:]
			continue
		}
		if !p.world.Due().IsZero() || p.StopAtPauses || !p.goOn() {
			return
		}
	}
}

func (p *player) since() time.Duration { return p.world.Elapsed() - p.begun }

// goOn is what a person does about a rollout that waits for one, and reports whether one does.
func (p *player) goOn() bool {
	s := p.world.Rollout().Status
	if s.Phase != v1alpha1.RolloutPhasePaused || p.promotions > 1000 {
		return false
	}
	p.promotions++
	p.done = append(p.done, "somebody promotes: nothing else would go on")
	p.world.Promote()
	return true
}

func (p *player) do(e Event) {
	p.done = append(p.done, e.String())
	switch e.Verb {
	case "scale":
		n, _ := strconv.ParseInt(e.Args[0], 10, 32) // as the scenario was read
		p.world.Scale(int32(n))
	case "image":
		container, image, _ := strings.Cut(e.Args[0], "=")
		p.edit(func(t *corev1.PodTemplateSpec) {
			if err := setImage(t, container, image); err != nil {
				p.done = append(p.done, err.Error())
			}
		})
	case "promote":
		p.world.Promote()
	case "promote-full":
		p.world.PromoteFull()
	case "abort":
		p.world.Abort()
	case "retry":
		p.world.Retry()
	case "pause":
		p.world.Pause(true)
	case "resume":
		p.world.Pause(false)
	case "restart":
		p.world.Restart(p.world.Now())
	case "break":
		p.world.SetFate(p.image(), sim.Fate{Broken: true})
	case "mend":
		if e.Args[0] == "pods" {
			p.world.SetFate(p.image(), sim.Fate{Start: p.PodStartup})
		}
	}
	p.watch()
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

func (p *player) verdict(run *v1alpha1.AnalysisRun) (v1alpha1.AnalysisPhase, time.Duration) {
	return forecast(run, p.since(), p.Scenario)
}

func (p *player) pass(pass sim.Pass) {
	p.passes++
	p.waiting = ""
	for _, n := range pass.Plan.Notes {
		text := p.readable(n.Text)
		if n.Reason != "" {
			text += ": " + p.readable(n.Reason)
		}
		if n.Topic == plan.TopicWait {
			p.waiting = text
			continue
		}
		if p.started {
			p.done = append(p.done, text)
		}
	}
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
			m.Done = slices.Concat(last.Done, m.Done)
			p.moments[n-1] = m
			p.done = nil
			return
		}
		if len(m.Done) == 0 && same(last, m) {
			return
		}
	}
	p.moments = append(p.moments, m)
	p.done = nil
}

func same(a, b view.Moment) bool {
	return a.Step == b.Step && a.Phase == b.Phase && a.Message == b.Message && a.Weight == b.Weight && a.Waiting == b.Waiting &&
		slices.Equal(a.Versions, b.Versions)
}

// serving is how many pods can serve: those behind the active Service of a blue-green rollout.
func (p *player) serving() int {
	if b := p.world.Rollout().Spec.Strategy.BlueGreen; b != nil {
		return p.world.Behind(b.ActiveService)
	}
	return p.world.Available()
}

func (p *player) moment() view.Moment {
	ro := p.world.Rollout()
	m := view.Moment{
		At: view.Seconds(p.since()), Done: p.done, Waiting: p.waiting, Phase: string(ro.Status.Phase), Message: ro.Status.Message, Weight: p.weight(),
	}
	if c := ro.Spec.Strategy.Canary; c != nil && len(c.Steps) > 0 && ro.Status.CurrentStepIndex != nil {
		m.Steps, m.Step = len(c.Steps), min(int(*ro.Status.CurrentStepIndex)+1, len(c.Steps))
	}
	for _, v := range p.world.Versions() {
		if v.Wanted == 0 && v.Pods == 0 {
			continue
		}
		m.Versions = append(m.Versions, view.Pods{Version: p.name(v), Wanted: v.Wanted, Pods: v.Pods, Available: v.Available})
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
	switch v.Hash {
	case p.old:
		return view.OldVersion
	case p.world.Rollout().Status.CurrentPodHash:
		return view.NewVersion
	}
	return v.Hash
}

var instants = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)

// readable puts names for hashes, and times since the update began for instants.
func (p *player) readable(text string) string {
	name := p.world.Rollout().Name
	for _, v := range p.world.Versions() {
		text = strings.ReplaceAll(text, name+"-"+v.Hash+"-", name+"-"+p.name(v)+"-") // an AnalysisRun's
		text = strings.ReplaceAll(text, name+"-"+v.Hash, "the "+p.name(v)+" version")
		text = strings.ReplaceAll(text, v.Hash, "the "+p.name(v)+" version")
	}
	return instants.ReplaceAllStringFunc(text, func(s string) string {
		at, err := time.Parse(time.RFC3339, s)
		if err != nil {
			return s
		}
		return view.Seconds(at.Sub(sim.Start) - p.begun).String()
	})
}

func (p *player) tell() view.Simulation {
	ro := p.world.Rollout()
	s := view.Simulation{Rollout: ro.Name, Strategy: "canary", Moments: p.moments}
	if ro.Spec.Strategy.BlueGreen != nil {
		s.Strategy = "blue-green"
	}
	end := view.Seconds(0)
	if n := len(p.moments); n > 0 {
		end = p.moments[n-1].At
	}
	s.Summary = view.Played{
		Phase: string(ro.Status.Phase), Message: ro.Status.Message, Duration: end, MostPods: p.most, LeastAvailable: p.least, Passes: p.passes,
		Promoted: ro.Status.StableRS == ro.Status.CurrentPodHash && ro.Status.StableRS != p.old, Aborted: ro.Status.Abort,
	}
	if p.promotions > 0 {
		s.Warnings = append(s.Warnings, fmt.Sprintf("a person has to promote %s; here it took no time", times(p.promotions)))
	}
	if !p.world.Due().IsZero() {
		s.Warnings = append(s.Warnings, "things still happen after 14 days: the story ends there")
	}
	if resolved, problems := spec.Resolve(ro); len(problems) == 0 && resolved.Replicas == 0 {
		s.Warnings = append(s.Warnings, "with 0 replicas there is nothing to see: use --replicas")
	}
	return s
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
