package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What cannot be right is refused before anything is served, with what to do.
func TestMistakes(t *testing.T) {
	short, kubeconfig := filepath.Join(t.TempDir(), "key"), filepath.Join(t.TempDir(), "kubeconfig")
	for file, text := range map[string]string{short: "short", kubeconfig: `{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a}}], clusters: [{name: a, cluster: {server: "http://127.0.0.1:1"}}]}`} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	good := "--url=https://rollouts.example.com/rollouts"
	for args, want := range map[string]string{
		"":                                    "--url is required",
		"now":                                 "flags only",
		"--url=http://rollouts.example":       "by HTTPS only",
		"--url=https://a.example/?x=1":        "without a query",
		"--url=https://a.example/a%20b":       "must be an https URL",
		good + " --auth=none":                 "must be token or oidc",
		good + " --auth=oidc":                 "needs --oidc-issuer-url",
		good + " --sell":                      "unknown flag",
		good + " --session-key-file=" + short: "it needs 32 random ones",
		good + " --auth=oidc --oidc-issuer-url=https://127.0.0.1:1 --oidc-client-id=x --session-max-age=1s":    "must be a minute or more",
		good + " --auth=oidc --oidc-issuer-url=https://127.0.0.1:1 --oidc-client-id=x":                         "does not answer as OpenID Connect demands",
		good + " --auth=oidc --oidc-issuer-url=https://127.0.0.1:1 --oidc-client-id=x --oidc-ca-file=" + short: "has no certificate",
		good + " --frame-ancestors=https://a.example/x":                                                        "must be an origin",
		good + " --listen=nowhere": "--listen",
	} {
		cmd := newCommand()
		cmd.SetArgs(append(strings.Fields(args), "--kubeconfig", kubeconfig))
		cmd.SetOut(&bytes.Buffer{})
		err := cmd.ExecuteContext(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
}

func TestVersion(t *testing.T) {
	var out bytes.Buffer
	cmd := newCommand()
	cmd.SetArgs([]string{"--version"})
	cmd.SetOut(&out)
	if err := cmd.Execute(); err != nil || strings.TrimSpace(out.String()) == "" {
		t.Errorf("%q %v", out.String(), err)
	}
}
