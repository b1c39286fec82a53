package spec

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// AntiAffinity keeps pods of the new version off the nodes of the stable one. Its zero value asks for nothing.
type AntiAffinity struct {
	// Required forbids the nodes, Weight, from 1 to 100, is how strongly others are preferred.
	Required bool
	Weight   int32
}

func antiAffinity(a *v1alpha1.AntiAffinity) AntiAffinity {
	switch {
	case a == nil:
	case a.RequiredDuringSchedulingIgnoredDuringExecution != nil:
		return AntiAffinity{Required: true}
	case a.PreferredDuringSchedulingIgnoredDuringExecution != nil:
		return AntiAffinity{Weight: a.PreferredDuringSchedulingIgnoredDuringExecution.Weight}
	}
	return AntiAffinity{}
}

// antiAffinity resolves the field at the given path.
func (p *problems) antiAffinity(field string, a *v1alpha1.AntiAffinity) AntiAffinity {
	if a == nil {
		return AntiAffinity{}
	}
	preferred, required := a.PreferredDuringSchedulingIgnoredDuringExecution, a.RequiredDuringSchedulingIgnoredDuringExecution
	if (preferred != nil) == (required != nil) {
		p.add(field, "set exactly one of preferredDuringSchedulingIgnoredDuringExecution and requiredDuringSchedulingIgnoredDuringExecution")
	} else if preferred != nil && (preferred.Weight < 1 || preferred.Weight > 100) {
		p.add(field+".preferredDuringSchedulingIgnoredDuringExecution.weight", "%d is out of range: write 1 to 100, where 100 is the strongest preference", preferred.Weight)
	}
	return antiAffinity(a)
}

// Apply is an affinity with the term that keeps pods off the nodes of the version with this hash, in place of any term that was put
// there before; without it if a asks for nothing or there is no such version. The user's own terms stay as they are, and the
// affinity given is not modified.
func (a AntiAffinity) Apply(to *corev1.Affinity, namespace, hash string) *corev1.Affinity {
	out := withoutTerms(to)
	if hash == "" || a == (AntiAffinity{}) {
		return out
	}
	if out = out.DeepCopy(); out == nil {
		out = &corev1.Affinity{}
	}
	if out.PodAntiAffinity == nil {
		out.PodAntiAffinity = &corev1.PodAntiAffinity{}
	}
	anti := out.PodAntiAffinity
	if a.Required {
		anti.RequiredDuringSchedulingIgnoredDuringExecution = append(anti.RequiredDuringSchedulingIgnoredDuringExecution, term(namespace, hash))
		return out
	}
	anti.PreferredDuringSchedulingIgnoredDuringExecution = append(anti.PreferredDuringSchedulingIgnoredDuringExecution,
		corev1.WeightedPodAffinityTerm{Weight: a.Weight, PodAffinityTerm: term(namespace, hash)})
	return out
}

func term(namespace, hash string) corev1.PodAffinityTerm {
	return corev1.PodAffinityTerm{
		LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: v1alpha1.PodTemplateHashLabel, Operator: metav1.LabelSelectorOpIn, Values: []string{hash},
		}}},
		Namespaces:  []string{namespace},
		TopologyKey: corev1.LabelHostname,
	}
}

// isTerm reports whether a term was added by a controller, Sluice or Argo Rollouts: nobody else can know a version's hash
// beforehand.
func isTerm(t corev1.PodAffinityTerm) bool {
	s := t.LabelSelector
	return t.TopologyKey == corev1.LabelHostname && s != nil && len(s.MatchLabels) == 0 && len(s.MatchExpressions) == 1 &&
		s.MatchExpressions[0].Key == v1alpha1.PodTemplateHashLabel &&
		s.MatchExpressions[0].Operator == metav1.LabelSelectorOpIn && len(s.MatchExpressions[0].Values) == 1
}

func isWeightedTerm(t corev1.WeightedPodAffinityTerm) bool { return isTerm(t.PodAffinityTerm) }

// withoutTerms is an affinity without the terms that were put there, and without what is empty for the lack of them.
func withoutTerms(from *corev1.Affinity) *corev1.Affinity {
	if from == nil || from.PodAntiAffinity == nil {
		return from
	}
	anti := from.PodAntiAffinity
	if !slices.ContainsFunc(anti.RequiredDuringSchedulingIgnoredDuringExecution, isTerm) &&
		!slices.ContainsFunc(anti.PreferredDuringSchedulingIgnoredDuringExecution, isWeightedTerm) {
		return from
	}
	out := from.DeepCopy()
	anti = out.PodAntiAffinity
	anti.RequiredDuringSchedulingIgnoredDuringExecution = orNil(slices.DeleteFunc(anti.RequiredDuringSchedulingIgnoredDuringExecution, isTerm))
	anti.PreferredDuringSchedulingIgnoredDuringExecution = orNil(slices.DeleteFunc(anti.PreferredDuringSchedulingIgnoredDuringExecution, isWeightedTerm))
	if anti.RequiredDuringSchedulingIgnoredDuringExecution == nil && anti.PreferredDuringSchedulingIgnoredDuringExecution == nil {
		out.PodAntiAffinity = nil
	}
	if *out == (corev1.Affinity{}) {
		return nil
	}
	return out
}

func orNil[T any](s []T) []T {
	if len(s) == 0 {
		return nil
	}
	return s
}
