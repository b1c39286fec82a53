package docs_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/kubernetes"
	"github.com/sluice-delivery/sluice/internal/metric/metrictest"
	"github.com/sluice-delivery/sluice/internal/metric/registry"
)

var (
	fenced  = regexp.MustCompile("(?ms)^```(yaml|json|xml|csv|sse|text)\n(.*?)^```$")
	answers = regexp.MustCompile(`(?s)<!-- answers -->.*<!-- end of answers -->`)
)

// place is where the question of an error ends whose last part is the server.
var place = regexp.MustCompile("^Error: (.* at|GET) https?://[^ ]+: ")

// weather are the answers that any server may give.
var weather = []struct{ what, answers string }{
	{"401", "<- 401\nunauthorized\n"},
	{"403", "<- 403\nforbidden\n"},
	{"429, again after 10 minutes", "<- 429 Retry-After: 600\nslow down\n"},
	{"500", "<- 500\ninternal error\n"},
	{"503, three times", "<- 503\n<- 503\n<- 503\n"},
	{"none in time", "<- slow\n"},
	{"cut off, three times", "<- 200 partial\n{\"a\n<- 200 partial\n{\"a\n<- 200 partial\n{\"a\n"},
	{"200 without a body", "<- 200\n"},
	{"200 with `null`", "<- 200\nnull\n"},
	{"200 with a login page", "<- 200\n<html>Sign in</html>\n"},
}

// TestProviderPages measures as the example of each page says, with the answer that stands on the page, and holds the page to what comes of it.
// With -rewrite it writes that into the page.
func TestProviderPages(t *testing.T) {
	pages, err := filepath.Glob("providers/*.md")
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]bool{}
	for _, name := range registry.New(registry.Options{}).Names() {
		missing[name] = name != "plugin" // whose answers are those of the plugin
	}
	t.Setenv("AWS_REGION", "eu-west-1")
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	rewrite := flag.Lookup("rewrite").Value.String() == "true"
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		_, provider := metricOf(t, fenced.FindStringSubmatch(string(text))[2])
		delete(missing, provider)
		if provider == "job" {
			continue // TestJobPage
		}
		t.Run(strings.TrimSuffix(filepath.Base(page), ".md"), func(t *testing.T) {
			want := measured(t, string(text))
			if rewrite {
				if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if string(text) != want {
				t.Errorf("%s is not what the provider does; rewrite it with go test ./docs -run TestProviderPages -rewrite\n%s", page, want)
			}
		})
	}
	for name, is := range missing {
		if is {
			t.Errorf("the provider %s has no page", name)
		}
	}
}

// measured is a page as it should be.
func measured(t *testing.T, page string) string {
	var example string
	var secrets, given []string
	for _, block := range fenced.FindAllStringSubmatch(page, -1) {
		switch block[1] {
		case "yaml":
			if example == "" {
				example = block[2]
			} else {
				secrets = append(secrets, block[2])
			}
		case "json", "xml", "csv", "sse":
			given = append(given, "<- 200\n"+block[2])
		}
	}
	input, name := metricOf(t, example)
	s := metrictest.NewScene(t, func(w metrictest.World) metric.Provider {
		return registry.New(registry.Options{
			Clock: clocktesting.NewFakePassiveClock(metrictest.Now), Network: w.Network, Env: w.Env,
			Cluster: kubernetes.Cluster{Address: "https://kubernetes", Network: w.Network},
		})[name]
	})
	do := func(command, input string, args ...datadriven.CmdArg) string {
		out, err := s.Do(t.Context(), command, args, input)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, manifest := range secrets {
		var secret struct {
			Metadata   struct{ Name string }
			StringData map[string]string
		}
		if err := yaml.Unmarshal([]byte(manifest), &secret); err != nil {
			t.Fatal(err)
		}
		data, err := yaml.Marshal(secret.StringData)
		if err != nil {
			t.Fatal(err)
		}
		do("secret", string(data), datadriven.CmdArg{Key: "/" + secret.Metadata.Name})
	}
	out := do("measure", input+strings.Join(given, ""))
	if strings.Contains(out, "\nRunning") {
		out = do("measure", input+strings.Join(given[:2], "")) + do("resume", input+strings.Join(given[2:], ""))
	}
	if !strings.Contains(out, "\nSuccessful") {
		t.Errorf("the example is not successful:\n%s", out)
	}
	page = replaceText(page, out)
	table := "<!-- answers -->\n| response | measurement |\n|---|---|\n"
	for _, w := range weather {
		lines := strings.Split(strings.TrimSpace(do("measure", input+w.answers)), "\n")
		i := slices.IndexFunc(lines, func(line string) bool { return !strings.HasPrefix(line, "->") && !strings.HasPrefix(line, "   ") })
		result := lines[i]
		if at := place.FindStringIndex(result); at != nil {
			result = "Error: … " + result[at[1]:]
		} else if _, message, ok := strings.Cut(result, " in namespace shop: "); ok {
			result = "Error: … " + message
		} else if _, message, ok := strings.Cut(result, "Z: "); ok {
			result = "Error: … " + message
		} else if _, message, ok := strings.Cut(result, "`: "); ok {
			result = "Error: … " + message
		}
		table += fmt.Sprintf("| %s | %s |\n", w.what, strings.ReplaceAll(strings.ReplaceAll(result, "|", `\|`), "<", "&lt;"))
	}
	return answers.ReplaceAllLiteralString(page, table+"<!-- end of answers -->")
}

// metricOf is the first metric of a template, as transcripts have it, with the name of its provider.
func metricOf(t *testing.T, manifest string) (text, provider string) {
	var template v1alpha1.AnalysisTemplate
	if err := yaml.UnmarshalStrict([]byte(manifest), &template); err != nil {
		t.Fatalf("%s\n%s", err, manifest)
	}
	m := template.Spec.Metrics[0]
	m.Name = ""
	out, err := yaml.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(out), metric.NameOf(m.Provider)
}

// replaceText puts a text into the one block of text of a page.
func replaceText(page, text string) string {
	block := regexp.MustCompile("(?ms)^```text\n.*?^```$")
	return block.ReplaceAllLiteralString(page, "```text\n"+strings.TrimRight(text, "\n")+"\n```")
}
