package alb

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// The largest weight that a load balancer takes is read, a larger one is not.
func TestTheLargestWeight(t *testing.T) {
	r := router{owner: traffic.Owner{Namespace: "shop", Name: "web"}, spec: spec.ALB{Prefix: "alb.ingress.kubernetes.io", Ingresses: []spec.NamedObject{{Name: "web"}}}}
	split := traffic.Split{Max: 100, Stable: traffic.Destination{Service: "s"}, Canary: traffic.Destination{Service: "c"}}
	for weight, fits := range map[int]bool{999: true, 1000: false} {
		o := &unstructured.Unstructured{Object: map[string]any{}}
		o.SetAnnotations(map[string]string{
			"alb.ingress.kubernetes.io/actions.s": fmt.Sprintf(`{"ForwardConfig":{"TargetGroups":[{"ServiceName":"c","Weight":%d},{"ServiceName":"s","Weight":%d}]}}`, weight, weight),
		})
		read, ok := r.Weight(split, traffic.Objects{r.ref(r.spec.Ingresses[0]).Key(): o})
		if ok != fits || fits && read != (traffic.Interval{Least: 50, Most: 50}) {
			t.Errorf("twice %d reads as %v, %t", weight, read, ok)
		}
	}
}

// A Rollout names one Ingress, or several.
func TestIngresses(t *testing.T) {
	for what, row := range map[string]struct {
		of   *v1alpha1.CanaryStrategy
		want []string
	}{
		"one":                 {&v1alpha1.CanaryStrategy{TrafficRouting: &v1alpha1.RolloutTrafficRouting{ALB: &v1alpha1.ALBTrafficRouting{Ingress: "a"}}}, []string{"a"}},
		"several":             {&v1alpha1.CanaryStrategy{TrafficRouting: &v1alpha1.RolloutTrafficRouting{ALB: &v1alpha1.ALBTrafficRouting{Ingresses: []string{"a", "b"}}}}, []string{"a", "b"}},
		"with another router": {&v1alpha1.CanaryStrategy{TrafficRouting: &v1alpha1.RolloutTrafficRouting{}}, nil},
		"without a router":    {&v1alpha1.CanaryStrategy{}, nil},
		"without a canary":    {nil, nil},
	} {
		ro := &v1alpha1.Rollout{}
		ro.Spec.Strategy.Canary = row.of
		if diff := cmp.Diff(row.want, Ingresses(ro)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", what, diff)
		}
	}
}

// What the Ingress says is what the Rollout's action says, other than that of a header route. An action that cannot be read says nothing.
func TestForwards(t *testing.T) {
	const prefix = "alb.ingress.kubernetes.io/"
	for what, row := range map[string]struct {
		action string
		want   []Forward
	}{
		"weights": {
			`{"Type":"forward","ForwardConfig":{"TargetGroups":[{"ServiceName":"c","ServicePort":"80","Weight":20},{"ServiceName":"s","ServicePort":"80","Weight":80}]}}`,
			[]Forward{{"c", "80", 20}, {"s", "80", 80}},
		},
		"a weight that is a text": {`{"Type":"forward","ForwardConfig":{"TargetGroups":[{"ServiceName":"c","ServicePort":"80","Weight":"20"},{"ServiceName":"s","ServicePort":"80","Weight":80}]}}`, nil},
		"no JSON":                 {"x", nil},
		"nothing":                 {"", nil},
	} {
		o := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"loadBalancer": map[string]any{"ingress": []any{
			map[string]any{"hostname": "a.elb.amazonaws.com"}, map[string]any{"ip": "10.0.0.1"}, int64(7),
		}}}}}
		o.SetAnnotations(map[string]string{
			v1alpha1.ManagedALBAnnotationsAnnotation: `{"web":["` + prefix + `actions.s","` + prefix + `actions.beta","` + prefix + `conditions.beta"]}`,
			prefix + "actions.s":                     row.action,
			prefix + "actions.beta":                  `{"Type":"forward","ForwardConfig":{"TargetGroups":[{"ServiceName":"c","ServicePort":"80","Weight":100}]}}`,
			prefix + "conditions.beta":               `[]`,
		})
		to, hosts, ok := Forwards(o, "web")
		if diff := cmp.Diff(row.want, to); diff != "" || ok != (len(row.want) > 0) {
			t.Errorf("%s: %t (-want +got)\n%s", what, ok, diff)
		}
		if diff := cmp.Diff([]string{"a.elb.amazonaws.com"}, hosts); diff != "" {
			t.Errorf("%s: hosts (-want +got)\n%s", what, diff)
		}
	}
}
