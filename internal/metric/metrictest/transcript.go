// Package metrictest runs providers of measurements against a server that answers as a file says, and shows what was asked and what the
// measurement is. The files are transcripts:
//
//	measure
//	provider: {graphite: {address: "http://graphite", query: target=x}}
//	<- 200
//	[{"target": "x", "datapoints": [[1, 1700000000]]}]
//	----
//	-> GET http://graphite/render?format=json&target=x
//	Successful [1.000000]
//
// An answer may be "<- slow" for one that never comes, "<- 200 partial" for one that is cut off, and have headers: "<- 429 Retry-After: 0".
// "secret NAMESPACE/NAME" has a Secret to read, "env" the controller's environment, and "resume" goes on with the measurement before.
package metrictest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis/measure"
	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/server"
)

// Now is the time of all transcripts.
var Now = time.Date(2026, 8, 17, 15, 4, 5, 0, time.UTC)

// World is what a provider under test has around it.
type World struct {
	Network *server.Network
	Env     func(string) string
}

// Run runs the transcripts of a folder.
func Run(t *testing.T, folder string, provider func(World) metric.Provider) {
	files, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no transcripts: %v", folder, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			s := NewScene(t, provider)
			datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
				out, err := s.Do(t.Context(), d.Cmd, d.CmdArgs, d.Input)
				if err != nil {
					d.Fatalf(t, "%s", err)
				}
				return out
			})
		})
	}
}

// Scene is the state of a transcript.
type Scene struct {
	provider metric.Provider
	fake     *fake
	secrets  map[string]map[string]string
	env      map[string]string
	begun    *v1alpha1.Measurement
}

// NewScene returns a provider with nothing around it but a server.
func NewScene(t *testing.T, provider func(World) metric.Provider) *Scene {
	s := &Scene{fake: newFake(t), secrets: map[string]map[string]string{}, env: map[string]string{}}
	s.provider = provider(World{Network: server.Over(s.fake), Env: func(name string) string { return s.env[name] }})
	return s
}

// Do carries one command out.
func (s *Scene) Do(ctx context.Context, command string, args []datadriven.CmdArg, input string) (string, error) {
	switch command {
	case "secret":
		data := map[string]string{}
		err := yaml.Unmarshal([]byte(input), &data)
		s.secrets[args[0].Key] = data
		return "", err
	case "env":
		s.env = map[string]string{}
		return "", yaml.Unmarshal([]byte(input), &s.env)
	case "measure":
		s.begun = nil
	case "resume":
	default:
		return "", fmt.Errorf("%s is no command", command)
	}
	text, answers, err := parse(input)
	if err != nil {
		return "", err
	}
	var m v1alpha1.Metric
	if err := yaml.UnmarshalStrict([]byte(text), &m); err != nil {
		return "", err
	}
	result := s.Measure(ctx, m, answers)
	return strings.ReplaceAll(s.fake.asked()+show(result), "\x00", `\x00`), nil
}

// Measure measures once, or goes on with what is under way.
func (s *Scene) Measure(ctx context.Context, m v1alpha1.Metric, answers []Answer) measure.Result {
	s.fake.begin(answers)
	if slices.ContainsFunc(answers, func(a Answer) bool { return a.Slow }) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
	}
	keys := &metric.Keys{Read: s.read}
	m.Name = "metric"
	result := measure.Result{StartedAt: Now, FinishedAt: Now}
	result.Request = metric.Request{
		Run:    metric.Run{Namespace: "shop", Name: "run", UID: "0a1b2c3d", StartedAt: Now.Add(-time.Hour)},
		Metric: m, Number: 1, Begun: s.begun, Keys: keys,
	}
	var err error
	if s.begun == nil {
		result.Reading, err = s.provider.Measure(ctx, result.Request)
	} else {
		result.Reading, err = s.provider.(metric.Asynchronous).Resume(ctx, result.Request)
	}
	if err != nil {
		result.Err = err.Error()
	}
	result.Secrets = keys.Hidden
	result = measure.Judge(ctx, result)
	if result.Reading.Phase == v1alpha1.AnalysisPhaseRunning {
		s.begun = &v1alpha1.Measurement{Phase: v1alpha1.AnalysisPhaseRunning, StartedAt: new(metav1.NewTime(Now)), Metadata: result.Reading.Metadata}
	}
	return result
}

func (s *Scene) read(_ context.Context, namespace, name string) (map[string]string, error) {
	if data, ok := s.secrets[namespace+"/"+name]; ok {
		return data, nil
	}
	return nil, fmt.Errorf("Secret %q %w", name, metric.ErrNoSecret) //nolint:staticcheck // a kind
}

