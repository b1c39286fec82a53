package spec

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// goldenQueries are what a router's metrics say. $namespace, $name and $ingress stand for what is asked about, $side for = or !=.
type goldenQueries struct {
	// requests and durations are metrics, of is what selects those of a version, and failed those that failed of its requests.
	requests, durations, of, failed string
	// milliseconds: durations are in these; otherwise in seconds.
	milliseconds bool
	// byIngress: the versions have one Ingress, rather than a Service each. byHash: they are told apart by the hashes of their pods.
	byIngress, byHash bool
}

// goldens are the queries that are shipped, by router. docs/features/golden.md shows them.
var goldens = map[v1alpha1.GoldenRouter]goldenQueries{
	v1alpha1.GoldenIstio: {
		requests: "istio_requests_total", durations: "istio_request_duration_milliseconds_bucket", milliseconds: true,
		of:     `reporter="destination",destination_service_namespace="$namespace",destination_service_name="$name"`,
		failed: `response_code=~"5.."`,
	},
	v1alpha1.GoldenLinkerd: {
		requests: "response_total", durations: "response_latency_ms_bucket", milliseconds: true, byHash: true,
		of: `direction="inbound",namespace="$namespace",rollouts_pod_template_hash="$name"`, failed: `classification="failure"`,
	},
	v1alpha1.GoldenNginx: {
		requests: "nginx_ingress_controller_requests", durations: "nginx_ingress_controller_request_duration_seconds_bucket", byIngress: true,
		of: `namespace="$namespace",ingress="$ingress",canary$side""`, failed: `status=~"5.."`,
	},
	v1alpha1.GoldenTraefik: {
		requests: "traefik_service_requests_total", durations: "traefik_service_request_duration_seconds_bucket",
		of: `service=~"$namespace-$name-[0-9a-z-]+@kubernetes.*"`, failed: `code=~"5.."`,
	},
	v1alpha1.GoldenContour: {
		requests: "envoy_cluster_upstream_rq", durations: "envoy_cluster_upstream_rq_time_bucket", milliseconds: true,
		of: `envoy_cluster_name=~"$namespace_$name_[0-9a-z-]+"`, failed: `envoy_response_code=~"5.."`,
	},
}

// goldenRange is what the queries average over.
const goldenRange = time.Minute

// goldenQuantiles are those of the signals that are durations.
var goldenQuantiles = map[v1alpha1.GoldenSignal]string{
	v1alpha1.GoldenRequestDurationP50: "0.5", v1alpha1.GoldenRequestDurationP95: "0.95", v1alpha1.GoldenRequestDurationP99: "0.99",
}

// Golden are the queries of a metric that asks for a golden signal: of the canary and of the stable version.
func Golden(m *v1alpha1.Metric) (canary, stable string) {
	target := v1alpha1.GoldenTarget{}
	if m.GoldenTarget != nil {
		target = *m.GoldenTarget
	}
	return goldenQuery(m.Golden, target, target.Canary, "!="), goldenQuery(m.Golden, target, target.Stable, "=")
}

// goldenQuery asks about one version. The share of requests that succeed is taken from those that fail: where all fail, there is no series of
// others.
func goldenQuery(signal v1alpha1.GoldenSignal, target v1alpha1.GoldenTarget, name, side string) string {
	g := goldens[target.Router]
	of := strings.NewReplacer("$namespace", target.Namespace, "$name", name, "$ingress", target.Ingress, "$side", side).Replace(g.of)
	quantile, isDuration := goldenQuantiles[signal]
	switch {
	case !isDuration:
		return fmt.Sprintf("1 - (sum(rate(%[1]s{%[2]s,%[3]s}[1m])) or vector(0)) / sum(rate(%[1]s{%[2]s}[1m]))", g.requests, of, g.failed)
	case g.milliseconds:
		return fmt.Sprintf("histogram_quantile(%s, sum by (le) (rate(%s{%s}[1m]))) / 1000", quantile, g.durations, of)
	}
	return fmt.Sprintf("histogram_quantile(%s, sum by (le) (rate(%s{%s}[1m])))", quantile, g.durations, of)
}

// goldenComparison is the one signal of a comparison whose metric asks for a golden signal.
func goldenComparison(m *v1alpha1.Metric) v1alpha1.ComparisonSignal {
	s := v1alpha1.ComparisonSignal{Name: string(m.Golden), Direction: v1alpha1.ComparisonIncrease}
	if m.Golden == v1alpha1.GoldenRequestSuccessRate {
		s.Direction, s.Tolerance = v1alpha1.ComparisonDecrease, "0.01"
	}
	s.Canary, s.Baseline = Golden(m)
	return s
}

