package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// withNotifier puts a program of the notifier's name in the PATH, which is a shell script.
func withNotifier(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	if script != "" {
		if err := os.WriteFile(filepath.Join(dir, notifier), []byte("#!/bin/sh\n"+script), 0o700); err != nil { //nolint:gosec // it must be executable
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
}

// All arguments are the notifier's, flags before the command too; it knows what its user typed, and its exit code is ours.
func TestNotifications(t *testing.T) {
	withNotifier(t, `echo "$SLUICE_NOTIFICATIONS_DISPLAY: $@"; cat; echo "error: no" >&2; exit 3`)
	r := newCluster(t).runWith(t.Context(), "kind: ConfigMap\n", "-n", "shop", "notifications", "template", "get", "-o", "json", "--config-map", "-")
	want := result{code: 3, out: "sluice notifications: -n shop template get -o json --config-map -\nkind: ConfigMap\n", err: "error: no\n"}
	if r != want {
		t.Errorf("%+v, want %+v", r, want)
	}
}

func TestNotificationsWithoutTheirProgram(t *testing.T) {
	withNotifier(t, "")
	for _, args := range [][]string{
		{"notifications", "template", "get"}, {"simulate", "-f", "testdata/simulate/canary.yaml", "--notifications", "configmap.yaml"},
	} {
		r := newCluster(t).run(t.Context(), args...)
		if want := "or in the PATH: install it from the same release as this program"; r.code != 1 || r.out != "" || !strings.Contains(r.err, "error: notifications need the program sluice-notifier") || !strings.Contains(r.err, want) {
			t.Errorf("%q: %+v, want %q", args, r, want)
		}
	}
}

// A simulated update is written to the notifier instant by instant, and what it answers is shown.
func TestMessagesOfASimulation(t *testing.T) {
	instants := filepath.Join(t.TempDir(), "instants")
	t.Setenv("INSTANTS", instants)
	withNotifier(t, `echo "$@" >&2; cat > "$INSTANTS"
echo '{"warning": "template.x: wrong"}'
at=$(head -n 1 "$INSTANTS" | sed 's/.*"at":"\([^"]*\)".*/\1/')
echo '{"at": "'$at'", "trigger": "on-rollout-paused", "event": "RolloutPaused", "to": {"service": "slack", "recipient": "web"}, "message": {"message": "Paused.", "slack": {"icon": ":x:"}}}'
echo '{"at": "'$at'", "trigger": "on-bad", "to": {"service": "email", "recipient": "a@b"}, "error": "no such template"}'
`)
	r := simulated(t, "", "-f", "testdata/simulate/canary.yaml", "--notifications", "configmap.yaml", "--notifications-secret", "secret.yaml")
	if want := "replay --config-map configmap.yaml --secret secret.yaml\n"; r.code != 0 || r.err != want {
		t.Fatalf("%+v, want %q", r, want)
	}
	for _, want := range []string{
		"Messages:\n0s        on-rollout-paused to slack:web\n          Paused.\n          slack: {\n            \"icon\": \":x:\"\n          }\n",
		"on-bad to email:a@b\n          cannot be sent: no such template\n", "warning: notifications: template.x: wrong\n",
	} {
		if !strings.Contains(r.out, want) {
			t.Errorf("not in the output: %q\n%s", want, r.out)
		}
	}
	text, err := os.ReadFile(instants)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"kind":"Rollout"`, `"reason":"RolloutCompleted"`, `"reason":"RolloutStepCompleted"`, `"stable":{`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is in no instant", want)
		}
	}
	for want, args := range map[string][]string{
		"--output html does not show messages": {"--notifications", "x", "-o", "html"}, "--notifications-secret is for --notifications": {"--notifications-secret", "x"},
	} {
		if r := simulated(t, "", append(args, "-f", "testdata/simulate/canary.yaml")...); r.code != 1 || !strings.Contains(r.err, want) {
			t.Errorf("%q: %+v, want %q", args, r, want)
		}
	}
}

// lint -f has the notifier check the ConfigMap of notifications, and says so where the program is missing.
func TestLintOfNotifications(t *testing.T) {
	file := filepath.Join(t.TempDir(), "configmap.yaml")
	const text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: argo-rollouts-notification-configmap\ndata:\n  template.a: 'message: x'\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	withNotifier(t, `grep -q '"template.a":"message: x"' || exit 9
echo "[{\"key\": \"template.a\", \"message\": \"$*\"}]"`)
	r := newCluster(t).run(t.Context(), "lint", "-f", file)
	if want := "configmap.yaml:6: error: ConfigMap argo-rollouts-notification-configmap: data.template.a: lint --config-map - --secret :empty --output json [invalid-notification]\n"; r.code != 1 || !strings.HasSuffix(r.out, want) {
		t.Errorf("%+v, want %q", r, want)
	}
	withNotifier(t, "")
	r = newCluster(t).run(t.Context(), "lint", "-f", file)
	if want := "the ConfigMap argo-rollouts-notification-configmap is not checked: notifications need the program sluice-notifier"; r.code != 0 || !strings.Contains(r.err, want) {
		t.Errorf("%+v, want %q", r, want)
	}
}

// Arguments are completed by the notifier.
func TestCompletionOfNotifications(t *testing.T) {
	withNotifier(t, `[ "$*" = "__complete template get on" ] && printf 'on-a\non-b\tB\n:4\n'`)
	r := newCluster(t).run(t.Context(), "__complete", "notifications", "template", "get", "on")
	if want := "on-a\non-b\tB\n:4\n"; r.code != 0 || r.out != want {
		t.Errorf("%+v, want %q", r, want)
	}
	withNotifier(t, "")
	if r := newCluster(t).run(t.Context(), "__complete", "notifications", "x"); r.code != 0 || r.out != ":4\n" {
		t.Errorf("%+v", r)
	}
}
