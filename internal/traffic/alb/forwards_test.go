package alb

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

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
