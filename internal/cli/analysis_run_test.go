package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
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
			result{code: 1, err: "error: 1 of 2 metrics are not successful\n", out: `errors: Inconclusive
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
