package promql

import (
	"strings"
	"testing"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/spec"
)

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		query string
		use   Use
		want  string // part of the error; empty for none
	}{
		"a rate":                             {`sum(rate(requests{code=~"5.."}[5m])) / sum(rate(requests[5m]))`, Instant, ""},
		"with comments, over lines":          {"sum( # all\n  up\n)", Instant, ""},
		"an argument in a matcher":           {`up{service="{{args.service}}"}`, Instant, ""},
		"two arguments in a matcher":         {`up{service="{{args.service}}-{{ args.hash }}.*"}`, Instant, ""},
		"an argument that is a name":         {`sum(rate({{args.metric}}{code="500"}[5m]))`, Instant, ""},
		"an argument that is a window":       {`sum(rate(up[{{args.window}}]))`, Instant, ""},
		"an argument that is a quantile":     {`histogram_quantile({{args.quantile}}, sum by (le) (rate(b[1m])))`, Instant, ""},
		"an argument that is all":            {`{{args.query}}`, Instant, ""},
		"an argument that is a matcher":      {`up{ {{args.matcher}} }`, Instant, ""},
		"an argument that may be empty":      {`sum(up) {{args.modifier}}`, Instant, ""},
		"arguments of several kinds":         {`quantile({{args.q}}, rate({{args.metric}}[{{args.window}}]))`, Instant, ""},
		"more arguments than can be tried":   {`{{args.a}} {{args.b}} {{args.c}} {{args.d}} )`, Instant, ""},
		"an experimental function":           {`limitk(2, up)`, Instant, ""},
		"a range vector":                     {`up[5m]`, Instant, ""},
		"a quote in quotes":                  {`up{a="\"{{args.x}}\"", b='"', c=` + "`\\`" + `}`, Instant, ""},
		"a bracket that is missing":          {`sum(rate(up[5m])`, Instant, "unclosed left parenthesis"},
		"a bracket too much":                 {`up{service="{{args.service}}"}}`, Instant, "unexpected"},
		"an unknown function":                {`summ(up)`, Instant, "unknown function"},
		"a window that is missing":           {`rate(up)`, Instant, `expected type range vector in call to function "rate", got instant vector`},
		"another language":                   {`SELECT 1`, Instant, "unexpected"},
		"nothing":                            {``, Instant, "no expression found in input"},
		"a text":                             {`"up"`, Instant, "returns a string"},
		"a range vector for each step":       {`up[5m]`, Range, "range vector"},
		"an error whatever the argument is":  {`sum(up{job="{{args.job}}"} > {{args.limit}}`, Instant, "unclosed left parenthesis"},
		"a matcher whose quote is left open": {`up{job="{{args.job}}}`, Instant, "unterminated"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Check(c.query, c.use)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestGoldenQueries: those that are shipped are PromQL for every router and signal.
func TestGoldenQueries(t *testing.T) {
	checked := 0
	for _, router := range []v1alpha1.GoldenRouter{v1alpha1.GoldenIstio, v1alpha1.GoldenLinkerd, v1alpha1.GoldenNginx, v1alpha1.GoldenTraefik, v1alpha1.GoldenContour} {
		for _, signal := range []v1alpha1.GoldenSignal{v1alpha1.GoldenRequestSuccessRate, v1alpha1.GoldenRequestDurationP50, v1alpha1.GoldenRequestDurationP95, v1alpha1.GoldenRequestDurationP99} {
			canary, stable := spec.Golden(&v1alpha1.Metric{Golden: signal, GoldenTarget: &v1alpha1.GoldenTarget{
				Router: router, Namespace: "shop", Canary: "web-canary", Stable: "web", Ingress: "web",
			}})
			for _, query := range []string{canary, stable} {
				if err := Check(query, Range); err != nil {
					t.Errorf("%s %s: %s: %v", router, signal, query, err)
				}
				checked++
			}
		}
	}
	if checked != 40 {
		t.Errorf("%d queries", checked)
	}
}

// FuzzCheck: nobody's query ends the linter.
func FuzzCheck(f *testing.F) {
	f.Add(`up{a="{{args.x}}"}`)
	f.Add(`{{args.a}}{{args.b}}{{args.c}}`)
	f.Fuzz(func(_ *testing.T, query string) {
		if len(query) < 1<<10 {
			_ = Check(query, Range)
		}
	})
}
