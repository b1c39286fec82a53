package controller_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
)

// The attacks S7 of the security review under the rights of the install: a tenant who may write AnalysisRuns has the controller ask what the tenant
// cannot reach. Each is refused, with a message that says why, and nobody is asked. One address is allowed: from there servers redirect.
func TestMeasurementsReachNoLocalServices(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	tenant := ns.As("tenant", analysisWriter)
	var asked atomic.Int32
	victim := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = w.Write([]byte(`{"access_token": "stolen"}`)) // nobody may be there to read it
	}))
	t.Cleanup(victim.Close)
	listener, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	allowed := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, victim.URL, http.StatusFound)
		case "/token":
			http.Redirect(w, r, victim.URL, http.StatusTemporaryRedirect)
		default:
			_, _ = w.Write([]byte("1")) // nobody may be there to read it
		}
	}))
	allowed.Listener = listener
	allowed.Start()
	t.Cleanup(allowed.Close)
	port := ns.FreePort()
	ns.Env = []string{"NO_PROXY=*", "no_proxy=*"}
	ns.StartController("--metrics-port", fmt.Sprint(port), "--analysis-allow-cidrs=127.0.0.2/32")

	_, victimPort, _ := strings.Cut(strings.TrimPrefix(victim.URL, "http://"), ":")
	const remedy = "--analysis-allow-cidrs"
	for name, c := range map[string]struct {
		provider string
		want     []string
	}{
		"metrics":    {fmt.Sprintf(`web: {url: "http://127.0.0.1:%d/metrics"}`, port), []string{"127.0.0.1", remedy}},
		"prometheus": {fmt.Sprintf(`prometheus: {address: "http://127.0.0.1:%d", query: up}`, port), []string{"127.0.0.1", remedy}},
		"metadata":   {`web: {url: "http://169.254.169.254/latest/api/token", method: PUT}`, []string{"169.254.169.254", remedy}},
		"name":       {`web: {url: "http://localhost:` + victimPort + `"}`, []string{"localhost", remedy}},
		"number":     {`web: {url: "http://[::ffff:127.0.0.1]:` + victimPort + `"}`, []string{"127.0.0.1", remedy}},
		"redirect":   {`web: {url: "` + allowed.URL + `/moved"}`, []string{"127.0.0.1", remedy}},
		"token": {
			`web: {url: "` + allowed.URL + `/", authentication: {oauth2: {tokenUrl: "` + allowed.URL + `/token", clientId: me, clientSecret: secret}}}`,
			[]string{"authentication.oauth2.tokenUrl redirects to http://127.0.0.1", "a secret is not sent on"},
		},
	} {
		run := &v1alpha1.AnalysisRun{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: name}}
		spec := `{metrics: [{name: a, consecutiveErrorLimit: 0, provider: {` + c.provider + `}}]}`
		if err := yaml.UnmarshalStrict([]byte(spec), &run.Spec); err != nil {
			t.Fatal(err)
		}
		if err := tenant.Create(t.Context(), run); err != nil {
			t.Fatal(err)
		}
		ended := ns.WaitForAnalysisRun(name, "to end", hasEnded)
		for _, want := range c.want {
			if got := ended.Status.Message; ended.Status.Phase != v1alpha1.AnalysisPhaseError || !strings.Contains(got, want) {
				t.Errorf("%s: it ended %s with %q, want an Error that says %s", name, ended.Status.Phase, got, want)
			}
		}
	}
	createRun(t, ns, "honest", `{metrics: [{name: a, successCondition: result == 1, provider: {web: {url: "`+allowed.URL+`"}}}]}`)
	if run := ns.WaitForAnalysisRun("honest", "to end", hasEnded); run.Status.Phase != v1alpha1.AnalysisPhaseSuccessful {
		t.Errorf("what is allowed ended %s: %s", run.Status.Phase, run.Status.Message)
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("the local service was asked %d times", n)
	}
}
