package explore

import (
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/sim"
)

// disturbance is something that people or fate do.
type disturbance struct {
	often int // how often it happens, compared with the others
	name  string
	do    func(h *history)
}

var disturbances = []disturbance{
	{40, "new image", func(h *history) { h.setImage(h.image()) }},
	{9, "abort", func(h *history) { h.world.Abort() }},
	{8, "retry", func(h *history) { h.world.Retry() }},
	{10, "promote", func(h *history) { h.approve(); h.world.Promote() }},
	{8, "promote full", func(h *history) { h.approve(); h.world.PromoteFull() }},
	{6, "scale", func(h *history) { h.world.Scale(int32(h.IntN(9))) }},
	{2, "other steps", func(h *history) {
		h.edit(func(ro *v1alpha1.Rollout) {
			if c := ro.Spec.Strategy.Canary; c != nil {
				c.Steps = h.stepsFor(c)
			}
		})
	}},
	{1, "other limits", func(h *history) {
		h.edit(func(ro *v1alpha1.Rollout) {
			if c := ro.Spec.Strategy.Canary; c != nil {
				c.MaxSurge, c.MaxUnavailable = h.limits()
			}
		})
	}},
	{2, "other everything", func(h *history) { h.edit(h.configure) }},
	{1, "other metadata", func(h *history) {
		h.edit(func(ro *v1alpha1.Rollout) {
			if c := ro.Spec.Strategy.Canary; c != nil {
				c.CanaryMetadata, c.StableMetadata = h.metadata("canary"), h.metadata("stable")
			} else {
				b := ro.Spec.Strategy.BlueGreen
				b.PreviewMetadata, b.ActiveMetadata = h.metadata("preview"), h.metadata("active")
			}
		})
	}},
	{2, "pause", func(h *history) { h.world.Pause(true) }},
	{3, "resume", func(h *history) { h.world.Pause(false) }},
	{3, "restart", func(h *history) { h.world.Restart(h.world.Now().Add(time.Duration(h.IntN(3)*20) * time.Second)) }},
	{1, "a disruption budget", func(h *history) { h.world.SetBudget(h.IntN(4)) }},

	{3, "kill pods", func(h *history) { h.world.Kill(h.image(), 1+h.IntN(3)) }},
	{3, "flapping pods", func(h *history) {
		h.world.Unready(h.image(), 1+h.IntN(4), time.Duration(1+h.IntN(20))*time.Second)
	}},
	{2, "sick pods", func(h *history) { h.world.Unready(h.image(), 1+h.IntN(4), 0) }},
	{4, "break an image", func(h *history) { h.world.SetFate(h.image(), sim.Fate{Broken: true}) }},
	{4, "repair an image", func(h *history) { h.world.SetFate(h.image(), sim.Fate{Start: h.world.PodStart}) }},
	{1, "delete a ReplicaSet", func(h *history) { h.world.DeleteReplicaSet(h.image()) }},
	{1, "refuse ReplicaSets", func(h *history) { h.world.Refuse("no more of these") }},
	{2, "allow ReplicaSets", func(h *history) { h.world.Refuse("") }},
	{1, "take a name", (*history).takeName},
	{1, "quota", func(h *history) { h.world.SetQuota(h.IntN(12)) }},
	{1, "no quota", func(h *history) { h.world.SetQuota(-1) }},
	{1, "wrong spec", func(h *history) {
		h.world.Edit(func(ro *v1alpha1.Rollout) { *ro.Spec.ProgressDeadlineSeconds = 0 })
	}},
	{2, "right spec", func(h *history) { h.world.Edit(correct) }},

	{1, "delete a Service", func(h *history) { h.world.DeleteService(h.service()) }},
	{1, "take a Service", func(h *history) {
		h.world.EditService(h.service(), func(s *corev1.Service) { annotate(s, "someone else") })
	}},
	{1, "bend a Service", func(h *history) {
		h.world.EditService(h.service(), func(s *corev1.Service) { s.Spec.Selector["app"] = "db" })
	}},
	{3, "free a Service", func(h *history) {
		h.world.EditService(h.service(), func(s *corev1.Service) { delete(s.Spec.Selector, v1alpha1.PodTemplateHashLabel) })
	}},
	{5, "point a Service", func(h *history) {
		if sets := h.world.ReplicaSets(); len(sets) > 0 {
			hash := hashOf(sets[h.IntN(len(sets))])
			h.world.EditService(h.service(), func(s *corev1.Service) { s.Spec.Selector[v1alpha1.PodTemplateHashLabel] = hash })
		}
	}},
	{2, "restore the Services", (*history).restoreServices},

	{1, "delete a template", func(h *history) { h.world.DeleteTemplate(templates[h.IntN(len(templates))]) }},
	{2, "restore the templates", (*history).restoreTemplates},
	{1, "delete analyses", func(h *history) { h.world.DeleteRuns(h.runKind()) }},
	{1, "refuse analyses", func(h *history) { h.world.RefuseRuns("no more of these") }},
	{2, "allow analyses", func(h *history) { h.world.RefuseRuns("") }},

	{1, "the Deployment goes", func(h *history) { h.world.DeleteDeployment() }},
	{2, "the clock jumps", func(h *history) { h.world.Jump(time.Duration(h.IntN(300)) * time.Second) }},
	{1, "an event comes twice", func(h *history) { h.world.Nudge() }},
}

