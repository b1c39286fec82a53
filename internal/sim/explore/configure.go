package explore

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/sim"
)

// The names of what a Rollout of a history may name.
const (
	active, preview = "web-active", "web-preview"
)

var templates = []string{"smoke", "load"}

// services are the names of those that a Rollout of the history may name.
func (h *history) services() []string {
	named := allServices[:2]
	if h.Routed {
		named = allServices
	}
	if h.Hands {
		named = slices.Concat(named, spareServices)
	}
	return named
}

// furnish puts into the world what a Rollout may name.
func (h *history) furnish() {
	for _, name := range h.services() {
		h.world.CreateService(name)
	}
	for _, name := range templates {
		h.world.CreateTemplate(name)
	}
}

// rollout is where a history starts.
func (h *history) rollout() *v1alpha1.Rollout {
	ro := sim.NewRollout("web", "v1", int32(h.IntN(8)))
	if h.IntN(8) == 0 {
		ro.Spec.WorkloadRef = &v1alpha1.ObjectRef{
			APIVersion: "apps/v1", Kind: "Deployment", Name: ro.Name,
			ScaleDown: []v1alpha1.WorkloadScaleDown{"", v1alpha1.ScaleDownNever, v1alpha1.ScaleDownOnSuccess, v1alpha1.ScaleDownProgressively}[h.IntN(4)],
		}
		ro.Spec.Template, ro.Spec.Selector = corev1.PodTemplateSpec{}, nil
		h.world.PutDeployment(func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(h.IntN(4))) })
	}
	h.configure(ro)
	return ro
}

// configure sets everything of a spec that there is to set, but replicas and image.
func (h *history) configure(ro *v1alpha1.Rollout) {
	s := &ro.Spec
	s.MinReadySeconds = []int32{0, 0, 3, 20}[h.IntN(4)]
	s.ProgressDeadlineSeconds = new([]int32{45, 60, 600}[h.IntN(3)]) // long enough for a pod that starts slowly
	s.ProgressDeadlineAbort = h.IntN(3) == 0
	s.RevisionHistoryLimit = new(int32(h.IntN(4)))
	s.Analysis = &v1alpha1.AnalysisRunStrategy{SuccessfulRunHistoryLimit: new(int32(h.IntN(3))), UnsuccessfulRunHistoryLimit: new(int32(h.IntN(3)))}
	switch {
	case h.Routed && h.IntN(8) > 0:
		s.Strategy = v1alpha1.RolloutStrategy{Canary: h.routedCanary(s)}
	case h.IntN(2) == 0:
		s.Strategy = v1alpha1.RolloutStrategy{Canary: h.canary()}
	default:
		s.Strategy = v1alpha1.RolloutStrategy{BlueGreen: h.blueGreen(*s.RevisionHistoryLimit)}
	}
}

func (h *history) canary() *v1alpha1.CanaryStrategy {
	c := &v1alpha1.CanaryStrategy{Steps: h.steps()}
	c.MaxSurge, c.MaxUnavailable = h.limits()
	if h.IntN(6) == 0 {
		c.ReplicaProgressThreshold = &v1alpha1.ReplicaProgressThreshold{Type: v1alpha1.ProgressThresholdPercent, Value: int32(50 + h.IntN(51))}
	}
	if h.IntN(5) == 0 {
		c.Analysis = &v1alpha1.RolloutAnalysisBackground{RolloutAnalysis: *h.analysis(), StartingStep: new(int32(h.IntN(4)))}
	}
	c.CanaryMetadata, c.StableMetadata, c.AntiAffinity = h.metadata("canary"), h.metadata("stable"), h.antiAffinity()
	return c
}

func (h *history) blueGreen(history int32) *v1alpha1.BlueGreenStrategy {
	b := &v1alpha1.BlueGreenStrategy{ActiveService: active}
	if h.IntN(3) > 0 {
		b.PreviewService = preview
	}
	switch h.IntN(3) {
	case 0:
		b.AutoPromotionEnabled = new(false)
	case 1:
		b.AutoPromotionSeconds = int32(h.IntN(40))
	}
	if h.IntN(3) == 0 {
		b.PreviewReplicaCount = new(int32(h.IntN(4)))
	}
	b.ScaleDownDelaySeconds = []*int32{nil, new(int32(0)), new(int32(5)), new(int32(300))}[h.IntN(4)]
	b.AbortScaleDownDelaySeconds = []*int32{nil, new(int32(0)), new(int32(10))}[h.IntN(3)]
	if h.IntN(4) == 0 {
		b.ScaleDownDelayRevisionLimit = new(int32(h.IntN(int(history) + 1)))
	}
	if h.IntN(3) == 0 {
		b.PrePromotionAnalysis = h.analysis()
	}
	if h.IntN(3) == 0 {
		b.PostPromotionAnalysis = h.analysis()
	}
	if h.IntN(2) == 0 {
		_, b.MaxUnavailable = h.limits()
	}
	b.PreviewMetadata, b.ActiveMetadata, b.AntiAffinity = h.metadata("preview"), h.metadata("active"), h.antiAffinity()
	return b
}

