package script

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/sim"
)

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
	for _, set := range s.World.AllReplicaSets() {
		if sim.ImageOf(set.Spec.Template) == args[1] {
			hash = set.Labels[v1alpha1.PodTemplateHashLabel]
		}
	}
	s.World.EditService(args[0], func(service *corev1.Service) {
		service.Spec.Selector = maps.Clone(service.Spec.Selector)
		service.Spec.Selector[v1alpha1.PodTemplateHashLabel] = hash
	})
	return "", nil
}
