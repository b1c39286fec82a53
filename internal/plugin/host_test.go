package plugin_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"

	"github.com/sluice-delivery/sluice/api/plugin"
	"github.com/sluice-delivery/sluice/api/v1alpha1"
	host "github.com/sluice-delivery/sluice/internal/plugin"
)

// stage is a host whose ConfigMap a test edits.
type stage struct {
	*host.Host
	t     *testing.T
	clock *testclock.FakeClock
	log   *buffer
	dir   string

	mu   sync.Mutex
	data map[string]string
}

// buffer is a log that may be read while it is written.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func newStage(t *testing.T, list string, change ...func(*host.Settings)) *stage {
	s := &stage{t: t, clock: testclock.NewFakeClock(time.Now()), log: &buffer{}, dir: t.TempDir()}
	s.configure(list)
	var _ clock.PassiveClock = s.clock
	settings := host.Settings{
		Clock: s.clock, Log: slog.New(slog.NewTextHandler(s.log, nil)), Dir: filepath.Join(s.dir, "bin"),
		ReadConfig: func(context.Context) (map[string]string, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.data, nil
		},
		ReadSecret: func(_ context.Context, name string) (map[string]string, error) {
			if name != "token" {
				return nil, fmt.Errorf("secret %q not found", name)
			}
			return map[string]string{"Authorization": "Bearer s3cret\n"}, nil
		},
		Env: func(name string) string {
			return map[string]string{"PATH": os.Getenv("PATH"), "DD_API_KEY": "for this one", "AWS_SECRET_ACCESS_KEY": "for nobody"}[name]
		},
	}
	for _, c := range change {
		c(&settings)
	}
	s.Host = host.NewHost(t.Context(), settings)
	t.Cleanup(s.Close)
	return s
}

// configure writes the list of metric plugins, in which SELF stands for this test's binary.
func (s *stage) configure(list string) {
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data = map[string]string{"metricProviderPlugins": strings.ReplaceAll(list, "SELF", "file://"+self)}
	s.clock.Step(time.Minute)
}

// configureAll lists the same plugins in all lists.
func (s *stage) configureAll(list string) {
	s.configure(list)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range host.Keys {
		s.data[key] = s.data["metricProviderPlugins"]
	}
}

const good = `[{name: example/metric, location: SELF}]`

func (s *stage) run(metric string) (v1alpha1.Measurement, error) {
	return s.ask("example/metric", metric)
}

func (s *stage) ask(name, metric string) (v1alpha1.Measurement, error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	run := &v1alpha1.AnalysisRun{}
	run.Namespace, run.Name = "shop", "web"
	return host.Ask[v1alpha1.Measurement](ctx, s.Host, host.Question{
		ID: host.ID{Kind: plugin.MetricProvider, Name: name}, Tenant: "shop", Method: "Run",
		Args: plugin.RunArgs{AnalysisRun: run, Metric: v1alpha1.Metric{Name: metric, Provider: v1alpha1.MetricProvider{
			Plugin: map[string]json.RawMessage{name: json.RawMessage(`{"query":"up"}`)},
		}}},
	})
}

func (s *stage) mustRun(metric string) v1alpha1.Measurement {
	s.t.Helper()
	m, err := s.run(metric)
	if err != nil {
		s.t.Fatal(err)
	}
	return m
}

func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q: %v", part, err)
		}
	}
}

