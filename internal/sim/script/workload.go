package script

import (
	"fmt"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// templateOf is the template that an observation is about.
func templateOf(o plan.Observed) corev1.PodTemplateSpec {
	written, _ := spec.WithWorkload(o.Rollout, o.Workload) // what is wrong with it has no template
	return written.Spec.Template
}

// workload reads "workload image=v2 replicas=4", which creates the Deployment or changes it, and "workload gone".
func (s *Script) workload(args []string) (string, error) {
	if first(args) == "gone" {
		s.World.DeleteDeployment()
		return "", nil
	}
	var err error
	s.World.PutDeployment(func(d *appsv1.Deployment) {
		for _, arg := range args {
			switch key, value, _ := strings.Cut(arg, "="); key {
			case "image":
				d.Spec.Template.Spec.Containers[0].Image = value
			case "replicas":
				var n int64
				n, err = strconv.ParseInt(value, 10, 32)
				d.Spec.Replicas = new(int32(n))
			default:
				err = fmt.Errorf("unknown field %q", key)
			}
		}
	})
	return "", err
}

// setWorkloadField sets what concerns the object that the template comes from.
func setWorkloadField(ro *v1alpha1.Rollout, key, value string) bool {
	switch key {
	case "workloadRef": // the kind; the name is the Rollout's
		group := "apps/v1"
		if value == string(spec.PodTemplate) {
			group = "v1"
		}
		ro.Spec.WorkloadRef = &v1alpha1.ObjectRef{APIVersion: group, Kind: value, Name: ro.Name}
		ro.Spec.Template, ro.Spec.Selector = corev1.PodTemplateSpec{}, nil
	case "scaleDown":
		ro.Spec.WorkloadRef.ScaleDown = v1alpha1.WorkloadScaleDown(value)
	default:
		return false
	}
	return true
}
