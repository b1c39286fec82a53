package spec_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/spec"
)

func TestWithWorkload(t *testing.T) {
	labels := map[string]string{"app": "web"}
	theirs, own := &metav1.LabelSelector{MatchLabels: labels}, &metav1.LabelSelector{MatchLabels: map[string]string{"own": "yes"}}
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "v1"}}},
	}
	deployment := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: template, Selector: theirs}}
	for name, c := range map[string]struct {
		ref      v1alpha1.ObjectRef
		selector *metav1.LabelSelector
		template corev1.PodTemplateSpec
		workload metav1.Object
		want     *metav1.LabelSelector
		problems []string
	}{
		"a Deployment lends its template and selector": {
			ref: v1alpha1.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", ScaleDown: "progressively"}, workload: deployment, want: theirs,
		},
		"a selector of one's own stays": {
			ref: v1alpha1.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment"}, workload: deployment, selector: own, want: own,
		},
		"a ReplicaSet does the same": {
			ref:      v1alpha1.ObjectRef{APIVersion: "apps/v1", Kind: "ReplicaSet"},
			workload: &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Template: template, Selector: theirs}}, want: theirs,
		},
		"a PodTemplate has no selector to lend": {
			ref: v1alpha1.ObjectRef{APIVersion: "v1", Kind: "PodTemplate"}, selector: own, workload: &corev1.PodTemplate{Template: template}, want: own,
		},
		"none of that name": {
			ref:      v1alpha1.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Name: "gone"},
			problems: []string{`spec.workloadRef: Deployment "gone" not found in namespace shop: create it, or name one that exists`},
		},
		"a Deployment of another group": {
			ref:      v1alpha1.ObjectRef{APIVersion: "extensions/v1beta1", Kind: "Deployment"},
			problems: []string{`spec.workloadRef: kind "Deployment" of "extensions/v1beta1" is not a workload to take a template from: refer to a Deployment or ReplicaSet of apps/v1, or a PodTemplate of v1`},
		},
		"a template beside the reference": {
			ref: v1alpha1.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment"}, workload: deployment, template: template, want: theirs,
			problems: []string{"spec.template: must not be set together with workloadRef, which supplies the template: remove spec.template or spec.workloadRef"},
		},
		"a ReplicaSet to be scaled down": {
			ref:      v1alpha1.ObjectRef{APIVersion: "apps/v1", Kind: "ReplicaSet", ScaleDown: "onsuccess"},
			workload: &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Template: template, Selector: theirs}}, want: theirs,
			problems: []string{`spec.workloadRef.scaleDown: "onsuccess" is for a Deployment: leave it out with a ReplicaSet, which stays as it is`},
		},
		"a way to scale down that there is not": {
			ref: v1alpha1.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", ScaleDown: "soon"}, workload: deployment, want: theirs,
			problems: []string{`spec.workloadRef.scaleDown: "soon": write never, onsuccess or progressively`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			ro := &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Namespace: "shop"}}
			ro.Spec.WorkloadRef, ro.Spec.Selector, ro.Spec.Template = &c.ref, c.selector, c.template
			before := ro.DeepCopy()
			with, problems := spec.WithWorkload(ro, c.workload)
			var texts []string
			for _, p := range problems {
				texts = append(texts, p.String())
			}
			if diff := cmp.Diff(c.problems, texts); diff != "" {
				t.Errorf("problems (-want +got)\n%s", diff)
			}
			if c.want != nil {
				if diff := cmp.Diff(c.want, with.Spec.Selector); diff != "" {
					t.Errorf("selector (-want +got)\n%s", diff)
				}
				if diff := cmp.Diff(template, with.Spec.Template); diff != "" {
					t.Errorf("template (-want +got)\n%s", diff)
				}
			}
			if diff := cmp.Diff(before, ro); diff != "" {
				t.Errorf("the Rollout itself was changed (-before +after)\n%s", diff)
			}
		})
	}
}

func TestMaxUnavailableOfARestart(t *testing.T) {
	amount := func(text string) *intstr.IntOrString {
		v := intstr.Parse(text)
		return &v
	}
	canary := func(unavailable *intstr.IntOrString) v1alpha1.RolloutStrategy {
		return v1alpha1.RolloutStrategy{Canary: &v1alpha1.CanaryStrategy{MaxUnavailable: unavailable}}
	}
	blueGreen := func(unavailable *intstr.IntOrString) v1alpha1.RolloutStrategy {
		return v1alpha1.RolloutStrategy{BlueGreen: &v1alpha1.BlueGreenStrategy{ActiveService: "web", MaxUnavailable: unavailable}}
	}
	for name, c := range map[string]struct {
		replicas int32
		strategy v1alpha1.RolloutStrategy
		want     int32
	}{
		"a canary's default is a quarter":            {8, canary(nil), 2},
		"which of one is none":                       {1, canary(nil), 0},
		"blue-green serves in full unless told else": {8, blueGreen(nil), 0},
		"a share is rounded down":                    {7, blueGreen(amount("50%")), 3},
		"a number":                                   {7, blueGreen(amount("2")), 2},
		"never more than there are":                  {1, blueGreen(amount("2")), 1},
	} {
		t.Run(name, func(t *testing.T) {
			ro := &v1alpha1.Rollout{Spec: v1alpha1.RolloutSpec{Replicas: &c.replicas, Strategy: c.strategy}}
			r, _ := spec.Resolve(ro) // it has no selector, which is of no concern here
			if got := r.MaxUnavailable(); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}
