package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const configMap = `
apiVersion: v1
kind: ConfigMap
metadata: {name: argo-rollouts-notification-configmap}
data:
  service.slack: "token: $t"
  service.nats: "url: x"
  template.a: "message: '{{.rollout.metadata.name}} {{.secrets.t | toString}} {{.recipient}}'"
  template.b: "message: '{{.x'"
  trigger.on-paused: "[{when: rollout.status.phase == 'Paused', send: [a]}, {when: rollout.none.x > 1, send: [gone]}]"
`

const paused = "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata: {name: web}\nstatus: {phase: Paused}\n"

// The commands of `kubectl argo rollouts notifications`, on files.
func TestCommands(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	config, rollout := write("config.yaml", configMap), write("rollout.yaml", paused)
	secret := write("secret.yaml", "kind: Secret\nstringData: {t: hidden}\n")
	for name, c := range map[string]struct {
		args       []string
		want, fail string
	}{
		"templates":             {args: []string{"template", "get"}, want: "NAME  PREVIEW\na     {{.rollout"},
		"one template":          {args: []string{"template", "get", "a", "-o", "yaml"}, want: "a:\n  message:"},
		"names":                 {args: []string{"template", "get", "-o", "name"}, want: "a\n"},
		"no such template":      {args: []string{"template", "get", "z"}, fail: `there is no "z": there are a`},
		"triggers":              {args: []string{"trigger", "get"}, want: "on-paused  a; gone"},
		"a trigger":             {args: []string{"trigger", "run", "on-paused", rollout}, want: "rollout.status.phase == 'Paused'  true\nrollout.none.x > 1                false: when"},
		"no such trigger":       {args: []string{"trigger", "run", "x", rollout}, fail: "trigger 'x' is not configured"},
		"a message":             {args: []string{"template", "notify", "a", rollout}, want: "message: web hidden stdout"},
		"a message, not sent":   {args: []string{"template", "notify", "a", rollout, "--recipient", "slack:ch", "--dry-run"}, want: "message: web hidden ch"},
		"a service that is not": {args: []string{"template", "notify", "a", rollout, "--recipient", "x:ch"}, fail: "notification service 'x' is not supported"},
		"a broken template":     {args: []string{"template", "notify", "b", rollout}, fail: "template.b: "},
		"lint for programs":     {args: []string{"lint", "-o", "json"}, want: `{"key":"service.nats","message":"service type 'nats' is not supported`},
		"completed templates":   {args: []string{"__complete", "template", "get", ""}, want: "a\n:4\n"},
		"completed triggers":    {args: []string{"__complete", "trigger", "run", "on"}, want: "on-paused\n:4\n"},
		"lint": {args: []string{"lint"}, fail: `trigger.on-paused: condition 1: template 'gone' is not supported: add the key template.gone
service.nats: service type 'nats' is not supported`},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			cmd := newCommand()
			cmd.SetOut(&out)
			last := len(c.args)
			if c.args[0] == "__complete" {
				last-- // what is completed
			}
			cmd.SetArgs(slices.Insert(slices.Clone(c.args), last, "--config-map", config, "--secret", secret))
			err := cmd.ExecuteContext(t.Context())
			if c.fail != "" {
				if err == nil || !strings.Contains(err.Error(), c.fail) {
					t.Errorf("error %v, want %q", err, c.fail)
				}
				return
			}
			if err != nil || !strings.Contains(out.String(), c.want) {
				t.Errorf("%v\n%s\nwant %q", err, out.String(), c.want)
			}
		})
	}
}
