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
	links := Links(map[string]string{
		LinkPrefix + "commit": "https://git.example.com/c", LinkPrefix + "evil": "javascript:alert(1)", LinkPrefix + "none": "", "other": "https://x",
	})
	if diff := cmp.Diff(map[string]any{"commit": "https://git.example.com/c"}, links); diff != "" {
		t.Error(diff)
	}
	for want, status := range map[string]map[string]any{
		"": {"phase": "Healthy"}, "It is degraded: RolloutAborted: x": {"phase": "Degraded", "message": "RolloutAborted: x"},
		"It waits at a pause step, since 1": {"phase": "Paused", "pauseConditions": []any{map[string]any{"reason": "CanaryPauseStep", "startTime": "1"}}},
	} {
		if got := Explain(map[string]any{"status": status}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
