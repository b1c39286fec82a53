package facts

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFacts(t *testing.T) {
	pods := func(image string) map[string]any {
		return map[string]any{"spec": map[string]any{"containers": []any{
			map[string]any{"name": "web", "image": image}, map[string]any{"name": "log", "image": "log:1"},
		}}}
	}
	want := []any{map[string]any{"name": "web", "from": "web:1", "to": "web:2"}}
	if diff := cmp.Diff(want, Images(pods("web:1"), pods("web:2"))); diff != "" {
		t.Error(diff)
	}
	web := map[string]any{"metadata": map[string]any{"namespace": "shop", "name": "web", "annotations": map[string]any{
		LinkPrefix + "commit": "https://git.example.com/c", LinkPrefix + "evil": "javascript:alert(1)", LinkPrefix + "none": "", "other": "https://x",
	}}}
	if diff := cmp.Diff(map[string]any{"commit": "https://git.example.com/c"}, Links(web, "")); diff != "" {
		t.Error(diff)
	}
	with := map[string]any{
		"commit": "https://git.example.com/c", "dashboard": "https://d.example.com/x/rollout/shop/web", "promote": "https://d.example.com/x/rollout/shop/web/promote",
		"abort": "https://d.example.com/x/rollout/shop/web/abort", "retry": "https://d.example.com/x/rollout/shop/web/retry", "undo": "https://d.example.com/x/rollout/shop/web/undo",
	}
	if diff := cmp.Diff(with, Links(web, "https://d.example.com/x/")); diff != "" {
		t.Error(diff)
	}
}
