package web

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/server"
)

// here asks servers of this machine.
var here = Provider{Network: server.NewNetwork(server.Reach{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})}

// service answers in as many ways as a test needs.
func service(t *testing.T) *httptest.Server {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, `{"secret": %q, "method": %q}`, r.Header.Get("X-Token")+r.Header.Get("Authorization"), r.Method)
	}))
	t.Cleanup(other.Close)
	mux := http.NewServeMux()
	mux.HandleFunc("/json", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, `{"ok": true, "rate": 0.25, "name": "web", "items": [{"n": 1}, {"n": 2}], "none": null, "empty": []}`)
	})
	mux.HandleFunc("/text", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "all is\nwell") })
	mux.HandleFunc("/fails", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "out of order", http.StatusServiceUnavailable)
	})
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_ = json.NewEncoder(w).Encode(map[string]string{
			"method": r.Method, "body": string(body), "type": r.Header.Get("Content-Type"), "token": r.Header.Get("X-Token"),
			"authorization": r.Header.Get("Authorization"), "host": r.Host,
		})
	})
	var busy, broken atomic.Bool
	mux.HandleFunc("/busy", func(w http.ResponseWriter, _ *http.Request) {
		if busy.CompareAndSwap(false, true) {
			w.Header().Set("Retry-After", "0")
			http.Error(w, "later", http.StatusTooManyRequests)
			return
		}
		_, _ = fmt.Fprint(w, `{"ok": true}`)
	})
	mux.HandleFunc("/broken", func(w http.ResponseWriter, _ *http.Request) {
		if broken.CompareAndSwap(false, true) {
			panic(http.ErrAbortHandler) // the connection ends, and nobody knows whether something was done
		}
		_, _ = fmt.Fprint(w, `"twice"`)
	})
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/long", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, strings.Repeat("x", mostBytes+1)) })
	mux.HandleFunc("/exact", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, strings.Repeat("x", mostBytes)) })
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/echo", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/elsewhere", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/circle", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/circle", http.StatusFound) })
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		id, secret, _ := r.BasicAuth()
		if r.ParseForm() != nil || id != "me" || secret != "mine" {
			http.Error(w, `{"error": "invalid_client"}`, http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"access_token": "granted-%s", "token_type": "bearer"}`, r.Form.Get("scope"))
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func TestMeasuring(t *testing.T) {
	s := service(t)
	oauth2 := func(secret string) *v1alpha1.Authentication {
		return &v1alpha1.Authentication{OAuth2: &v1alpha1.OAuth2Config{TokenURL: s.URL + "/token", ClientID: "me", ClientSecret: secret, Scopes: []string{"read"}}}
	}
	header := []v1alpha1.WebMetricHeader{{Key: "X-Token", Value: "abc"}}
	for name, c := range map[string]struct {
		metric v1alpha1.WebMetric
		want   string // text, or the error
	}{
		"all of the answer":            {v1alpha1.WebMetric{URL: "/json", JSONPath: "{$}"}, `{"empty":[],"items":[{"n":1},{"n":2}],"name":"web","none":null,"ok":true,"rate":0.25}`},
		"one value":                    {v1alpha1.WebMetric{URL: "/json", JSONPath: "{$.rate}"}, "0.25"},
		"a text":                       {v1alpha1.WebMetric{URL: "/json", JSONPath: "{$.name}"}, "web"},
		"the first of several values":  {v1alpha1.WebMetric{URL: "/json", JSONPath: "{$.items[*].n}"}, "1"},
		"a list":                       {v1alpha1.WebMetric{URL: "/json", JSONPath: "{$.items}"}, `[{"n":1},{"n":2}]`},
		"an overload that passes":      {v1alpha1.WebMetric{URL: "/busy", JSONPath: "{$.ok}"}, "true"},
		"no second body":               {v1alpha1.WebMetric{URL: "/broken", Method: "POST", Body: "x"}, `error: POST URL/broken: EOF`},
		"null":                         {v1alpha1.WebMetric{URL: "/json", JSONPath: "{$.none}"}, "null"},
		"an empty list":                {v1alpha1.WebMetric{URL: "/json", JSONPath: "{$.empty}"}, "[]"},
		"what is not there":            {v1alpha1.WebMetric{URL: "/json", JSONPath: "{$.missing}"}, `error: GET URL/json: jsonPath "{$.missing}": missing is not found, in the answer "{\"ok\":`},
		"a path that is none":          {v1alpha1.WebMetric{URL: "/json", JSONPath: "{$.["}, `error: GET URL/json: jsonPath "{$.[": `},
		"no JSON":                      {v1alpha1.WebMetric{URL: "/text"}, "all is\nwell"},
		"no JSON to look into":         {v1alpha1.WebMetric{URL: "/text", JSONPath: "{$.ok}"}, `error: GET URL/text: the answer is not JSON, in which to look for jsonPath "{$.ok}": "all is well"`},
		"a bad status":                 {v1alpha1.WebMetric{URL: "/fails"}, `error: GET URL/fails: it answered 503 Service Unavailable: "out of order"`},
		"a body":                       {v1alpha1.WebMetric{URL: "/echo", Method: "POST", Body: "hello", JSONPath: "{$}"}, `{"authorization":"","body":"hello","host":"HOST","method":"POST","token":"","type":""}`},
		"a body of JSON":               {v1alpha1.WebMetric{URL: "/echo", Method: "PUT", JSONBody: json.RawMessage(`{"a": 1}`), JSONPath: "{$}"}, `{"authorization":"","body":"{\"a\": 1}","host":"HOST","method":"PUT","token":"","type":"application/json"}`},
		"both bodies":                  {v1alpha1.WebMetric{URL: "/echo", Method: "PUT", Body: "x", JSONBody: json.RawMessage(`{}`)}, "error: PUT URL/echo: it has both body and jsonBody: remove one of the two"},
		"a body with GET":              {v1alpha1.WebMetric{URL: "/echo", Body: "x"}, "error: GET URL/echo: a body needs method POST or PUT; GET, the default, sends none"},
		"headers":                      {v1alpha1.WebMetric{URL: "/echo", Headers: header, JSONPath: "{.token}"}, "abc"},
		"the header Host":              {v1alpha1.WebMetric{URL: "/echo", Headers: []v1alpha1.WebMetricHeader{{Key: "host", Value: "shop"}}, JSONPath: "{.host}"}, "shop"},
		"OAuth2":                       {v1alpha1.WebMetric{URL: "/echo", Authentication: oauth2("mine"), JSONPath: "{.authorization}"}, "Bearer granted-read"},
		"OAuth2 with a wrong secret":   {v1alpha1.WebMetric{URL: "/echo", Authentication: oauth2("wrong")}, `error: GET URL/echo: ask for a token: oauth2: cannot fetch token: 401 Unauthorized`},
		"a basic authentication":       {v1alpha1.WebMetric{URL: "/echo", Authentication: &v1alpha1.Authentication{BasicAuth: &v1alpha1.BasicAuthConfig{Username: "a"}}}, "error: GET URL/echo: authentication.basicAuth is for prometheus only: write a header Authorization"},
		"an answer that does not come": {v1alpha1.WebMetric{URL: "/slow", TimeoutSeconds: 1}, "error: GET URL/slow: no answer within 1s"},
		"an answer that is too long":   {v1alpha1.WebMetric{URL: "/long"}, "error: GET URL/long: the answer is longer than 1048576 bytes: ask for less"},
		"an answer that just fits":     {v1alpha1.WebMetric{URL: "/exact"}, strings.Repeat("x", mostBytes)},
		"a redirect":                   {v1alpha1.WebMetric{URL: "/moved", Method: "POST", Body: "hello", Headers: header, JSONPath: "{$}"}, `{"authorization":"","body":"hello","host":"HOST","method":"POST","token":"abc","type":""}`},
		"a redirect to another server": {v1alpha1.WebMetric{URL: "/elsewhere", Headers: header, JSONPath: "{.secret}"}, ""},
		"one with a token":             {v1alpha1.WebMetric{URL: "/elsewhere", Authentication: oauth2("mine"), JSONPath: "{.secret}"}, ""},
		"one with a body":              {v1alpha1.WebMetric{URL: "/elsewhere", Method: "POST", Body: "hello"}, "error: POST URL/elsewhere: it redirects to http://"},
		"a token server that redirects": {
			v1alpha1.WebMetric{URL: "/echo", Authentication: &v1alpha1.Authentication{OAuth2: &v1alpha1.OAuth2Config{TokenURL: s.URL + "/moved", ClientID: "me", ClientSecret: "mine"}}},
			`error: GET URL/echo: ask for a token: Post "/echo": authentication.oauth2.tokenUrl redirects to URL, and a secret is not sent on: write that server's URL`,
		},
		"redirects without end": {v1alpha1.WebMetric{URL: "/circle"}, "error: GET URL/circle: it redirects more than 10 times"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.metric.URL = s.URL + c.metric.URL
			reading, err := here.Measure(t.Context(), metric.Request{Metric: v1alpha1.Metric{Provider: v1alpha1.MetricProvider{Web: &c.metric}}})
			got := strings.ReplaceAll(reading.Text, strings.TrimPrefix(s.URL, "http://"), "HOST")
			if err != nil {
				got = strings.ReplaceAll("error: "+err.Error(), s.URL, "URL")
			}
			if got != c.want && (err == nil || !strings.HasPrefix(got, c.want)) {
				t.Errorf("%.300s\nwant %.300s", got, c.want)
			}
		})
	}
}

