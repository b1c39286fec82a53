package spec

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

const workloadField = "spec.workloadRef"

// WithWorkload is the Rollout as it would be written without a workloadRef: with the template of the object that it refers to,
// and, where it has none of its own, that object's selector. workload is that object, nil where there is none of the name.
//
// The result is for reading only. It shares what it can with the Rollout and the workload, and must never be written anywhere:
// the template belongs to the workload.
func WithWorkload(ro *v1alpha1.Rollout, workload metav1.Object) (*v1alpha1.Rollout, []Problem) {
	ref := ro.Spec.WorkloadRef
	if ref == nil {
		return ro, nil
	}
	var p problems
	if !p.reference(ro, ref) {
		return ro, p
	}
	with := *ro
	with.Spec.WorkloadRef = nil
	selector := ro.Spec.Selector
	switch w := workload.(type) {
	case *appsv1.Deployment:
		with.Spec.Template, selector = w.Spec.Template, orSelector(selector, w.Spec.Selector)
	case *appsv1.ReplicaSet:
		with.Spec.Template, selector = w.Spec.Template, orSelector(selector, w.Spec.Selector)
	case *corev1.PodTemplate:
		with.Spec.Template = w.Template
	default:
		p = append(p, MissingObject(workloadField, ref.Kind, ref.Name, ro.Namespace))
		return ro, p
	}
	with.Spec.Selector = selector
	return &with, p
}

// reference checks a reference as far as that can be done without the object, and reports whether it can be followed.
func (p *problems) reference(ro *v1alpha1.Rollout, ref *v1alpha1.ObjectRef) bool {
	if _, ok := WorkloadKind(ref); !ok {
		p.add(workloadField, "%s of %q is not a workload to take a template from: refer to a Deployment or ReplicaSet of apps/v1, or a PodTemplate of v1",
			orNothing(ref.Kind), ref.APIVersion)
		return false
	}
	if len(ro.Spec.Template.Spec.Containers) > 0 {
		p.add("spec.template", "must not be set together with workloadRef, which supplies the template: remove spec.template or spec.workloadRef")
	}
	switch ref.ScaleDown {
	case "", v1alpha1.ScaleDownNever:
	case v1alpha1.ScaleDownOnSuccess, v1alpha1.ScaleDownProgressively:
		if ref.Kind != string(Deployment) {
			p.add(workloadField+".scaleDown", "%q is for a Deployment: leave it out with a %s, which stays as it is", ref.ScaleDown, ref.Kind)
		}
	default:
		p.add(workloadField+".scaleDown", "%q: write never, onsuccess or progressively", ref.ScaleDown)
	}
	return true
}

// Kind is a kind of object that a pod template can be taken from.
type Kind string

// The kinds of workloads.
const (
	Deployment  Kind = "Deployment"
	ReplicaSet  Kind = "ReplicaSet"
	PodTemplate Kind = "PodTemplate"
)

// WorkloadKind is the kind that a reference is of, if that is one that can be followed. Only the group counts: which version of it
// is read is the reader's business.
func WorkloadKind(ref *v1alpha1.ObjectRef) (Kind, bool) {
	group, _, named := strings.Cut(ref.APIVersion, "/")
	switch kind := Kind(ref.Kind); kind {
	case Deployment, ReplicaSet:
		return kind, named && group == appsv1.GroupName
	case PodTemplate:
		return kind, !named
	}
	return "", false
}

func orSelector(own, theirs *metav1.LabelSelector) *metav1.LabelSelector {
	if own != nil {
		return own
	}
	return theirs
}

func orNothing(s string) string {
	if s == "" {
		return "no kind"
	}
	return fmt.Sprintf("kind %q", s)
}
