package script

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// markText is what the pods of a set carry that its bare template does not have, with how many of them do, and what nodes new ones
// avoid.
func markText(w *sim.World, s *appsv1.ReplicaSet) []string {
	bare := spec.Bare(s)
	counts := map[string]int{}
	for _, p := range w.PodObjects() {
		if !metav1.IsControlledBy(p, s) {
			continue
		}
		extra := spec.Metadata{Labels: differing(p.Labels, bare.Labels), Annotations: differing(p.Annotations, bare.Annotations)}
		if !extra.Empty() {
			counts[extra.String()]++
		}
	}
	var parts []string
	for _, text := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d carry %s", counts[text], text))
	}
	if affinity := s.Spec.Template.Spec.Affinity; affinity != nil && affinity.PodAntiAffinity != nil {
		anti := affinity.PodAntiAffinity
		for _, t := range anti.RequiredDuringSchedulingIgnoredDuringExecution {
			parts = append(parts, "never beside "+strings.Join(t.LabelSelector.MatchExpressions[0].Values, ", "))
		}
		for _, t := range anti.PreferredDuringSchedulingIgnoredDuringExecution {
			parts = append(parts, fmt.Sprintf("rather (%d) not beside %s", t.Weight,
				strings.Join(t.PodAffinityTerm.LabelSelector.MatchExpressions[0].Values, ", ")))
		}
	}
	return parts
}

// differing is what m has that base does not have, or with another value; a key that only base has shows as lacking.
func differing(m, base map[string]string) map[string]string {
	out := map[string]string{}
	for key, value := range m {
		if base[key] != value && key != v1alpha1.PodTemplateHashLabel {
			out[key] = value
		}
	}
	for key := range base {
		if _, ok := m[key]; !ok {
			out[key] = "(lacking)"
		}
	}
	return out
}

// setPodField sets fields that concern pods' metadata and where they run.
func setPodField(ro *v1alpha1.Rollout, key, value string) error {
	if setWorkloadField(ro, key, value) {
		return nil
	}
	strategy := ro.Spec.Strategy
	switch key {
	case "templateLabels":
		ro.Spec.Template.Labels = maps.Clone(ro.Spec.Template.Labels)
		maps.Copy(ro.Spec.Template.Labels, parseMetadata(value).Labels)
	case "canaryMetadata":
		strategy.Canary.CanaryMetadata = parseMetadata(value)
	case "stableMetadata":
		strategy.Canary.StableMetadata = parseMetadata(value)
	case "previewMetadata":
		strategy.BlueGreen.PreviewMetadata = parseMetadata(value)
	case "activeMetadata":
		strategy.BlueGreen.ActiveMetadata = parseMetadata(value)
	case "antiAffinity":
		return setAntiAffinity(ro, value)
	default:
		return fmt.Errorf("unknown field %q", key)
	}
	return nil
}

// parseMetadata reads "role=canary team=web @note=hello": what begins with an @ is an annotation. "none" is none.
func parseMetadata(text string) *v1alpha1.PodTemplateMetadata {
	if text == "none" {
		return nil
	}
	m := &v1alpha1.PodTemplateMetadata{Labels: map[string]string{}, Annotations: map[string]string{}}
	for _, word := range strings.Fields(text) {
		key, value, _ := strings.Cut(word, "=")
		if name, ok := strings.CutPrefix(key, "@"); ok {
			m.Annotations[name] = value
		} else {
			m.Labels[key] = value
		}
	}
	return m
}

// setAntiAffinity reads "required", "preferred 50" or "none".
func setAntiAffinity(ro *v1alpha1.Rollout, text string) error {
	var a *v1alpha1.AntiAffinity
	switch verb, arg, _ := strings.Cut(text, " "); verb {
	case "none":
	case "required":
		a = &v1alpha1.AntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1alpha1.RequiredDuringSchedulingIgnoredDuringExecution{}}
	case "preferred":
		var weight int32
		if _, err := fmt.Sscan(arg, &weight); err != nil {
			return err
		}
		a = &v1alpha1.AntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: &v1alpha1.PreferredDuringSchedulingIgnoredDuringExecution{Weight: weight}}
	default:
		return fmt.Errorf("unknown anti-affinity %q", text)
	}
	if b := ro.Spec.Strategy.BlueGreen; b != nil {
		b.AntiAffinity = a
	} else {
		ro.Spec.Strategy.Canary.AntiAffinity = a
	}
	return nil
}