func TestWhatIsMissingMayBeProvidedFor(t *testing.T) {
	s := service(t)
	m := v1alpha1.Metric{WhenNoData: v1alpha1.AnalysisPhaseSuccessful, Provider: v1alpha1.MetricProvider{
		Web: &v1alpha1.WebMetric{URL: s.URL + "/json", JSONPath: "{$.missing.more}"},
	}}
	reading, err := here.Measure(t.Context(), metric.Request{Metric: m})
	if err != nil || reading.Value != nil {
		t.Errorf("%v, %v; want no value and no error", reading.Value, err)
	}
}

func TestCertificates(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "1") }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	for insecure, want := range map[bool]string{true: "1", false: "certificate"} {
		m := v1alpha1.Metric{Provider: v1alpha1.MetricProvider{Web: &v1alpha1.WebMetric{URL: s.URL, Insecure: insecure}}}
		reading, err := here.Measure(t.Context(), metric.Request{Metric: m})
		if got := fmt.Sprint(reading.Text, err); !strings.Contains(got, want) {
			t.Errorf("insecure %t: %s, want %s", insecure, got, want)
		}
	}
}

func TestNoServerThere(t *testing.T) {
	s := httptest.NewServer(nil)
	s.Close()
	for url, want := range map[string]string{
		s.URL:         "connection refused",
		"web.local/x": `address "web.local/x" is not a URL of a server`,
		"http://%zz":  "invalid URL escape",
	} {
		m := v1alpha1.Metric{Provider: v1alpha1.MetricProvider{Web: &v1alpha1.WebMetric{URL: url}}}
		_, err := here.Measure(t.Context(), metric.Request{Metric: m})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", url, err, want)
		}
	}
}

