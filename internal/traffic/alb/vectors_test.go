package alb_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/alb"
)

// The texts that other tools, and controllers that take over, find in the annotations.
func TestVectors(t *testing.T) {
	ingress := func() *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": map[string]any{"name": "web", "namespace": "shop"},
			"spec": map[string]any{"rules": []any{map[string]any{"http": map[string]any{"paths": []any{map[string]any{
				"path": "/", "pathType": "Prefix",
				"backend": map[string]any{"service": map[string]any{"name": "r", "port": map[string]any{"name": "use-annotation"}}},
			}}}}}},
		}}
	}
	to := func(service string, weight int32) traffic.Destination {
		return traffic.Destination{Service: service, Weight: weight}
	}
	beta := traffic.HeaderRoute{Name: "beta", Match: []traffic.HeaderMatch{
		{Header: "H", Value: traffic.StringMatch{Kind: traffic.Exact, Value: "v"}},
		{Header: "G", Value: traffic.StringMatch{Kind: traffic.Exact, Value: "w"}},
		{Header: "H", Value: traffic.StringMatch{Kind: traffic.Exact, Value: "u"}},
	}}
	for name, c := range map[string]struct {
		of     spec.ALB
		want   traffic.Split
		expect map[string]string
	}{
		"an experiment between the versions": {
			spec.ALB{RootService: "r", Port: 80, Prefix: "alb.ingress.kubernetes.io"},
			traffic.Split{Max: 100, Canary: to("c", 25), Stable: to("s", 65), Additional: []traffic.Destination{to("e", 10)}},
			map[string]string{
				"alb.ingress.kubernetes.io/actions.r": `{"Type":"forward","ForwardConfig":{"TargetGroups":[{"ServiceName":"c","ServicePort":"80","Weight":25},` +
					`{"ServiceName":"e","ServicePort":"80","Weight":10},{"ServiceName":"s","ServicePort":"80","Weight":65}]}}`,
				"rollouts.argoproj.io/managed-alb-annotations": `{"web":["alb.ingress.kubernetes.io/actions.r"]}`,
			},
		},
		"sticky, with another prefix": {
			spec.ALB{RootService: "r", Port: 443, Prefix: "edge.example.com", StickySeconds: 300},
			traffic.Split{Max: 100, Canary: to("c", 10), Stable: to("s", 90)},
			map[string]string{
				"edge.example.com/actions.r": `{"Type":"forward","ForwardConfig":{"TargetGroups":[{"ServiceName":"c","ServicePort":"443","Weight":10},` +
					`{"ServiceName":"s","ServicePort":"443","Weight":90}],"TargetGroupStickinessConfig":{"Enabled":true,"DurationSeconds":300}}}`,
			},
		},
		"ping serves and pong is new": {
			spec.ALB{RootService: "r", Port: 80, Prefix: "alb.ingress.kubernetes.io"},
			traffic.Split{Max: 100, Canary: to("pong", 5), Stable: to("ping", 95)},
			map[string]string{
				"alb.ingress.kubernetes.io/actions.r": `{"Type":"forward","ForwardConfig":{"TargetGroups":[{"ServiceName":"pong","ServicePort":"80","Weight":5},` +
					`{"ServiceName":"ping","ServicePort":"80","Weight":95}]}}`,
			},
		},
		"a header route": {
			spec.ALB{RootService: "r", Port: 80, Prefix: "alb.ingress.kubernetes.io"},
			traffic.Split{Max: 100, Canary: to("c", 10), Stable: to("s", 90), Managed: []string{"beta"}, Routes: []traffic.Route{beta}},
			map[string]string{
				"alb.ingress.kubernetes.io/actions.beta": `{"Type":"forward","ForwardConfig":{"TargetGroups":[{"ServiceName":"c","ServicePort":"80","Weight":100}]}}`,
				"alb.ingress.kubernetes.io/conditions.beta": `[{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"H","values":["v","u"]}},` +
					`{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"G","values":["w"]}}]`,
				"rollouts.argoproj.io/managed-alb-annotations": `{"web":["alb.ingress.kubernetes.io/actions.beta","alb.ingress.kubernetes.io/actions.r","alb.ingress.kubernetes.io/conditions.beta"]}`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.of.Ingresses = []spec.NamedObject{{Field: "spec.strategy.canary.trafficRouting.alb.ingress", Name: "web"}}
			before := ingress()
			after, problems := alb.New(traffic.Owner{Namespace: "shop", Name: "web"}, c.of).Render(c.want, traffic.Objects{traffic.KeyOf(before): before})
			for _, problem := range problems {
				t.Error(problem)
			}
			annotations := after[traffic.KeyOf(before)].GetAnnotations()
			for key, text := range c.expect {
				if annotations[key] != text {
					t.Errorf("%s is\n%s, want\n%s", key, annotations[key], text)
				}
			}
		})
	}
}
