package sim

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// CreateService adds a Service that selects all pods of the Rollout.
func (w *World) CreateService(name string) {
	w.PutService(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: Home}, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}},
	})
}

// PutService adds a Service as a user wrote it.
func (w *World) PutService(s *corev1.Service) { w.objects.services.create(w, s.DeepCopy()) }

// DeleteService deletes a Service by hand.
func (w *World) DeleteService(name string) {
	w.objects.services.remove(w, func(s Object) bool { return s.GetName() == name })
}

// EditService changes a Service by hand.
func (w *World) EditService(name string, change func(*corev1.Service)) {
	if s := w.Service(name).DeepCopy(); s != nil {
		change(s)
		w.objects.services.replace(w, s, false)
	}
}

// Services are the Services as they are now, not to be modified.
func (w *World) Services() []*corev1.Service { return w.objects.services.now }

// Service is a Service as it is now, not to be modified; nil if there is none of that name.
func (w *World) Service(name string) *corev1.Service { return w.objects.services.named(name) }

// Selects is the hash that a Service selects.
func (w *World) Selects(service string) string {
	if s := w.Service(service); s != nil {
		return s.Spec.Selector[v1alpha1.PodTemplateHashLabel]
	}
	return ""
}

// Behind is how many available pods a Service sends to; none where it is not there.
func (w *World) Behind(service string) int {
	s := w.Service(service)
	if s == nil {
		return 0
	}
	selector, n := labels.SelectorFromSet(s.Spec.Selector), 0
	for _, set := range w.sets {
		if !selector.Matches(labels.Set(set.Spec.Template.Labels)) {
			continue
		}
		for _, p := range set.pods {
			if p.available(w.now, set.minReady()) {
				n++
			}
		}
	}
	return n
}

// setBlueGreenField sets fields of the blue-green strategy.
func setBlueGreenField(ro *v1alpha1.Rollout, key, value string) error {
	if key == "blueGreen" {
		ro.Spec.Strategy = v1alpha1.RolloutStrategy{BlueGreen: &v1alpha1.BlueGreenStrategy{ActiveService: value}}
		return nil
	}
	if key == "canary" {
		steps, err := parseSteps(value)
		ro.Spec.Strategy = v1alpha1.RolloutStrategy{Canary: &v1alpha1.CanaryStrategy{Steps: steps}}
		return err
	}
	b := ro.Spec.Strategy.BlueGreen
	if b == nil {
		return setPodField(ro, key, value)
	}
	n, _ := strconv.ParseInt(value, 10, 32)
	number := int32(n)
	pointer := &number
	if value == "none" {
		pointer = nil
	}
	switch key {
	case "preview":
		b.PreviewService = value
	case "active":
		b.ActiveService = value
	case "autoPromotion":
		enabled := value != "false"
		b.AutoPromotionEnabled = &enabled
	case "autoPromotionSeconds":
		b.AutoPromotionSeconds = number
	case "previewReplicas":
		b.PreviewReplicaCount = pointer
	case "scaleDownDelay":
		b.ScaleDownDelaySeconds = pointer
	case "scaleDownDelayRevisionLimit":
		b.ScaleDownDelayRevisionLimit = pointer
	case "abortScaleDownDelay":
		b.AbortScaleDownDelaySeconds = pointer
	default:
		return setPodField(ro, key, value)
	}
	return nil
}

// createService is the verb "service web-active", or "service external web-active" for one of type ExternalName, createServices the argument services="web-active web-preview".
func (s *Script) createService(args []string) (string, error) {
	if s.World.Service(last(args)) == nil {
		s.World.CreateService(last(args))
	}
	if len(args) > 1 && args[0] == "external" {
		s.World.EditService(last(args), func(service *corev1.Service) { service.Spec.Type = corev1.ServiceTypeExternalName })
	}
	return "", nil
}

func (s *Script) createServices(names string) {
	for name := range strings.FieldsSeq(names) {
		s.World.CreateService(name)
	}
}

// serviceText is what a Service selects, and whose it is.
func serviceText(s *corev1.Service) string {
	hash := s.Spec.Selector[v1alpha1.PodTemplateHashLabel]
	if hash == "" {
		hash = "all versions"
	}
	text := "selects " + hash
	if owner := s.Annotations[v1alpha1.ManagedByAnnotation]; owner != "" {
		text += ", managed by " + owner
	}
	return text
}

// pointService is the verb "point web-active v1": someone else changes what a Service selects.
func (s *Script) pointService(args []string) (string, error) {
	if len(args) != 2 || s.World.Service(args[0]) == nil {
		return "", fmt.Errorf("point a service that is there: %q", args)
	}
	hash := args[1] // of no version, where no image is meant
	for _, set := range s.World.sets {
		if imageOf(set) == args[1] {
			hash = set.Labels[v1alpha1.PodTemplateHashLabel]
		}
	}
	s.World.EditService(args[0], func(service *corev1.Service) {
		service.Spec.Selector = maps.Clone(service.Spec.Selector)
		service.Spec.Selector[v1alpha1.PodTemplateHashLabel] = hash
	})
	return "", nil
}