// A real process, by the real handshake: what is sent arrives, and what is answered too.
func TestAsk(t *testing.T) {
	s := newStage(t, good)
	if m := s.mustRun("plain"); m.Value != "shop/web" || m.Phase != v1alpha1.AnalysisPhaseSuccessful {
		t.Errorf("measured %+v", m)
	}
	if m := s.mustRun("settings"); m.Value != `{"query":"up"}` {
		t.Errorf("the settings arrive as %s", m.Value)
	}
	m := s.mustRun("running")
	if m.ResumeAt == nil || m.ResumeAt.Unix() != 1_800_000_000 || m.Metadata["job"] != "7" {
		t.Errorf("a measurement under way is %+v", m)
	}
	if first, second := s.mustRun("pid").Value, s.mustRun("pid").Value; first != second {
		t.Errorf("processes %s and %s for one plugin", first, second)
	}
	ended, err := host.Ask[v1alpha1.Measurement](t.Context(), s.Host, host.Question{
		ID: host.ID{Kind: plugin.MetricProvider, Name: "example/metric"}, Method: "Terminate", Args: plugin.TerminateAndResumeArgs{Measurement: m},
	})
	if err != nil || ended.Message != "ended" || ended.Metadata["job"] != "7" {
		t.Errorf("terminated: %+v, %v", ended, err)
	}
	_, err = host.Ask[plugin.RpcError](t.Context(), s.Host, host.Question{
		ID: host.ID{Kind: plugin.MetricProvider, Name: "example/metric"}, Method: "GarbageCollect", Args: plugin.RunArgs{},
	})
	wantError(t, err, `metric plugin "example/metric"`, "invalid args")
	s.mustRun("plain") // a question that it does not understand is no reason to end it
}

// Of the controller's environment a plugin sees what it needs, and what the administrator lists.
func TestEnvironment(t *testing.T) {
	s := newStage(t, `[{name: example/metric, location: SELF, env: [DD_API_KEY]}]`)
	env := s.mustRun("environment").Value
	for _, want := range []string{"PATH=", "DD_API_KEY=for this one", "ARGO_ROLLOUTS_RPC_PLUGIN=metricprovider", "PLUGIN_PROTOCOL_VERSIONS=1"} {
		if !strings.Contains(env, want) {
			t.Errorf("the environment lacks %s:\n%s", want, env)
		}
	}
	if strings.Contains(env, "for nobody") {
		t.Error("credentials are passed on that nobody listed")
	}
}

// What a plugin does wrong is an error that says so, and the next call after the back-off finds a new process.
func TestFailures(t *testing.T) {
	for metric, want := range map[string][]string{
		"hangs":   {"did not answer Run within 5s"},
		"crashes": {"Run rpc call error", "EOF"},
		"huge":    {"the answer is larger than 4 MiB"},
	} {
		t.Run(metric, func(t *testing.T) {
			t.Parallel()
			timeout := "2m" // a busy machine takes seconds to make a huge answer
			if metric == "hangs" {
				timeout = "5s"
			}
			s := newStage(t, fmt.Sprintf(`[{name: example/metric, location: SELF, timeout: %s}]`, timeout))
			before := s.mustRun("pid").Value
			_, err := s.run(metric)
			wantError(t, err, append(want, `metric plugin "example/metric"`)...)
			_, err = s.run("plain")
			wantError(t, err, "it is started again in 1s")
			if ill := s.Ill(); len(ill) != 1 || !strings.Contains(ill[0], "example/metric") {
				t.Errorf("ill are %q", ill)
			}
			s.clock.Step(time.Second)
			if after := s.mustRun("pid").Value; after == before {
				t.Error("the same process answers")
			}
			if ill := s.Ill(); len(ill) != 0 {
				t.Errorf("ill are %q after it was started again", ill)
			}
			waitGone(t, before)
			_, err = s.run(metric) // the second time it is left alone for longer
			wantError(t, err, "example/metric")
			_, err = s.run("plain")
			wantError(t, err, "it is started again in 2s")
		})
	}
}