// A path that finds the same values again and again is refused where the answer is not small. What is common costs what the answer is long.
func TestPathsThatFindTooMuch(t *testing.T) {
	nested := func(depth int) string { return strings.Repeat("[", depth) + "1" + strings.Repeat("]", depth) }
	wide := "[" + strings.Repeat("1,", 100_000) + "1]"
	for path, c := range map[string]struct {
		body    string
		refused bool
	}{
		"{..[*]}":                               {wide, false},
		"{[*]}":                                 {wide, false},
		"{..[*]..[*]}":                          {nested(100), false},
		"{$..[*]..[*]}":                         {nested(1000), true},
		"{$..[*]..[*]..[*]..[*]}":               {nested(150), true},
		"{['a','b']}":                           {`{"a": 1, "b": 2}`, false},
		"{" + strings.Repeat("[0,0]", 40) + "}": {nested(41), true},
	} {
		_, err := find([]byte(c.body), path, true)
		if refused := err != nil && strings.Contains(err.Error(), "values many times: write .. at most once"); refused != c.refused {
			t.Errorf("%s: %v, want it refused: %v", path, err, c.refused)
		}
	}
}

// Whatever a server answers, and whatever path is asked for, is found or is an error, and can be shown.
func FuzzFind(f *testing.F) {
	f.Add(`{"ok": true, "items": [{"n": 1}], "none": null}`, "{.items[0].n}", false)
	f.Add(`{"a": [1, 2]}`, "{$.a[5]}", true)
	f.Add(`[]`, "{range .[*]}{.x}{end}", false)
	f.Add("all is\nwell", "", false)
	f.Fuzz(func(t *testing.T, body, path string, mayBeMissing bool) {
		value, err := find([]byte(body), path, mayBeMissing)
		if err != nil && value != nil {
			t.Errorf("%v, and the error %v", value, err)
		}
		_ = text(value)
	})
}
