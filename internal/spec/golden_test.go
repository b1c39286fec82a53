package spec

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	_ "github.com/cockroachdb/datadriven" // for its flag -rewrite
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

func goldenRollout(change func(*v1alpha1.CanaryStrategy)) *v1alpha1.Rollout {
	c := &v1alpha1.CanaryStrategy{CanaryService: "web-canary", StableService: "web-stable"}
	if change != nil {
		change(c)
	}
	ro := &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop"}}
	ro.Spec.Strategy.Canary = c
	return ro
}

func TestGoldenTargets(t *testing.T) {
	routing := func(r v1alpha1.RolloutTrafficRouting) *v1alpha1.Rollout {
		return goldenRollout(func(c *v1alpha1.CanaryStrategy) { c.TrafficRouting = &r })
	}
	blueGreen := &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop"}}
	blueGreen.Spec.Strategy.BlueGreen = &v1alpha1.BlueGreenStrategy{ActiveService: "active", PreviewService: "preview"}
	istio := routing(v1alpha1.RolloutTrafficRouting{Istio: &v1alpha1.IstioTrafficRouting{}})
	gateway := routing(v1alpha1.RolloutTrafficRouting{GatewayAPI: &v1alpha1.GatewayAPITrafficRouting{}})
	for name, c := range map[string]struct {
		rollout *v1alpha1.Rollout
		target  *v1alpha1.GoldenTarget
		compare bool
		want    string // the target, or a problem
	}{
		"istio":             {istio, nil, true, "{istio shop web-canary web-stable }"},
		"traefik":           {routing(v1alpha1.RolloutTrafficRouting{Traefik: &v1alpha1.TraefikTrafficRouting{}}), nil, true, "{traefik shop web-canary web-stable }"},
		"nginx":             {routing(v1alpha1.RolloutTrafficRouting{Nginx: &v1alpha1.NginxTrafficRouting{StableIngress: "web"}}), nil, true, "{nginx shop web-canary web-stable web}"},
		"nginx, several":    {routing(v1alpha1.RolloutTrafficRouting{Nginx: &v1alpha1.NginxTrafficRouting{StableIngresses: []string{"a", "b"}}}), nil, true, "{nginx shop web-canary web-stable a}"},
		"Gateway API":       {gateway, &v1alpha1.GoldenTarget{Router: v1alpha1.GoldenContour}, true, "{contour shop web-canary web-stable }"},
		"linkerd":           {gateway, &v1alpha1.GoldenTarget{Router: v1alpha1.GoldenLinkerd}, true, "{linkerd shop new old }"},
		"blue-green":        {blueGreen, &v1alpha1.GoldenTarget{Router: v1alpha1.GoldenIstio}, true, "{istio shop preview active }"},
		"what is set stays": {istio, &v1alpha1.GoldenTarget{Namespace: "other", Canary: "c", Stable: "s"}, true, "{istio other c s }"},
		"an unknown implementation of the Gateway API": {
			gateway, nil, false,
			"golden: the Rollout's router does not say whose metrics to ask for: set goldenTarget.router to one of contour, istio, linkerd, nginx, traefik, or write the queries yourself",
		},
		"no Rollout":                       {nil, nil, false, "golden: the Rollout's router does not say whose metrics to ask for: set goldenTarget.router"},
		"no Rollout, and half a target":    {nil, &v1alpha1.GoldenTarget{Router: v1alpha1.GoldenIstio}, true, "golden with router istio needs goldenTarget.canary"},
		"no Rollout, and no Ingress":       {nil, &v1alpha1.GoldenTarget{Router: v1alpha1.GoldenNginx, Namespace: "shop"}, true, "golden with router nginx needs goldenTarget.ingress"},
		"no stable Service is needed":      {nil, &v1alpha1.GoldenTarget{Router: v1alpha1.GoldenIstio, Namespace: "shop", Canary: "c"}, false, "{istio shop c  }"},
		"a name that is more than that":    {nil, &v1alpha1.GoldenTarget{Router: v1alpha1.GoldenIstio, Namespace: "shop", Canary: `a"} or up{a="`}, false, `goldenTarget.canary "a\"} or up{a=\"" is not a name`},
		"a name that an argument gives":    {nil, &v1alpha1.GoldenTarget{Router: v1alpha1.GoldenIstio, Namespace: "shop", Canary: "{{args.canary}}"}, false, "{istio shop {{args.canary}}  }"},
		"a router for which none is there": {nil, &v1alpha1.GoldenTarget{Router: "alb"}, false, `golden: there are no queries for router "alb"`},
	} {
		t.Run(name, func(t *testing.T) {
			m := &v1alpha1.Metric{Golden: v1alpha1.GoldenRequestSuccessRate, GoldenTarget: c.target}
			m.Provider.Prometheus = &v1alpha1.PrometheusMetric{}
			if c.compare {
				m.Comparison = &v1alpha1.Comparison{}
			}
			FillGolden(m, c.rollout, "new", "old")
			got := strings.Join(GoldenProblems(m), "; ")
			if got == "" {
				got = fmt.Sprint(*m.GoldenTarget)
			}
			if !strings.HasPrefix(got, c.want) {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

const goldenPage = "../../docs/features/golden.md"

var goldenBlock = regexp.MustCompile(`(?s)<!-- queries -->\n.*<!-- end of queries -->`)

// TestGoldenPage: the page shows the queries that are sent. With -rewrite it is written.
func TestGoldenPage(t *testing.T) {
	text, err := os.ReadFile(goldenPage)
	if err != nil {
		t.Fatal(err)
	}
	shown := "<!-- queries -->\n"
	for _, router := range goldenRouters() {
		target := v1alpha1.GoldenTarget{Router: v1alpha1.GoldenRouter(router), Namespace: "shop", Canary: "web-canary", Stable: "web-stable", Ingress: "web"}
		if goldens[target.Router].byHash {
			target.Canary = "7d9f8c6b5"
		}
		shown += "\n### " + router + "\n\n```text\n"
		for _, signal := range []v1alpha1.GoldenSignal{v1alpha1.GoldenRequestSuccessRate, v1alpha1.GoldenRequestDurationP95} {
			query, _ := Golden(&v1alpha1.Metric{Golden: signal, GoldenTarget: &target})
			shown += fmt.Sprintf("%s\n  %s\n", signal, query)
		}
		shown += "```\n"
	}
	want := goldenBlock.ReplaceAllLiteralString(string(text), shown+"<!-- end of queries -->")
	if flag.Lookup("rewrite").Value.String() == "true" {
		if err := os.WriteFile(goldenPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(text) {
		t.Errorf("%s does not show the queries; write it with go test ./internal/spec -run TestGoldenPage -rewrite", goldenPage)
	}
}