// waitGone waits until a process is gone.
func waitGone(t *testing.T, pid string) {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.NewTimer(2 * time.Minute)
	defer deadline.Stop()
	for syscall.Kill(n, 0) == nil {
		select {
		case <-deadline.C:
			t.Fatalf("process %s is still there", pid)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// A process that is killed in the middle of a call costs that call.
func TestKilled(t *testing.T) {
	s := newStage(t, `[{name: example/metric, location: SELF, timeout: 1m}]`)
	pid, err := strconv.Atoi(s.mustRun("pid").Value)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := s.run("hangs")
		done <- err
	}()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wantError(t, <-done, "example/metric")
	s.clock.Step(time.Minute)
	s.mustRun("plain")
}

// What cannot be started says why.
func TestStarts(t *testing.T) {
	for name, c := range map[string]struct {
		list string
		want []string
	}{
		"not listed":    {`[]`, []string{"unable to find plugin (example/metric)", "plugin example/metric not configured in configmap argo-rollouts-config"}},
		"rubbish":       {`[{name: example/metric, location: SELF, args: [rubbish]}]`, []string{"unable to start plugin", "Unrecognized remote plugin message", "<html>"}},
		"endless":       {`[{name: example/metric, location: SELF, args: [endless]}]`, []string{"unable to start plugin"}},
		"no program":    {`[{name: example/metric, location: "file:///etc/hostname"}]`, []string{"unable to start plugin", "exec format error"}},
		"no file":       {`[{name: example/metric, location: "file:///nowhere"}]`, []string{"read file:///nowhere", "no such file"}},
		"a folder":      {`[{name: example/metric, location: "file:///etc"}]`, []string{"file:///etc is no file"}},
		"refuses":       {`[{name: example/metric, location: SELF, args: [refuses]}]`, []string{"unable to initialize plugin via rpc (example/metric)", "no token"}},
		"another's sum": {`[{name: example/metric, location: SELF, sha256: "` + strings.Repeat("ab", 32) + `"}]`, []string{"does not match expected hash"}},
		"short sum":     {`[{name: example/metric, location: SELF, sha256: abc}]`, []string{"metricProviderPlugins[0].sha256", "64 hexadecimal digits"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := newStage(t, c.list).run("plain")
			wantError(t, err, c.want...)
		})
	}
}

// The ConfigMap is read again: a broken entry breaks itself alone, and is taken up when it is corrected.
func TestConfigIsReadLive(t *testing.T) {
	s := newStage(t, `[{name: example/metric, location: SELF}, {name: example/other, location: "ftp://x"}, {name: example/metric, location: SELF}]`)
	s.mustRun("plain")
	_, err := s.ask("example/other", "plain")
	wantError(t, err, "metricProviderPlugins[1].location", "http(s) or file scheme")
	s.configure(`[{name: example/other, location: SELF}]`)
	if m, err := s.ask("example/other", "plain"); err != nil || m.Value != "shop/web" {
		t.Errorf("measured %+v, %v", m, err)
	}
	_, err = s.run("plain")
	wantError(t, err, "not configured")
	s.configure(`{`)
	_, err = s.run("plain")
	wantError(t, err, "metricProviderPlugins", "is not a YAML list")
}

// A changed entry is a new process.
func TestChangedEntry(t *testing.T) {
	s := newStage(t, good)
	before := s.mustRun("pid").Value
	s.configure(`[{name: example/metric, location: SELF, args: [other]}]`)
	if after := s.mustRun("pid").Value; after == before {
		t.Error("the process of the old entry answers")
	}
	waitGone(t, before)
}

// Binaries come by HTTP with the headers of a Secret, which no other server gets, and are kept.
func TestDownload(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(binary)
	var downloads int
	var mu sync.Mutex
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		downloads++
		if r.Header.Get("Authorization") != "" {
			http.Error(w, "whose is this?", http.StatusBadRequest)
			return
		}
		_, _ = w.Write(binary)
	}))
	defer store.Close()
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/missing":
			http.NotFound(w, r)
		case r.Header.Get("Authorization") != "Bearer s3cret":
			http.Error(w, "who are you?", http.StatusForbidden)
		default:
			http.Redirect(w, r, store.URL, http.StatusFound)
		}
	}))
	defer front.Close()
	list := func(path, rest string) string {
		return `[{name: example/metric, location: "` + front.URL + path + `", headersFrom: [{secretRef: {name: token}}], sha256: ` + hex.EncodeToString(sum[:]) + rest + `}]`
	}
	s := newStage(t, list("/", ""))
	s.mustRun("plain")
	s.configure(list("/", ", args: [again]"))
	s.mustRun("plain")
	if downloads != 1 {
		t.Errorf("it was downloaded %d times", downloads)
	}
	if err := os.RemoveAll(filepath.Join(s.dir, "bin")); err != nil {
		t.Fatal(err)
	}
	s.configure(strings.Replace(list("/", ", args: [third]"), hex.EncodeToString(sum[:]), strings.Repeat("ab", 32), 1))
	_, err = s.run("plain")
	wantError(t, err, "does not match expected hash")
	s.configure(strings.Replace(list("/missing", ""), "http://", "http://user:s3cret@", 1))
	_, err = s.run("plain")
	if wantError(t, err, "failed to download file from http://user:xxxxx@"); strings.Contains(err.Error(), "s3cret") {
		t.Errorf("the error has a password: %v", err)
	}
	s.configure(list("/missing", ""))
	_, err = s.run("plain")
	wantError(t, err, "failed to download file from", "response code 404")
	if entries, _ := filepath.Glob(filepath.Join(s.dir, "bin", "*", "*", "*")); len(entries) != 0 {
		t.Errorf("a failed download leaves %q", entries)
	}
}

