package main

import (
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/notifier/config"
	"github.com/sluice-delivery/sluice/notifier/send"
	"github.com/sluice-delivery/sluice/notifier/watch"
)

// Each service has a page, whose example is a configuration without mistakes that renders a message.
func TestEachServiceHasAPage(t *testing.T) {
	for _, kind := range send.Types() {
		t.Run(kind, func(t *testing.T) {
			text, err := os.ReadFile("../docs/notifications/" + kind + ".md")
			if err != nil {
				t.Fatal(err)
			}
			c := config.Parse(&corev1.ConfigMap{Data: example(t, string(text))}, nil)
			for _, found := range lint(c) {
				t.Error(found)
			}
			if len(c.Services) != 1 {
				t.Fatalf("services %v", c.Services)
			}
			for name, s := range c.Services {
				if s.Type != kind || !strings.Contains(string(text), "subscribe.on-rollout-completed."+name+": ") {
					t.Errorf("the page is about %q, and does not say how to subscribe to it", s.Key())
				}
			}
			if c.Templates["my-template"] == nil {
				return // there is no block
			}
			rollout := &unstructured.Unstructured{Object: map[string]any{
				"metadata": map[string]any{"name": "web", "uid": "1", "annotations": map[string]any{"example.com/repository": "https://github.com/shop/web", "example.com/commit": "abc"}},
				"status":   map[string]any{"currentPodHash": "a"},
			}}
			vars, err := watch.Variables(t.Context(), nil, rollout, c, "", config.Destination{}, clock.RealClock{}.Now())
			if err != nil {
				t.Fatal(err)
			}
			if n, err := c.Render([]string{"my-template"}, vars); err != nil || n.Message != "Rollout web is done." {
				t.Errorf("%v, %v", n, err)
			}
		})
	}
}

// example is the data of the ConfigMap in the first block of a page.
func example(t *testing.T, page string) map[string]string {
	t.Helper()
	_, block, found := strings.Cut(page, "\n    data:\n")
	if !found {
		t.Fatal("there is no example")
	}
	block, _, _ = strings.Cut("    data:\n"+block, "\n\nSubscribe")
	var configMap corev1.ConfigMap
	if err := yaml.UnmarshalStrict([]byte(block), &configMap); err != nil {
		t.Fatalf("%v in\n%s", err, block)
	}
	return configMap.Data
}