// show is a measurement as it is recorded.
func show(r measure.Result) string {
	hide := r.Secrets.Hide
	var b strings.Builder
	if r.Err != "" {
		fmt.Fprintf(&b, "Error: %s\n", hide(r.Err))
		return b.String()
	}
	b.WriteString(strings.TrimSpace(string(r.Reading.Phase) + " " + hide(r.Reading.Text)))
	if r.Reading.Message != "" {
		b.WriteString(": " + hide(r.Reading.Message))
	}
	b.WriteString("\n")
	if !r.Reading.ResumeAt.IsZero() {
		fmt.Fprintf(&b, "  resume after %s\n", r.Reading.ResumeAt.Sub(Now))
	}
	for _, texts := range []map[string]string{r.Reading.Metadata, r.Reading.About} {
		for _, key := range slices.Sorted(maps.Keys(texts)) {
			fmt.Fprintf(&b, "  %s: %s\n", key, hide(texts[key]))
		}
	}
	return b.String()
}

// Answer is one of the server's.
type Answer struct {
	Status        int
	Header        http.Header
	Body          string
	Slow, Partial bool
}

var answerLine = regexp.MustCompile(`^<- (\w+)( partial)?( .*)?$`)

// parse tells a metric from the answers to it.
func parse(input string) (string, []Answer, error) {
	var text strings.Builder
	var answers []Answer
	for line := range strings.Lines(input) {
		found := answerLine.FindStringSubmatch(strings.TrimSpace(line))
		switch {
		case found == nil && len(answers) == 0:
			text.WriteString(line)
		case found == nil:
			answers[len(answers)-1].Body += line
		case found[1] == "slow":
			answers = append(answers, Answer{Slow: true})
		default:
			status, err := strconv.Atoi(found[1])
			if err != nil {
				return "", nil, fmt.Errorf("%s: %w", line, err)
			}
			header := http.Header{}
			if key, value, ok := strings.Cut(strings.TrimSpace(found[3]), ": "); ok {
				header.Set(key, value)
			}
			answers = append(answers, Answer{Status: status, Partial: found[2] != "", Header: header})
		}
	}
	return text.String(), answers, nil
}

// fake is all servers of the world.
type fake struct {
	real *httptest.Server
	at   *url.URL

	mu      sync.Mutex // over what follows: the server and who asks it are at it together
	answers []Answer
	seen    []string
}

// begin takes the answers to give, and forgets what was asked.
func (f *fake) begin(answers []Answer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers, f.seen = answers, nil
}

// asked is what was asked since.
func (f *fake) asked() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.seen, "")
}

func (f *fake) see(line string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = append(f.seen, line)
}

// next is the answer to give, if there is one left.
func (f *fake) next() (a Answer, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.answers) == 0 {
		return Answer{}, false
	}
	a, f.answers = f.answers[0], f.answers[1:]
	return a, true
}

func newFake(t *testing.T) *fake {
	f := &fake{}
	f.real = httptest.NewServer(f)
	t.Cleanup(f.real.Close)
	at, err := url.Parse(f.real.URL)
	if err != nil {
		t.Fatal(err)
	}
	f.at = at
	return f
}

// shown are the headers that a request is shown with.
var shown = []string{"Content-Type", "Authorization", "Api-Key", "Dd-Api-Key", "Dd-Application-Key", "X-Amz-Date", "X-Amz-Security-Token", "X-Sf-Token", "X-Scope-Orgid"}

// RoundTrip asks the fake, wherever the request goes.
func (f *fake) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	line := fmt.Sprintf("-> %s %s\n", r.Method, r.URL)
	for _, key := range shown {
		if value := r.Header.Get(key); value != "" {
			line += fmt.Sprintf("   %s: %s\n", key, value)
		}
	}
	if len(body) > 0 {
		line += "   " + string(body) + "\n"
	}
	f.see(line)
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host, r.Body = f.at.Scheme, f.at.Host, io.NopCloser(bytes.NewReader(body))
	return http.DefaultTransport.RoundTrip(r)
}

// ServeHTTP answers.
func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a, ok := f.next()
	if !ok {
		http.Error(w, "the transcript has no more answers", http.StatusTeapot)
		return
	}
	_, _ = io.Copy(io.Discard, r.Body) // or the server would not notice that nobody waits any more
	if a.Slow {
		<-r.Context().Done()
		return
	}
	maps.Copy(w.Header(), a.Header)
	body := strings.TrimSpace(a.Body)
	if a.Partial {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)+10))
	}
	w.WriteHeader(a.Status)
	_, _ = io.WriteString(w, body)
}
