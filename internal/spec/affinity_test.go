package spec_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/spec"
)

const users = `
nodeAffinity: {}
podAntiAffinity:
  requiredDuringSchedulingIgnoredDuringExecution:
  - topologyKey: kubernetes.io/hostname
    labelSelector: {matchLabels: {app: web}}
  - topologyKey: zone
    labelSelector: {matchExpressions: [{key: rollouts-pod-template-hash, operator: Exists}]}
`

const injected = `
podAntiAffinity:
  requiredDuringSchedulingIgnoredDuringExecution:
  - topologyKey: kubernetes.io/hostname
    namespaces: [default]
    labelSelector: {matchExpressions: [{key: rollouts-pod-template-hash, operator: In, values: [v1]}]}
`

func affinity(t *testing.T, text string) *corev1.Affinity {
	t.Helper()
	if text == "" {
		return nil
	}
	var a corev1.Affinity
	if err := yaml.UnmarshalStrict([]byte(text), &a); err != nil {
		t.Fatal(err)
	}
	return &a
}

func TestAntiAffinityApply(t *testing.T) {
	required, preferred := spec.AntiAffinity{Required: true}, spec.AntiAffinity{Weight: 30}
	for name, c := range map[string]struct {
		have string
		a    spec.AntiAffinity
		hash string
		want string
	}{
		"required":          {"", required, "v1", injected},
		"required, already": {injected, required, "v1", injected},
		"preferred instead of required": {injected, preferred, "v2", `
podAntiAffinity:
  preferredDuringSchedulingIgnoredDuringExecution:
  - weight: 30
    podAffinityTerm:
      topologyKey: kubernetes.io/hostname
      namespaces: [default]
      labelSelector: {matchExpressions: [{key: rollouts-pod-template-hash, operator: In, values: [v2]}]}
`},
		"no other version":                 {injected, required, "", ""},
		"no longer asked for":              {injected, spec.AntiAffinity{}, "v1", ""},
		"never asked for":                  {"", spec.AntiAffinity{}, "v1", ""},
		"the user's own are left alone":    {users, spec.AntiAffinity{}, "", users},
		"what is empty anyway is left too": {"podAntiAffinity: {}", spec.AntiAffinity{}, "", "podAntiAffinity: {}"},
		"beside the user's own": {users, required, "v1", users + `
  - topologyKey: kubernetes.io/hostname
    namespaces: [default]
    labelSelector: {matchExpressions: [{key: rollouts-pod-template-hash, operator: In, values: [v1]}]}
`},
	} {
		t.Run(name, func(t *testing.T) {
			have := affinity(t, c.have)
			if diff := cmp.Diff(affinity(t, c.want), c.a.Apply(have, "default", c.hash)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(affinity(t, c.have), have); diff != "" {
				t.Errorf("what was given has been changed\n%s", diff)
			}
		})
	}
}

// Everything that can be wrong with metadata and anti-affinity, and the field that the problem names.
func TestProblemsOfMetadataAndAntiAffinity(t *testing.T) {
	for name, c := range map[string]struct{ strategy, want string }{
		"a label of the selector":      {`canary: {canaryMetadata: {labels: {app: other}}}`, "spec.strategy.canary.canaryMetadata.labels"},
		"the same value changes none":  {`canary: {canaryMetadata: {labels: {app: web}}}`, ""},
		"the hash":                     {`canary: {stableMetadata: {labels: {rollouts-pod-template-hash: x}}}`, "spec.strategy.canary.stableMetadata.labels[rollouts-pod-template-hash]"},
		"a value that is none":         {`blueGreen: {activeService: web, previewMetadata: {labels: {role: "a b"}}}`, "spec.strategy.blueGreen.previewMetadata.labels[role]"},
		"a key that is none":           {`blueGreen: {activeService: web, activeMetadata: {annotations: {"a b": x}}}`, "spec.strategy.blueGreen.activeMetadata.annotations[a b]"},
		"an annotation with capitals":  {`blueGreen: {activeService: web, activeMetadata: {annotations: {"Example.com/Note": "any text"}}}`, ""},
		"neither anti-affinity":        {`canary: {antiAffinity: {}}`, "spec.strategy.canary.antiAffinity"},
		"both anti-affinities":         {`blueGreen: {activeService: web, antiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {}, preferredDuringSchedulingIgnoredDuringExecution: {weight: 1}}}`, "spec.strategy.blueGreen.antiAffinity"},
		"no weight":                    {`canary: {antiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: {weight: 0}}}`, "spec.strategy.canary.antiAffinity.preferredDuringSchedulingIgnoredDuringExecution.weight"},
		"more than the largest weight": {`canary: {antiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: {weight: 101}}}`, "spec.strategy.canary.antiAffinity.preferredDuringSchedulingIgnoredDuringExecution.weight"},
		"the largest weight":           {`canary: {antiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: {weight: 100}}}`, ""},
		"required":                     {`canary: {antiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {}}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			ro := &v1alpha1.Rollout{Spec: v1alpha1.RolloutSpec{
				Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}},
			}}
			if err := yaml.UnmarshalStrict([]byte(c.strategy), &ro.Spec.Strategy); err != nil {
				t.Fatal(err)
			}
			_, problems := spec.Resolve(ro)
			var got string
			for _, p := range problems {
				got += p.Field
			}
			if got != c.want {
				t.Errorf("problems with %q, want %q: %v", got, c.want, problems)
			}
		})
	}
}
