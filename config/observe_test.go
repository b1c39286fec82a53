package config_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/metric/prometheus/prometheustest"
	"github.com/sluice-delivery/sluice/internal/playtest"
	"github.com/sluice-delivery/sluice/internal/telemetry"
)

// The alerting rules fire when they should, and only then.
func TestAlerts(t *testing.T) {
	promtool := prometheustest.Program(t, "promtool")
	for _, args := range [][]string{{"check", "rules", "observe/alerts.yaml"}, {"test", "rules", "testdata/alerts.yaml"}} {
		out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput()
		if err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// query is a question that the dashboard or an alert asks Prometheus.
type query struct{ title, expr string }

func dashboard(t *testing.T) []query {
	t.Helper()
	text, err := os.ReadFile("observe/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
		Templating struct {
			List []struct{ Name, Query string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	var all []query
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			all = append(all, query{panel.Title, strings.ReplaceAll(target.Expr, "$namespace", ".*")})
		}
	}
	for _, variable := range board.Templating.List {
		if metric, ok := strings.CutPrefix(variable.Query, "label_values("); ok {
			metric, _, _ = strings.Cut(metric, ",")
			all = append(all, query{"the variable " + variable.Name, metric})
		}
	}
	return all
}

func alerts(t *testing.T) []query {
	t.Helper()
	text, err := os.ReadFile("observe/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	var all []query
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			all = append(all, query{rule.Alert, rule.Expr})
		}
	}
	return all
}

var (
	// notMetrics is what may stand in a query besides the names of metrics.
	notMetrics = regexp.MustCompile(`\{[^}]*\}|\[[^\]]*\]|(sum\s+)?\b(by|on|without|ignoring)\s*\([^)]*\)|[a-z_]+\s*\(|\b(and|or|unless|bool)\b|\b[0-9.]+\b`)
	name       = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*`)
)

// metrics are the names of the metrics that a query asks for.
func (q query) metrics() []string {
	return name.FindAllString(notMetrics.ReplaceAllString(q.expr, " "), -1)
}

func TestMetricsOfAQuery(t *testing.T) {
	q := query{expr: `sum by (a, b) (clamp_min(one{x=~"three"} - two_total[5m], 0) > 0.5) and on (c) four == bool 1`}
	if got, want := q.metrics(), []string{"one", "two_total", "four"}; !slices.Equal(got, want) {
		t.Errorf("metrics %q, want %q", got, want)
	}
}

// Every panel shows something of a controller that works, and neither the dashboard nor an alert names a metric that is not there.
func TestDashboard(t *testing.T) {
	ns := playtest.New(t)
	port := fmt.Sprint(ns.FreePort())
	address := "127.0.0.1:" + port
	ns.StartController("--metrics-port", port)
	server := prometheustest.Start(t, address)
	apply(t, ns, moved(objects(t, []byte(`
apiVersion: argoproj.io/v1alpha1
kind: AnalysisTemplate
metadata: {name: smoke, namespace: here}
spec: {metrics: [{name: one, successCondition: "result[0] == 1", provider: {prometheus: {address: "`+server+`", query: vector(1)}}}]}
`)), ns.Name))
	ns.CreateRollout(web("web", `{canary: {steps: [{analysis: {templates: [{templateName: smoke}]}}]}}`))
	ns.CreateRollout(strings.Replace(web("bad", `{canary: {}}`), "web:1", "web:bad", 1))
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	ns.SetImage("web", "web:2")
	ns.WaitForRollout("web", "to be updated", func(ro *v1alpha1.Rollout) bool {
		return playtest.Healthy(ro) && ro.Status.Duration != nil && ro.Status.Duration.FinishedAt != nil
	})

	there := map[string]bool{}
	for line := range strings.Lines(read(t, "http://"+address+"/metrics")) {
		if !strings.HasPrefix(line, "#") {
			there[name.FindString(line)] = true
		}
	}
	for _, counted := range described() { // also what has not happened yet
		there[counted] = true
	}
	for _, q := range append(dashboard(t), alerts(t)...) {
		names := q.metrics()
		if len(names) == 0 {
			t.Errorf("%s asks for nothing: %s", q.title, q.expr)
		}
		for _, metric := range names {
			if !there[metric] {
				t.Errorf("%s asks for %s, which is no metric of the controller", q.title, metric)
			}
		}
	}
	for _, q := range dashboard(t) {
		if q.title != "Passes that end in errors" { // there are none
			prometheustest.WaitFor(t, server, q.expr)
		}
	}
}

// described are the names of all that is counted.
func described() []string {
	kept := keeping{Registry: prometheus.NewRegistry(), descriptions: make(chan *prometheus.Desc, 1000)}
	telemetry.New(kept, false)
	close(kept.descriptions)
	var names []string
	for d := range kept.descriptions {
		_, rest, _ := strings.Cut(d.String(), `fqName: "`)
		base, _, _ := strings.Cut(rest, `"`)
		names = append(names, base, base+"_bucket", base+"_count", base+"_sum")
	}
	return names
}

// keeping keeps the descriptions of what is registered.
type keeping struct {
	*prometheus.Registry
	descriptions chan *prometheus.Desc
}

func (k keeping) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		c.Describe(k.descriptions)
	}
}

func read(t *testing.T, url string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
