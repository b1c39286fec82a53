package message

import (
	"strings"
	"testing"

	"github.com/argoproj/notifications-engine/pkg/services"
	"sigs.k8s.io/yaml"
)

func render(t *testing.T, source string, vars map[string]any) (services.Notification, error) {
	t.Helper()
	var n, out services.Notification
	if err := yaml.Unmarshal([]byte(source), &n); err != nil {
		t.Fatal(err)
	}
	parsed, err := Parse("x", n)
	if err != nil {
		return out, err
	}
	return out, parsed.Apply(&out, vars)
}

// Counting changes nothing of what a template gives.
func TestTemplatesGiveTheSame(t *testing.T) {
	vars := map[string]any{
		"rollout": map[string]any{"metadata": map[string]any{"name": "web"}, "spec": map[string]any{"replicas": int64(3)}, "list": []any{"a", "b"}},
		"secrets": map[string][]byte{"x": []byte("s3cret")},
	}
	for name, c := range map[string]struct{ text, want string }{
		"a field":              {`{{.rollout.metadata.name}} is done`, "web is done"},
		"a missing field":      {`{{.rollout.metadata.none}}`, "<no value>"},
		"a loop":               {`{{range $i, $c := .rollout.list}}{{if $i}}, {{end}}{{$c}}{{else}}none{{end}}`, "a, b"},
		"an empty loop":        {`{{range .none}}x{{else}}none{{end}}`, "none"},
		"a variable":           {`{{$n := .rollout.metadata.name}}{{$n = printf "%s-%d" $n .rollout.spec.replicas}}{{$n}}`, "web-3"},
		"bytes":                {`{{.secrets.x | toString}}`, "s3cret"},
		"trimmed":              {"a {{- /* why */ -}} b {{- 1 }}", "ab1"},
		"a named template":     {`{{define "n"}}<{{.}}>{{end}}{{template "n" .rollout.metadata.name}}`, "<web>"},
		"a block":              {`{{block "n" .rollout}}{{.metadata.name}}{{end}}`, "web"},
		"with and else":        {`{{with .none}}x{{else with .rollout}}{{.metadata.name}}{{end}}`, "web"},
		"quotes":               {`{{"a\"b"}} {{"{{"}}`, `a"b {{`},
		"break":                {`{{range .rollout.list}}{{break}}{{end}}-`, "-"},
		"sprig":                {`{{ add 1 2 }} {{ list 1 2 | join "+" }} {{ default "x" .none }} {{ "a,b" | split "," }}`, "3 1+2 x map[_0:a _1:b]"},
		"comparison":           {`{{if and (eq .rollout.metadata.name "web") (gt (len .rollout.list) 1)}}yes{{end}}`, "yes"},
		"JSON":                 {`{{ toJson .rollout.list }}`, `["a","b"]`},
		"a dict that is set":   {`{{ $d := dict "a" 1 }}{{ $_ := set $d "b" 2 }}{{ toJson $d }}`, `{"a":1,"b":2}`},
		"text without actions": {`plain`, "plain"},
	} {
		t.Run(name, func(t *testing.T) {
			source, err := yaml.Marshal(services.Notification{Message: c.text})
			if err != nil {
				t.Fatal(err)
			}
			n, err := render(t, string(source), vars)
			if err != nil || n.Message != c.want {
				t.Errorf("%q, %v, want %q", n.Message, err, c.want)
			}
		})
	}
}

// No template keeps the process busy, fills its memory or ends it.
func TestTemplatesAreBounded(t *testing.T) {
	double := `{{$s := "xxxxxxxxxx"}}` + strings.Repeat(`{{$s = cat $s $s}}`, 60)
	for name, text := range map[string]string{
		"a long loop":               `{{range 1000000000000}}{{end}}`,
		"loops in loops":            `{{range 3000}}{{range 3000}}{{end}}{{end}}`,
		"a long text in a loop":     `{{range 100000}}` + strings.Repeat("x", 1000) + `{{end}}`,
		"templates that call twice": `{{define "a"}}{{if lt . 60}}{{template "a" add . 1}}{{template "a" add . 1}}{{end}}{{end}}{{template "a" 0}}`,
		"recursion":                 `{{define "a"}}{{template "a"}}{{end}}{{template "a"}}`,
		"repeat":                    `{{repeat 1000000000000 "x"}}`,
		"repeat of repeat":          `{{repeat 2000 (repeat 2000 "xx")}}`,
		"until":                     `{{until 1000000000}}`,
		"seq":                       `{{seq 1 1000000000}}`,
		"doubling":                  double,
		"js":                        `{{$s := "\\"}}` + strings.Repeat(`{{$s = js $s}}`, 60),
		"indent":                    `{{indent 1000000000 "x"}}`,
		"replace":                   `{{$s := repeat 10000 "x"}}{{replace "x" $s $s}}`,
		"printf":                    `{{printf "%999999d%999999d%999999d%999999d%999999d" 1 1 1 1 1}}`,
		"printf with a star":        `{{printf "%*d" 1000000 1}}`,
		"randAlphaNum":              `{{randAlphaNum 2000000000}}`,
		"a map in itself":           `{{$d := dict}}{{$_ := set $d "d" $d}}{{$d}}`,
		"lists in lists":            `{{$l := list 1 2 3 4 5 6 7 8}}` + strings.Repeat(`{{$l = list $l $l $l $l $l $l $l $l}}`, 20) + `{{$l}}`,
		"untilStep":                 `{{untilStep 0 2000000000 1}}`,
		"a large value in a loop":   `{{$s := repeat 1000 "x"}}{{range 100000}}{{$s}}{{end}}`,
	} {
		t.Run(name, func(t *testing.T) {
			source, err := yaml.Marshal(services.Notification{Message: text})
			if err != nil {
				t.Fatal(err)
			}
			if n, err := render(t, string(source), nil); err == nil {
				t.Errorf("it gave %d bytes", len(n.Message))
			}
		})
	}
}

// Templates have no functions that reveal the process or take long.
func TestFunctionsThatAreLeftOut(t *testing.T) {
	for _, name := range leftOut {
		source, err := yaml.Marshal(services.Notification{Slack: &services.SlackNotification{Blocks: "{{" + name + "}}"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := render(t, string(source), nil); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "blocks") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Blocks of the library that have fields of its own are templates like all others.
func TestGitHub(t *testing.T) {
	n, err := render(t, `github: {repoURLPath: "{{.repo}}", revisionPath: abc, status: {state: success, label: "{{.repo}}", targetURL: "https://x"}, pullRequestComment: {content: "{{.repo}}"}}`,
		map[string]any{"repo": "https://github.com/shop/web"})
	if err != nil || n.GitHub.Status.Label != "https://github.com/shop/web" || n.GitHub.PullRequestComment.Content != "https://github.com/shop/web" {
		t.Errorf("%+v, %v", n.GitHub, err)
	}
}
