package e2e_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-delivery/sluice/internal/playtest"
)

// The command as a person runs it: it prints a link to loopback that lets one browser in, once, and the next link; scripts send the token of
// the file that only its owner reads.
func TestTheDashboardIsServed(t *testing.T) {
	ns := playtest.New(t)
	ns.CreateRollout(`
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web}
spec: {replicas: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: nginx, image: "nginx:1"}]}}, strategy: {canary: {}}}
`)
	p := newPlugin(t, ns)
	tokenFile := filepath.Join(t.TempDir(), "token")
	cmd := p.command(t.Context(), "dashboard", "--no-open", "--root-path", "releases", "--port", "0", "--token-file", tokenFile)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	talk, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }) // it has to go, however
	first := linkIn(t, bufio.NewReader(out))
	if host := first.Hostname(); host != "127.0.0.1" || !strings.HasPrefix(first.Path, "/releases/") {
		t.Fatalf("it is at %s", first)
	}

	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	person := &http.Client{Jar: jar, Timeout: playtest.Patience}
	ns.WaitUntil("the list", func() error {
		if status, page := answerOf(t, person, http.MethodGet, first.String(), ""); status != http.StatusOK || !strings.Contains(page, "web") {
			return errText(page)
		}
		return nil
	})
	second := linkIn(t, bufio.NewReader(talk))
	if status, _ := answerOf(t, &http.Client{Timeout: playtest.Patience}, http.MethodGet, first.String(), ""); status != http.StatusUnauthorized {
		t.Errorf("a link that was used lets someone else in: %d", status)
	}
	if status, _ := answerOf(t, &http.Client{Timeout: playtest.Patience}, http.MethodGet, second.String(), ""); status != http.StatusOK && status != http.StatusUnauthorized {
		t.Errorf("the next link: %d", status)
	}

	info, err := os.Stat(tokenFile)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the file of the token: %v %v", info, err)
	}
	token, err := os.ReadFile(tokenFile)
	if err != nil {
		t.Fatal(err)
	}
	api := "http://" + first.Host + "/releases/api/v1/rollouts/" + ns.Name
	var list struct {
		Rollouts []struct {
			ObjectMeta struct{ Name string }
		}
	}
	status, body := answerOf(t, http.DefaultClient, http.MethodGet, api+"/info", strings.TrimSpace(string(token)))
	if err := json.Unmarshal([]byte(body), &list); err != nil || status != http.StatusOK || len(list.Rollouts) != 1 || list.Rollouts[0].ObjectMeta.Name != "web" {
		t.Errorf("the list of a script: %d %s", status, body)
	}
	if status, body := answerOf(t, http.DefaultClient, http.MethodPut, api+"/web/restart", strings.TrimSpace(string(token))); status != http.StatusOK || ns.Rollout("web").Spec.RestartAt == nil {
		t.Errorf("a restart by a script: %d %s", status, body)
	}
	if status, _ := answerOf(t, http.DefaultClient, http.MethodGet, api+"/info", "guess"); status != http.StatusUnauthorized {
		t.Errorf("a guess: %d", status)
	}

	_, port, _ := net.SplitHostPort(first.Host)
	if _, said := p.run(1, "dashboard", "--no-open", "-p", port); !strings.Contains(said, "port "+port+" is taken") {
		t.Errorf("a port that is taken: %s", said)
	}
}

// linkIn is the link in the next line.
func linkIn(t *testing.T, lines *bufio.Reader) *url.URL {
	t.Helper()
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	link, err := url.Parse(line[strings.Index(line, "http") : len(line)-1])
	if err != nil || link.Query().Get("token") == "" {
		t.Fatalf("%q has no link: %v", line, err)
	}
	return link
}

func answerOf(t *testing.T, c *http.Client, method, address, token string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close() //nolint:errcheck // it has been read
	text, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.StatusCode, string(text)
}

type errText string

func (e errText) Error() string { return string(e) }
