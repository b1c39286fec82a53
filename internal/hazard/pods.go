package hazard

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

func (f *finder) template(t *corev1.PodTemplateSpec, minReadySeconds int32) {
	const field = "spec.template.spec.containers"
	probed := false
	for i := range t.Spec.Containers {
		c := &t.Spec.Containers[i]
		probed = probed || c.ReadinessProbe != nil
		if moving(c.Image) {
			f.add(MovingImage, fmt.Sprintf("%s[%d].image", field, i),
				"%q may refer to another image tomorrow: pods of one version could differ, and an update to it would change nothing; use a tag for each version, or a digest",
				c.Image)
		}
	}
	if len(t.Spec.Containers) > 0 && !probed && minReadySeconds == 0 {
		f.add(NoReadiness, field,
			"no container has a readinessProbe, so a pod counts as available and receives traffic as soon as it runs: add one, or set minReadySeconds")
	}
	if serves(t) && !waits(t) {
		f.add(NoPreStop, field, "no container has a preStop hook, so a pod that is deleted may close its port while proxies still send it requests: "+
			"add lifecycle.preStop with a sleep of 5 to 15 seconds")
	}
}

// serves reports whether a container declares a port.
func serves(t *corev1.PodTemplateSpec) bool {
	return slices.ContainsFunc(t.Spec.Containers, func(c corev1.Container) bool { return len(c.Ports) > 0 })
}

// waits reports whether a container does something before it is told to stop.
func waits(t *corev1.PodTemplateSpec) bool {
	return slices.ContainsFunc(t.Spec.Containers, func(c corev1.Container) bool { return c.Lifecycle != nil && c.Lifecycle.PreStop != nil })
}

// moving reports whether an image has no version in its name.
func moving(image string) bool {
	if image == "" || strings.Contains(image, "@") {
		return false
	}
	name := image[strings.LastIndex(image, "/")+1:] // the registry may have a port
	_, tag, tagged := strings.Cut(name, ":")
	return !tagged || tag == "latest"
}
