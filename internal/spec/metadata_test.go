package spec_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/spec"
)

func labelled(pairs ...string) spec.Metadata { return spec.Metadata{Labels: fromPairs(pairs)} }

func fromPairs(pairs []string) map[string]string {
	m := map[string]string{}
	for _, pair := range pairs {
		key, value, _ := strings.Cut(pair, "=")
		m[key] = value
	}
	return m
}

// replicaSet is one whose template has these labels and no others.
func replicaSet(pairs ...string) *appsv1.ReplicaSet {
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web-1"}}
	rs.Spec.Template.Labels = fromPairs(pairs)
	return rs
}

// A ReplicaSet that plays one part after another has, each time, its own labels and those of the part, and in the end its own.
func TestDressFromPartToPart(t *testing.T) {
	for name, c := range map[string]struct {
		own   []string
		parts []spec.Metadata
		want  []string
	}{
		"new":                                 {[]string{"app=web"}, []spec.Metadata{labelled("role=canary")}, []string{"app=web", "role=canary"}},
		"new, then stable":                    {[]string{"app=web"}, []spec.Metadata{labelled("role=canary", "note=new"), labelled("role=stable")}, []string{"app=web", "role=stable"}},
		"new, then nothing":                   {[]string{"app=web"}, []spec.Metadata{labelled("role=canary"), {}}, []string{"app=web"}},
		"covers a label of its own":           {[]string{"app=web", "role=plain"}, []spec.Metadata{labelled("role=canary")}, []string{"app=web", "role=canary"}},
		"its own label comes back":            {[]string{"app=web", "role=plain"}, []spec.Metadata{labelled("role=canary"), {}}, []string{"app=web", "role=plain"}},
		"its own label comes back after two":  {[]string{"role=plain"}, []spec.Metadata{labelled("role=canary"), labelled("role=stable"), {}}, []string{"role=plain"}},
		"its own label, given again, is kept": {[]string{"role=plain"}, []spec.Metadata{labelled("role=plain"), {}}, []string{"role=plain"}},
	} {
		t.Run(name, func(t *testing.T) {
			rs := replicaSet(c.own...)
			for _, part := range c.parts {
				spec.EphemeralMetadataOf(rs).Change(rs, part, true)
				if d := spec.EphemeralMetadataOf(rs); !d.Fits(rs, part) || d.Settled() {
					t.Errorf("after %s: fits %t, settled %t; want a fit that pods have to follow", part, d.Fits(rs, part), d.Settled())
				}
				if diff := cmp.Diff(fromPairs(c.own), spec.Bare(rs).Labels); diff != "" {
					t.Errorf("bare after %s (-want +got)\n%s", part, diff)
				}
			}
			if diff := cmp.Diff(fromPairs(c.want), rs.Spec.Template.Labels); diff != "" {
				t.Errorf("template (-want +got)\n%s", diff)
			}
			spec.EphemeralMetadataOf(rs).Settle(rs)
			if !spec.EphemeralMetadataOf(rs).Settled() {
				t.Error("not settled once all pods are known to be done")
			}
			if last := c.parts[len(c.parts)-1]; last.Empty() && len(rs.Annotations) > 0 {
				t.Errorf("annotations are left behind: %v", rs.Annotations)
			}
		})
	}
}

// A pod may have been missed by any of the changes before the last one: whatever it has of them, it ends as the template is.
func TestDressPodWithLeftovers(t *testing.T) {
	rs := replicaSet("app=web", "role=plain")
	for _, part := range []spec.Metadata{labelled("a=1"), labelled("b=1"), labelled("a=1", "b=1"), labelled("role=stable", "c=1")} {
		spec.EphemeralMetadataOf(rs).Change(rs, part, true)
	}
	for name, c := range map[string]struct{ has, want []string }{
		"never labelled":      {[]string{"app=web", "role=plain"}, []string{"app=web", "role=stable", "c=1"}},
		"of the first change": {[]string{"app=web", "role=plain", "a=1"}, []string{"app=web", "role=stable", "c=1"}},
		"of several":          {[]string{"app=web", "role=plain", "a=1", "b=1"}, []string{"app=web", "role=stable", "c=1"}},
		"with a user's label": {[]string{"app=web", "mesh=on"}, []string{"app=web", "role=stable", "c=1", "mesh=on"}},
		"done":                {[]string{"app=web", "role=stable", "c=1"}, []string{"app=web", "role=stable", "c=1"}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: fromPairs(c.has)}}
			to := spec.EphemeralMetadataOf(rs).Pod(pod, &rs.Spec.Template)
			if diff := cmp.Diff(fromPairs(c.want), to.Labels); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if same := cmp.Equal(c.has, c.want); same != (to == pod) {
				t.Errorf("a write is asked for: %t, needed: %t", to != pod, !same)
			}
			if diff := cmp.Diff(fromPairs(c.has), pod.Labels); diff != "" {
				t.Errorf("the pod that was read has been changed\n%s", diff)
			}
		})
	}
}

