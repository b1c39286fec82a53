package play

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

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
	// Rollout as it will be. Its status counts for nothing, the update begins on a settled rollout; but a warning tells what was under way.
	Rollout *v1alpha1.Rollout
	// Services, Templates and Deployment are what it names.
	Services   []*corev1.Service
	Templates  analysis.Templates
	Deployment *appsv1.Deployment
	// Secrets and ConfigMaps are what arguments of templates may come from.
	Secrets    []*corev1.Secret
	ConfigMaps []*corev1.ConfigMap
	// Routes are what its traffic routers split.
	Routes []*unstructured.Unstructured
	// Autoscaler is what scales it, nil for nothing.
	Autoscaler *autoscalingv2.HorizontalPodAutoscaler
	// NoAutoscaler is why there is none, and what to do about it.
	NoAutoscaler string
	// Providers are the names of the metric providers that this version has.
	Providers []string
	// Images, by container, are what is updated to. Without any the update is to the template as it is, from an earlier one.
	Images map[string]string
	// Stable is what the stable version is made from, where an update of the Rollout is under way, or was aborted. The one that is played
	// begins there.
	Stable *corev1.PodTemplateSpec
	// PodStartup is how long a pod takes to become ready.
	PodStartup time.Duration
	Scenario   []Event
	// Warnings are remarks of the caller that gathered all this.
	Warnings []string
	// StopAtPauses ends the story where a user would have to promote; otherwise the update is promoted immediately.
	StopAtPauses bool
	// Tell is told how things are after each decision, unless it is nil.
	Tell func(Instant)
}

// Written is the Rollout with the template of its pods, wherever that comes from.
func (s Stage) Written() *v1alpha1.Rollout {
	if s.Deployment == nil {
		return s.Rollout
	}
	ro, _ := spec.WithWorkload(s.Rollout, s.Deployment) // what is wrong with it, playing it tells
	return ro
}

// IsRoute reports whether objects of a kind are among what traffic routers split.
func IsRoute(kind schema.GroupKind) bool { return routers.WritesKind(kind) }

// longest is how much virtual time an update may take.
const longest = 14 * 24 * time.Hour

// Play plays the update to its end.
func Play(s Stage) (view.Simulation, error) {
	if err := s.check(); err != nil {
		return view.Simulation{}, err
	}
	p := &player{Stage: s, outcomes: map[string]*outcome{}, warnings: slices.Clone(s.Warnings)}
	p.stage()
	if err := p.settle(); err != nil {
		return view.Simulation{}, err
	}
	if err := p.begin(); err != nil {
		return view.Simulation{}, err
	}
	p.perform()
	return p.summarise(), nil
}

type player struct {
	Stage
	world *sim.World
	// begun is when the update began, old the version that was there before.
	begun   time.Duration
	old     string
	started bool
	// before is the template of that version.
	before corev1.PodTemplateSpec

	outcomes   map[string]*outcome
	autoscaler autoscaler

	moments  []view.Moment
	measures []view.Measured
	done     []string
	acts     []string
	waiting  string
	warnings []string
	passes   int
	least    int
	most     int
	// promotions are how often a user had to promote. turn is asked before each, and may refuse; nil allows all.
	promotions int
	turn       func() bool
	// events are how many things have happened, limit how many may; zero is any number.
	events, limit int
}

// stage creates the objects, and starts the controllers.
func (p *player) stage() {
	p.world = sim.New(sim.Options{PodStart: p.PodStartup})
	p.world.Policy = spec.AllowAll()
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
			continue // the Rollout's own, which is created again
		}
		o.SetNamespace(cmp.Or(o.GetNamespace(), ro.Namespace))
		p.world.PutRoute(o)
	}
	ro.Status, ro.ResourceVersion = v1alpha1.RolloutStatus{}, ""
	ro.Spec.Paused, ro.Spec.RestartAt = false, nil
	if p.Deployment != nil {
		p.world.PutDeployment(func(d *appsv1.Deployment) { *d = *p.Deployment.DeepCopy() })
	}
	p.world.Create(ro)
	p.before = *p.template().DeepCopy()
	if c := p.before.Spec.Containers; len(p.Images) == 0 && len(c) > 0 {
		c[0].Image = earlier
	}
	if p.Stable != nil {
		p.before = *p.Stable.DeepCopy()
		if p.Rollout.Status.Abort {
			p.warn("the previous update was aborted: the simulation starts from the stable version alone, as if there were no update")
		} else {
			p.warn("an update is in progress: the simulation starts from the stable version, as if it had not begun")
		}
	}
	p.edit(func(t *corev1.PodTemplateSpec) { *t = *p.before.DeepCopy() })
	p.charge()
}

// charge puts the controllers in charge.
func (p *player) charge() {
	p.world.Watch = p.watch
	p.world.Analyse(&sim.AnalysisController{Providers: p.Providers, Measure: p.measure, Arguments: p.arguments, OnPass: p.measured})
	p.world.ControlExperiments(&sim.ExperimentController{OnPass: p.experimented})
	p.world.Control(&sim.Controller{Next: plan.Next, OnPass: p.pass})
}

// template is that of the pods, wherever it comes from.
func (s Stage) template() *corev1.PodTemplateSpec {
	if s.Rollout.Spec.WorkloadRef != nil && s.Deployment != nil {
		return &s.Deployment.Spec.Template
	}
	return &s.Rollout.Spec.Template
}

// earlier is the image that is there before the update where nobody says which.
const earlier = "earlier"

// settle brings up what there is before the update.
func (p *player) settle() error {
	p.world.Settle(longest)
	ro := p.world.Rollout()
	var problems []string
	for _, c := range ro.Status.Conditions {
		if c.Type == v1alpha1.ConditionInvalidSpec {
			problems = append(problems, c.Message)
		}
	}
	switch {
	case len(problems) > 0:
		return errors.New(strings.Join(problems, "; "))
	case ro.Status.Phase != v1alpha1.RolloutPhaseHealthy:
		return fmt.Errorf("the rollout does not become healthy even before the update: %s %s", ro.Status.Phase, ro.Status.Message)
	}
	p.old, p.begun, p.started = ro.Status.StableRS, p.world.Elapsed(), true
	p.least, p.passes = p.serving(), 0
	return nil
}

// begin sets the new template.
func (p *player) begin() error {
	after := p.template().DeepCopy()
	for container, image := range p.Images {
		if err := setImage(after, container, image); err != nil {
			return err
		}
	}
	p.edit(func(t *corev1.PodTemplateSpec) { *t = *after })
	return nil
}

func (p *player) edit(change func(*corev1.PodTemplateSpec)) {
	if p.Rollout.Spec.WorkloadRef != nil && p.Deployment != nil {
		p.world.PutDeployment(func(d *appsv1.Deployment) { change(&d.Spec.Template) })
		return
	}
	p.world.Edit(func(ro *v1alpha1.Rollout) { change(&ro.Spec.Template) })
}

// setImage sets the image of a container, of all with *.
func setImage(t *corev1.PodTemplateSpec, container, image string) error {
	var names []string
	found := false
	for i := range t.Spec.Containers {
		c := &t.Spec.Containers[i]
		names = append(names, c.Name)
		if c.Name == container || container == "*" {
			c.Image, found = image, true
		}
	}
	if !found {
		return fmt.Errorf("there is no container %q: %s", container, meant(container, names))
	}
	return nil
}

func (p *player) since() time.Duration { return p.world.Elapsed() - p.begun }

// warn adds a warning, once.
func (p *player) warn(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(p.warnings, text) {
		p.warnings = append(p.warnings, text)
	}
}
