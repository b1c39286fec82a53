package nginx_test

import (
	"strings"
	"testing"

	"github.com/sluice-delivery/sluice/internal/traffic/nginx"
)

func TestCanaryName(t *testing.T) {
	long := strings.Repeat("a", 240)
	for name, c := range map[string]struct{ rollout, ingress, want string }{
		"like Argo Rollouts":         {"web", "shop", "web-shop-canary"},
		"shortened to what fits":     {long, "shop-ingress", long + "-shop-canary"},
		"without what may not stand": {long, "shop.ingress", long + "-shop-canary"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := nginx.CanaryName(c.rollout, c.ingress); got != c.want || len(got) > 253 {
				t.Errorf("got %d letters, %q, want %q", len(got), got, c.want)
			}
		})
	}
}