func TestDressOfUpstream(t *testing.T) {
	rs := replicaSet("app=web", "role=canary")
	rs.Annotations = map[string]string{v1alpha1.EphemeralMetadataAnnotation: `{"labels":{"role":"canary"}}`}
	d := spec.EphemeralMetadataOf(rs)
	if !d.Fits(rs, labelled("role=canary")) {
		t.Error("metadata that Argo Rollouts added is not recognized")
	}
	if d.Settled() {
		t.Error("Argo Rollouts' pods count as labeled, which nobody knows")
	}
	d.Settle(rs)
	if got, want := rs.Annotations[v1alpha1.EphemeralMetadataAnnotation], `{"labels":{"role":"canary"}}`; got != want {
		t.Errorf("annotation %s, want it as upstream writes it, %s", got, want)
	}
	rs.Annotations[v1alpha1.EphemeralMetadataAnnotation] = `{"labels":{"role":"stable"}}` // upstream again, for a while
	if spec.EphemeralMetadataOf(rs).Settled() {
		t.Error("what upstream did after us is taken for our own")
	}
	rs.Annotations[v1alpha1.EphemeralMetadataAnnotation] = `not JSON`
	if d := spec.EphemeralMetadataOf(rs); !d.Template.Empty() {
		t.Errorf("nonsense is read as %s", d.Template)
	}
}

func TestDressNoticesATemplateEditedByHand(t *testing.T) {
	rs := replicaSet("app=web")
	spec.EphemeralMetadataOf(rs).Change(rs, labelled("role=canary"), false)
	if !spec.EphemeralMetadataOf(rs).Settled() {
		t.Error("a ReplicaSet without pods has nothing to wait for")
	}
	delete(rs.Spec.Template.Labels, "role")
	if spec.EphemeralMetadataOf(rs).Fits(rs, labelled("role=canary")) {
		t.Error("a template that lost its label is taken to have it")
	}
}

// What is put into a template for a part makes no other version of it.
func TestBareIsTheSameTemplate(t *testing.T) {
	wanted := &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web", "role": "plain"}},
		Spec: corev1.PodSpec{Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: "zone"}},
		}}},
	}
	rs := &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Template: *wanted.DeepCopy()}}
	rs.Spec.Template.Labels[v1alpha1.PodTemplateHashLabel] = "abc"
	spec.EphemeralMetadataOf(rs).Change(rs, spec.Metadata{Labels: map[string]string{"role": "canary"}, Annotations: map[string]string{"note": "new"}}, true)
	rs.Spec.Template.Spec.Affinity = spec.AntiAffinity{Required: true}.Apply(rs.Spec.Template.Spec.Affinity, "default", "old")
	if spec.SameTemplate(wanted, &rs.Spec.Template) {
		t.Error("the dressed template is taken for the wanted one: the test shows nothing")
	}
	before := maps.Clone(rs.Spec.Template.Labels)
	if !spec.SameTemplate(wanted, spec.Bare(rs)) {
		t.Errorf("the bare template is taken for another\n%s", cmp.Diff(wanted, spec.Bare(rs)))
	}
	if diff := cmp.Diff(before, rs.Spec.Template.Labels); diff != "" {
		t.Errorf("Bare changed the ReplicaSet\n%s", diff)
	}
	wanted.Labels["role"] = "other"
	if spec.SameTemplate(wanted, spec.Bare(rs)) {
		t.Error("a template with another label of its own is taken for the same")
	}
}
