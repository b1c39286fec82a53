package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
)

const trialTemplate = `
apiVersion: argoproj.io/v1alpha1
kind: AnalysisTemplate
metadata: {name: health}
spec:
  args:
    - name: address
    - name: token
      valueFrom: {secretKeyRef: {name: tokens, key: web}}
  metrics:
    - name: errors
      initialDelay: 5m
      interval: 1m
      successCondition: result.rate < 0.05
      failureCondition: result.rate > 0.5
      provider: {web: {url: "{{args.address}}/health", headers: [{key: Authorization, value: "Bearer {{args.token}}"}]}}
    - name: latency
      provider: {graphite: {address: "{{args.address}}", query: target=latency}}
      successCondition: result[0] < 1
`

func TestTryAnAnalysis(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/health" {
			_, _ = fmt.Fprintf(w, `{"rate": 0.2, "as": %q}`, r.Header.Get("Authorization"))
			return
		}
		_, _ = fmt.Fprint(w, `[{"target": "latency", "datapoints": [[0.5, 1]]}]`)
	}))
	t.Cleanup(s.Close)
	t.Chdir(t.TempDir())
	if err := os.WriteFile("template.yaml", []byte(trialTemplate), 0o600); err != nil {
		t.Fatal(err)
	}
	secret := `{apiVersion: v1, kind: Secret, metadata: {name: tokens}, data: {web: czNjcmV0}}`
	for name, c := range map[string]struct {
		args []string
		want result
	}{
		"a metric that is not successful": {
			[]string{"--arg", "address=" + s.URL},
			result{code: 1, err: "error: not successful: 1 of 2 metrics\n", out: `errors: Inconclusive
  asked             GET URL/health
  value             {"as":"Bearer *****","rate":0.2}
  failureCondition  result.rate > 0.5  is false
  successCondition  result.rate < 0.05  is false
  message           value {"as":"Bearer *****","rate":0.2} of GET URL/health meets neither successCondition ` + "`result.rate < 0.05` nor failureCondition `result.rate > 0.5`" + `
latency: Successful
  asked             query ` + "`target=latency`" + ` at URL
  value             [0.500000]
  successCondition  result[0] < 1  is true
`},
		},
		"an argument without a value": {
			nil, result{code: 1, err: "error: argument \"address\" has no value: give it one with -a address=VALUE\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := newCluster(t, secret).run(t.Context(), append([]string{"analysis", "run", "-f", "template.yaml"}, c.args...)...)
			got.out = strings.ReplaceAll(got.out, s.URL, "URL")
			if got.code != c.want.code || got.out != c.want.out || got.err != c.want.err {
				t.Errorf("%d\n%s%s\nwant %d\n%s%s", got.code, got.out, got.err, c.want.code, c.want.out, c.want.err)
			}
		})
	}
}

const comparisonTemplate = `
apiVersion: argoproj.io/v1alpha1
kind: AnalysisTemplate
metadata: {name: compared}
spec:
  metrics:
    - name: against-stable
      initialDelay: 10m
      comparison:
        step: 1m
        signals:
        - {name: errors, direction: Increase, canary: canary, baseline: stable}
      provider: {prometheus: {}}
`

// TestTryAComparison: it is judged with what there is now, although no analysis has begun, and says how each signal did.
func TestTryAComparison(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		value := map[string]int{"canary": 3, "stable": 1}[r.FormValue("query")]
		var points []string
		for i := range 11 {
			points = append(points, fmt.Sprintf(`[%d,"%d.%d"]`, 1700000000+60*i, value, i%3))
		}
		_, _ = fmt.Fprintf(w, `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[%s]}]}}`, strings.Join(points, ","))
	}))
	t.Cleanup(s.Close)
	t.Chdir(t.TempDir())
	if err := os.WriteFile("template.yaml", []byte(comparisonTemplate), 0o600); err != nil {
		t.Fatal(err)
	}
	got := newCluster(t).run(t.Context(), "analysis", "run", "-f", "template.yaml", "--prometheus", s.URL)
	for _, want := range []string{
		"against-stable: Failed\n", "asked             comparison of canary and baseline from ", "value             0\n",
		"signal errors     high: mean 3.091, baseline 1.091 (+183.3%); p ", "score 0 is less than comparison.marginal 50: errors: high",
	} {
		if got.code != 1 || !strings.Contains(got.out, want) {
			t.Errorf("%d\n%s%s\nwant %s", got.code, got.out, got.err, want)
		}
	}
}

// TestWatchAnAnalysis: each metric is measured again until its verdicts are shown; a pipe gets a line for each measurement.
func TestWatchAnAnalysis(t *testing.T) {
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `[{"target": "latency", "datapoints": [[%d, 1]]}]`, asked.Add(1)-1)
	}))
	t.Cleanup(s.Close)
	t.Chdir(t.TempDir())
	template := `
apiVersion: argoproj.io/v1alpha1
kind: AnalysisTemplate
metadata: {name: health}
spec:
  args: [{name: address}]
  metrics:
    - {name: latency, interval: 1s, successCondition: "result[0] < 1", provider: {graphite: {address: "{{args.address}}", query: target=latency}}}
`
	if err := os.WriteFile("template.yaml", []byte(template), 0o600); err != nil {
		t.Fatal(err)
	}
	got := newCluster(t).runUntil(t.Context(), "Failed", "analysis", "run", "-f", "template.yaml", "--watch", "--arg", "address="+s.URL)
	want := "12:00:00  latency: ✔ Successful [0.000000]\n12:00:00  latency: ✖ Failed [1.000000]\n"
	if got.code == 0 || got.out != want {
		t.Errorf("%d\n%s%s\nwant\n%s", got.code, got.out, got.err, want)
	}
	asked.Store(5)
	got = newCluster(t).run(t.Context(), "analysis", "run", "-f", "template.yaml", "-w", "--timeout", "900ms", "--arg", "address="+s.URL)
	if got.code != 1 || got.err != "error: not successful: 1 of 1 metrics\n" {
		t.Errorf("%d\n%s%s", got.code, got.out, got.err)
	}
}