// FillGolden takes what a golden signal's target leaves out from the Rollout. Latest and stable are the hashes of its versions; empty if they
// are not known yet.
func FillGolden(m *v1alpha1.Metric, ro *v1alpha1.Rollout, latest, stable string) {
	if m.Golden == "" || ro == nil || ro.Name == "" {
		return
	}
	t := v1alpha1.GoldenTarget{}
	if m.GoldenTarget != nil {
		t = *m.GoldenTarget
	}
	m.GoldenTarget = &t
	t.Namespace = cmp.Or(t.Namespace, ro.Namespace)
	var canaryService, stableService string
	if b := ro.Spec.Strategy.BlueGreen; b != nil {
		canaryService, stableService = b.PreviewService, b.ActiveService
	}
	if c := ro.Spec.Strategy.Canary; c != nil {
		canaryService, stableService = c.CanaryService, c.StableService
		if r := c.TrafficRouting; r != nil {
			fillGoldenRouter(&t, r)
		}
	}
	if goldens[t.Router].byHash {
		canaryService, stableService = cmp.Or(latest, "unknown"), cmp.Or(stable, "unknown")
	}
	t.Canary, t.Stable = cmp.Or(t.Canary, canaryService), cmp.Or(t.Stable, stableService)
}

func fillGoldenRouter(t *v1alpha1.GoldenTarget, r *v1alpha1.RolloutTrafficRouting) {
	switch {
	case t.Router != "":
	case r.Istio != nil:
		t.Router = v1alpha1.GoldenIstio
	case r.Nginx != nil:
		t.Router = v1alpha1.GoldenNginx
	case r.Traefik != nil:
		t.Router = v1alpha1.GoldenTraefik
	}
	if n := r.Nginx; n != nil && t.Ingress == "" {
		t.Ingress = n.StableIngress
		if t.Ingress == "" && len(n.StableIngresses) > 0 {
			t.Ingress = n.StableIngresses[0]
		}
	}
}

// goldenName is what may stand in a query for a name.
var goldenName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)

// GoldenProblems are what keeps a golden signal from being asked for.
func GoldenProblems(m *v1alpha1.Metric) []string {
	if m.Golden == "" {
		if m.GoldenTarget != nil {
			return []string{"goldenTarget is for golden: set golden, for example to requestSuccessRate, or remove goldenTarget"}
		}
		return nil
	}
	var all []string
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if names := m.Provider.Names(); len(names) == 1 && m.Provider.Prometheus == nil {
		add("golden needs provider prometheus, not %s", names[0])
	}
	if p := m.Provider.Prometheus; p != nil && (p.Query != "" || p.RangeQuery != nil) {
		add("golden has a query of its own: remove prometheus.query and prometheus.rangeQuery")
	}
	if _, isDuration := goldenQuantiles[m.Golden]; !isDuration && m.Golden != v1alpha1.GoldenRequestSuccessRate {
		add("golden %q is unknown: set requestSuccessRate, requestDurationP50, requestDurationP95 or requestDurationP99", m.Golden)
	}
	t := v1alpha1.GoldenTarget{}
	if m.GoldenTarget != nil {
		t = *m.GoldenTarget
	}
	g, known := goldens[t.Router]
	if !known {
		what := "the Rollout's router does not say whose metrics to ask for"
		if t.Router != "" {
			what = fmt.Sprintf("there are no queries for router %q", t.Router)
		}
		add("golden: %s: set goldenTarget.router to one of %s, or write the queries yourself", what, strings.Join(goldenRouters(), ", "))
		return all
	}
	needed := map[string]string{"namespace": t.Namespace, "canary": t.Canary}
	if g.byIngress {
		needed = map[string]string{"namespace": t.Namespace, "ingress": t.Ingress}
	} else if m.Comparison != nil {
		needed["stable"] = t.Stable
	}
	for _, field := range slices.Sorted(maps.Keys(needed)) {
		switch value := needed[field]; {
		case value == "":
			add("golden with router %s needs goldenTarget.%s, which is not known from a Rollout: set it", t.Router, field)
		case !hasArguments(value) && !goldenName.MatchString(value):
			add("goldenTarget.%s %q is not a name: write lowercase letters, digits, - and .", field, value)
		}
	}
	return all
}

func goldenRouters() []string {
	var all []string
	for router := range goldens {
		all = append(all, string(router))
	}
	slices.Sort(all)
	return all
}
