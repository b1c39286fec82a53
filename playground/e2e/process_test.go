package e2e

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Its path is too long for unix sockets, which must not matter.
func TestStateSurvivesARestart(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), strings.Repeat("deep/", 20), "data")
	first := up(t, "--data-dir", dir, "--nodes", "1")
	note := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "note"}, Data: map[string]string{"remember": "me"}}
	if _, err := first.client.CoreV1().ConfigMaps("default").Create(t.Context(), note, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	token := filepath.Join(t.TempDir(), "token.kubeconfig")
	mustRun(t, "kubeconfig", "--data-dir", dir, "--service-account", "default/default", "-o", token)
	before := read(t, first.kubeconfig)
	if code := first.stop(t, syscall.SIGINT); code != 0 {
		t.Errorf("exit status %d after SIGINT; stderr: %s", code, &first.stderr)
	}

	second := up(t, "--data-dir", dir, "--nodes", "1")
	kept, err := second.client.CoreV1().ConfigMaps("default").Get(t.Context(), "note", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(note.Data, kept.Data); diff != "" {
		t.Errorf("config map after the restart (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, read(t, second.kubeconfig)); diff != "" {
		t.Errorf("kubeconfig changed (-before +after):\n%s", diff)
	}
	if who := mustRun(t, "kubectl", "--kubeconfig", token, "auth", "whoami"); !strings.Contains(who, "system:serviceaccount:default:default") {
		t.Errorf("the token of before the restart says: %s", who)
	}
}

func TestStateSurvivesAKill(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	first := up(t, "--data-dir", dir, "--nodes", "1")
	note := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "note"}}
	if _, err := first.client.CoreV1().ConfigMaps("default").Create(t.Context(), note, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	first.stop(t, syscall.SIGKILL)

	second := up(t, "--data-dir", dir, "--nodes", "1")
	if _, err := second.client.CoreV1().ConfigMaps("default").Get(t.Context(), "note", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

func TestTwoRunSideBySide(t *testing.T) {
	t.Parallel()
	one, other := up(t, "--nodes", "1"), up(t, "--nodes", "1")
	if one.config.Host == other.config.Host {
		t.Fatalf("both are at %s", one.config.Host)
	}
	note := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "note"}}
	if _, err := one.client.CoreV1().ConfigMaps("default").Create(t.Context(), note, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := other.client.CoreV1().ConfigMaps("default").Get(t.Context(), "note", metav1.GetOptions{}); err == nil {
		t.Error("an object of one cluster is in the other")
	}
}

func TestStopLeavesNothing(t *testing.T) {
	for name, signal := range map[string]syscall.Signal{"ctrl-c": syscall.SIGINT, "kill": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			temporary := t.TempDir()
			t.Setenv("TMPDIR", temporary)
			kubeconfig := filepath.Join(temporary, "copy.kubeconfig")
			p := up(t, "--kubeconfig", kubeconfig)
			if p.kubeconfig != kubeconfig {
				t.Errorf("printed %s, want %s", p.kubeconfig, kubeconfig)
			}
			// A watch is what keeps servers from stopping.
			watch, err := p.client.CoreV1().Pods("").Watch(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer watch.Stop()

			begin := time.Now()
			if code := p.stop(t, signal); code != 0 {
				t.Errorf("exit status %d; stderr: %s", code, &p.stderr)
			}
			if took := time.Since(begin); took > 10*time.Second {
				t.Errorf("it took %s to stop", took)
			}
			wantEmpty(t, temporary)
		})
	}
}

func TestInterruptedOnTheWayUp(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	p := launch(t, "up")
	eventually(t, func(context.Context) error { return notEmpty(temporary) })
	if code := p.stop(t, syscall.SIGTERM); code != 0 {
		t.Errorf("exit status %d; stderr: %s", code, &p.stderr)
	}
	wantEmpty(t, temporary)
}

// What cannot work is said in one line, at once.
func TestRefusals(t *testing.T) {
	running := up(t, "--data-dir", filepath.Join(t.TempDir(), "data"), "--nodes", "0")
	usedDir := filepath.Dir(running.kubeconfig)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	takenPort := strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	file := filepath.Join(t.TempDir(), "file")
	foreign := filepath.Join(t.TempDir(), "kubeconfig")
	write(t, file, "")
	write(t, foreign, "apiVersion: v1\nkind: Config\ncontexts:\n- name: production\n  context: {cluster: c, user: u}\n")

	for name, test := range map[string]struct {
		args   []string
		status int
		says   string
	}{
		"a port that is taken":              {[]string{"up", "--port", takenPort}, 1, "port " + takenPort + " is taken"},
		"a folder that cannot be":           {[]string{"up", "--data-dir", filepath.Join(file, "data")}, 1, "data folder"},
		"a folder in use":                   {[]string{"up", "--data-dir", usedDir}, 1, "in use by another playground (process " + strconv.Itoa(running.process.Process.Pid)},
		"a log that cannot be":              {[]string{"up", "--log-file", filepath.Join(file, "log")}, 1, "log file"},
		"an audit log that cannot be":       {[]string{"up", "--audit-log", filepath.Join(file, "log")}, 1, "audit log"},
		"a kubeconfig that cannot be":       {[]string{"up", "--kubeconfig", filepath.Join(file, "k")}, 1, "kubeconfig"},
		"someone's kubeconfig":              {[]string{"up", "--kubeconfig", foreign}, 1, `has other clusters in it (context "production")`},
		"a flag that is not there":          {[]string{"up", "--no-such-flag"}, 2, "unknown flag: --no-such-flag"},
		"a port that is no port":            {[]string{"up", "--port", "70000"}, 2, "--port 70000"},
		"an argument too many":              {[]string{"up", "now"}, 2, "now"},
		"a command that is not there":       {[]string{"down"}, 2, "down"},
		"no service account":                {[]string{"kubeconfig"}, 2, "NAMESPACE/NAME"},
		"a service account that is not one": {[]string{"kubeconfig", "--kubeconfig", running.kubeconfig, "--service-account", "default/nobody"}, 1, `"nobody" not found`},
		"a playground that is not there":    {[]string{"kubeconfig", "--data-dir", file, "--service-account", "a/b"}, 1, "find the cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			stdout, stderr, status := run(t, test.args...)
			if status != test.status {
				t.Errorf("exit status %d, want %d", status, test.status)
			}
			if stdout != "" {
				t.Errorf("unexpected on stdout: %s", stdout)
			}
			if strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "sluice-playground: ") || !strings.Contains(stderr, test.says) {
				t.Errorf("stderr is not one line with %q:\n%s", test.says, stderr)
			}
			wantEmpty(t, os.Getenv("TMPDIR"))
		})
	}
	if content := read(t, foreign); !strings.Contains(content, "production") {
		t.Errorf("someone's kubeconfig was overwritten:\n%s", content)
	}
}

// run runs the program to its end.
func run(t *testing.T, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := program(t, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	hurry := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer hurry.Stop()
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func mustRun(t *testing.T, args ...string) string {
	t.Helper()
	stdout, stderr, status := run(t, args...)
	if status != 0 {
		t.Fatalf("%v: exit status %d: %s", args, status, stderr)
	}
	return stdout
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func notEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) == 0 {
		err = errors.New("nothing in " + dir)
	}
	return err
}

func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		t.Errorf("left behind: %s", filepath.Join(dir, entry.Name()))
	}
}
