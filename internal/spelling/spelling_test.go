package spelling_test

import (
	"testing"

	"github.com/sluice-delivery/sluice/internal/spelling"
)

func TestNearest(t *testing.T) {
	candidates := []string{"httpRoute", "httpRoutes", "namespace", "promote"}
	for word, want := range map[string]string{
		"httpRuote":  "httpRoute",
		"httproutes": "httpRoutes",
		"namspace":   "namespace",
		"prom":       "promote",
		"xyz":        "",
	} {
		if got := spelling.Nearest(word, candidates); got != want {
			t.Errorf("nearest to %q is %q, want %q", word, got, want)
		}
	}
}