// image is one of a few, so that one often comes back to an old one.
func (h *history) image() string { return fmt.Sprintf("v%d", 1+h.IntN(4)) }

func (h *history) service() string {
	name := h.services()[h.IntN(len(h.services()))]
	if h.world.Service(name) == nil {
		h.world.CreateService(name)
	}
	return name
}

func (h *history) runKind() string {
	return []string{
		v1alpha1.RolloutTypePrePromotion, v1alpha1.RolloutTypePostPromotion, v1alpha1.RolloutTypeStep, v1alpha1.RolloutTypeBackground,
	}[h.IntN(4)]
}

func (h *history) setImage(image string) {
	if h.world.Rollout().Spec.WorkloadRef == nil {
		h.world.SetImage(image)
		return
	}
	h.world.PutDeployment(func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = image })
}

// edit changes the spec. The user accepts whatever pods are there.
func (h *history) edit(change func(*v1alpha1.Rollout)) {
	h.approve()
	h.world.Edit(change)
}

func (h *history) takeName() {
	if h.world.Rollout().Spec.WorkloadRef == nil {
		h.world.Take(h.world.NameFor(h.image()))
	}
}

func (h *history) restoreServices() {
	for _, name := range h.services() {
		if h.world.Service(name) == nil {
			h.world.CreateService(name)
			continue
		}
		h.world.EditService(name, func(s *corev1.Service) {
			s.Spec.Selector["app"] = "web"
			if s.Annotations[v1alpha1.ManagedByAnnotation] != "" {
				annotate(s, "web")
			}
		})
	}
}

func annotate(s *corev1.Service, owner string) {
	if s.Annotations == nil {
		s.Annotations = map[string]string{}
	}
	s.Annotations[v1alpha1.ManagedByAnnotation] = owner
}

func (h *history) restoreTemplates() {
	for _, name := range templates {
		h.world.CreateTemplate(name)
	}
}

// autoscale is an autoscaler that cannot make up its mind.
func (h *history) autoscale() {
	for range 3 + h.IntN(4) {
		h.user(func() { h.world.Scale(max(0, *h.world.Rollout().Spec.Replicas+int32(h.IntN(5))-2)) })
		h.run(time.Duration(h.Int64N(int64(10 * time.Second))))
	}
}

func (h *history) disturb(i int) {
	const autoscaling = 3
	total, disturbances := autoscaling, h.disturbances()
	for _, d := range disturbances {
		total += d.often
	}
	n := h.IntN(total)
	for _, d := range disturbances {
		if n -= d.often; n < 0 {
			h.doing = d.name
			h.user(func() { d.do(h) })
			h.describe(fmt.Sprintf("[%d] %s", i, strings.ToUpper(d.name)))
			return
		}
	}
	h.doing = "autoscaling"
	h.describe(fmt.Sprintf("[%d] AUTOSCALING", i))
	h.autoscale()
}

// user does something from outside and tells the rules.
func (h *history) user(do func()) {
	h.noting(func() {
		h.rules.before()
		do()
		h.rules.after()
	})
}

// repair repairs everything that is broken.
func (h *history) repair() {
	h.user(func() {
		w := h.world
		w.Refuse("")
		w.RefuseRuns("")
		w.SetQuota(-1)
		w.SetBudget(0)
		for i := 1; i <= 4; i++ {
			image := fmt.Sprintf("v%d", i)
			w.SetFate(image, sim.Fate{Start: w.PodStart})
		}
		h.restoreServices()
		h.restoreRoutes()
		h.restoreTemplates()
		if w.Rollout().Spec.WorkloadRef != nil && w.Deployment() == nil {
			w.PutDeployment(func(*appsv1.Deployment) {})
		}
		w.Edit(func(ro *v1alpha1.Rollout) {
			ro.Spec.Paused = false
			correct(ro)
		})
	})
}

// correct makes a wrong spec right.
func correct(ro *v1alpha1.Rollout) {
	if *ro.Spec.ProgressDeadlineSeconds == 0 {
		*ro.Spec.ProgressDeadlineSeconds = 60
	}
}