func (h *history) limits() (surge, unavailable *intstr.IntOrString) {
	choices := []string{"0", "1", "2", "25%", "50%", "100%"}
	s, u := h.IntN(6), h.IntN(6)
	if s == 0 && u == 0 {
		s = 1
	}
	return new(intstr.Parse(choices[s])), new(intstr.Parse(choices[u]))
}

func (h *history) steps() []v1alpha1.CanaryStep {
	var steps []v1alpha1.CanaryStep
	weight := int32(0)
	for range h.IntN(6) {
		switch n := h.IntN(7); {
		case n < 3:
			weight = min(100, max(0, weight+int32(h.IntN(60))-10))
			steps = append(steps, v1alpha1.CanaryStep{SetWeight: new(weight)})
		case n < 6:
			pause := &v1alpha1.RolloutPause{}
			if h.IntN(3) > 0 {
				pause.Duration = new(intstr.FromInt32(int32(h.IntN(90))))
			}
			steps = append(steps, v1alpha1.CanaryStep{Pause: pause})
		default:
			steps = append(steps, v1alpha1.CanaryStep{Analysis: h.analysis()})
		}
	}
	return h.withPlugins(steps)
}

func (h *history) analysis() *v1alpha1.RolloutAnalysis {
	return &v1alpha1.RolloutAnalysis{Templates: []v1alpha1.AnalysisTemplateRef{{TemplateName: templates[h.IntN(len(templates))]}}}
}

// metadata is none mostly: to find out about pods the controller must look at them, which takes long.
func (h *history) metadata(role string) *v1alpha1.PodTemplateMetadata {
	if h.IntN(8) > 0 {
		return nil
	}
	return &v1alpha1.PodTemplateMetadata{Labels: map[string]string{"role": role}, Annotations: map[string]string{role: "yes"}}
}

func (h *history) antiAffinity() *v1alpha1.AntiAffinity {
	if h.IntN(8) > 0 {
		return nil
	}
	return &v1alpha1.AntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1alpha1.RequiredDuringSchedulingIgnoredDuringExecution{}}
}

// describe is what is asked of the controller now.
func describe(w *sim.World) string {
	ro := w.Rollout()
	strategy, err := json.Marshal(ro.Spec.Strategy)
	if err != nil {
		panic(err)
	}
	image := ""
	if d := w.Deployment(); ro.Spec.WorkloadRef != nil && d != nil {
		image = fmt.Sprintf("workloadRef %s %s", d.Spec.Template.Spec.Containers[0].Image, ro.Spec.WorkloadRef.ScaleDown)
	} else if ro.Spec.WorkloadRef == nil {
		image = ro.Spec.Template.Spec.Containers[0].Image
	}
	return fmt.Sprintf("%s replicas=%d minReady=%d deadline=%d abort=%t paused=%t history=%d %s", image, *ro.Spec.Replicas, ro.Spec.MinReadySeconds,
		*ro.Spec.ProgressDeadlineSeconds, ro.Spec.ProgressDeadlineAbort, ro.Spec.Paused, *ro.Spec.RevisionHistoryLimit, strategy)
}

func summary(w *sim.World) string {
	s := w.Rollout().Status
	step := int32(-1)
	if s.CurrentStepIndex != nil {
		step = *s.CurrentStepIndex
	}
	text := fmt.Sprintf("%s %q step %d, stable %s, current %s, pods: %s", s.Phase, s.Message, step, s.StableRS, s.CurrentPodHash, w.Pods())
	for _, name := range everyService {
		if s := w.Service(name); s != nil {
			text += fmt.Sprintf("; %s selects %s", name, s.Spec.Selector[v1alpha1.PodTemplateHashLabel])
		}
	}
	return text + routesText(w)
}