// A server that sends a little now and then, or nothing at all, and never ends costs its own entry a message with the limit and the remedy. Plugins
// next to it answer meanwhile, nothing of the binary stays, and a corrected location is tried at once.
func TestADownloadThatNeverEnds(t *testing.T) {
	for path, begins := range map[string]bool{"/trickles": true, "/silent": false} {
		t.Run(path, func(t *testing.T) {
			over := make(chan struct{}) // closed when the server sees that nobody waits any longer
			asked := make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer close(over)
				close(asked)
				more := time.NewTicker(time.Millisecond)
				defer more.Stop()
				for {
					select {
					case <-r.Context().Done():
						return
					case <-more.C:
						if begins {
							_, _ = w.Write([]byte("."))
							_ = http.NewResponseController(w).Flush() // until nobody reads it
						}
					}
				}
			}))
			defer server.Close()
			const limit = 2 * time.Second
			slow := `{name: example/slow, location: "` + server.URL + path + `"}`
			s := newStage(t, "["+slow+", {name: example/metric, location: SELF}]", func(s *host.Settings) { s.LongestDownload = limit })
			failed := make(chan error, 1)
			go func() {
				_, err := s.ask("example/slow", "plain")
				failed <- err
			}()
			<-asked
			s.mustRun("plain")
			wantError(t, <-failed, `metric plugin "example/slow"`, server.URL+path+" has not sent all of the binary within 2s", "choose a server that is closer, or a file:// location")
			<-over
			if ill := s.Ill(); len(ill) != 1 || !strings.Contains(ill[0], "example/slow") {
				t.Errorf("ill are %q", ill)
			}
			if left, _ := filepath.Glob(filepath.Join(s.dir, "bin", "*", "*", "*slow*")); len(left) != 0 {
				t.Errorf("%q is left", left)
			}
			if left, _ := filepath.Glob(filepath.Join(s.dir, "bin", "*", "*", ".fetched-*")); len(left) != 0 {
				t.Errorf("%q is left", left)
			}
			s.mustRun("plain")
			s.configure(`[{name: example/slow, location: SELF}, {name: example/metric, location: SELF}]`)
			if m, err := s.ask("example/slow", "plain"); err != nil || m.Value != "shop/web" {
				t.Errorf("with another location: %+v, %v", m, err)
			}
		})
	}
}

// What plugins print is in our log, under their names.
func TestLog(t *testing.T) {
	s := newStage(t, good)
	s.mustRun("prints")
	waitFor(t, func() bool {
		text := s.log.String()
		return strings.Contains(text, "this is on stdout") && strings.Contains(text, "this is on stderr") && strings.Contains(text, "plugin=example/metric")
	}, s.log)
}

func waitFor(t *testing.T, holds func() bool, log fmt.Stringer) {
	t.Helper()
	deadline := time.NewTimer(2 * time.Minute)
	defer deadline.Stop()
	for !holds() {
		select {
		case <-deadline.C:
			t.Fatalf("it never came:\n%s", log)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
