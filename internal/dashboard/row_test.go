package dashboard

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/internal/view"
)

var (
	listAll   = metav1.ListOptions{}
	updateAny = metav1.UpdateOptions{}
	deleteNow = metav1.DeleteOptions{}
)

func TestFilters(t *testing.T) {
	rowLike := func(namespace, name, phase string, strategy view.Strategy, labels map[string]string) *row {
		return &row{Rollout: view.Rollout{Namespace: namespace, Name: name, Status: view.Status{Text: phase}, Strategy: strategy}, labels: labels, Waits: phase == "Degraded"}
	}
	all := []*row{
		rowLike("pay", "ledger", "Healthy", view.BlueGreen, nil),
		rowLike("shop", "cart", "Progressing", view.Canary, map[string]string{"team": "shop"}),
		rowLike("shop", "web", "Degraded", view.Canary, map[string]string{"team": "web"}),
	}
	for query, want := range map[string][]string{
		"":                       {"web", "cart", "ledger"},
		"sort=name":              {"ledger", "cart", "web"},
		"namespace=shop":         {"web", "cart"},
		"name=CAR":               {"cart"},
		"name=shop/":             {"web", "cart"},
		"label=team%3Dweb":       {"web"},
		"label=team":             {"web", "cart"},
		"strategy=bluegreen":     {"ledger"},
		"phase=Progressing":      {"cart"},
		"waits=1":                {"web"},
		"size=2":                 {"web", "cart"},
		"size=2&page=2":          {"ledger"},
		"size=2&page=9":          {"ledger"},
		"namespace=none":         nil,
		"phase=Degraded&label=x": nil,
	} {
		q, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		f, err := filterOf(q)
		if err != nil {
			t.Errorf("%s: %v", query, err)
			continue
		}
		page := f.page(all)
		var got []string
		for _, r := range page.Rows {
			got = append(got, r.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", query, diff)
		}
		back, err := filterOf(must(url.ParseQuery(f.Query()[1:])))
		if err != nil || back != f {
			t.Errorf("%s comes back as %+v from %q, was %+v", query, back, f.Query(), f)
		}
	}
	for _, query := range []string{"page=0", "page=-1", "size=x", "label=a+b"} {
		if _, err := filterOf(must(url.ParseQuery(query))); err == nil {
			t.Errorf("%s is taken", query)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(fmt.Sprint(err))
	}
	return v
}

func TestLimitsOfConditions(t *testing.T) {
	for condition, want := range map[string][]limit{
		"result[0] >= 0.95":                {{0.95, ">= 0.95"}},
		"result < 5 && result > -1.5":      {{5, "< 5"}, {-1.5, "> -1.5"}},
		"all(result, # < 3)":               nil,
		"":                                 nil,
		"asFloat(result) <= 1":             {{1, "<= 1"}},
		"len(result) == 0 || result[0]<=2": {{2, "<= 2"}},
	} {
		if diff := cmp.Diff(want, limitsOf(condition)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", condition, diff)
		}
	}
}

// Who does not tell colors apart tells states by their shapes.
func TestEachStateHasAShapeOfItsOwn(t *testing.T) {
	of := map[string]view.Icon{}
	for icon, shape := range shapes {
		if other, taken := of[shape]; taken {
			t.Errorf("icons %v and %v have the same shape", icon, other)
		}
		of[shape] = icon
	}
	for icon := range tones {
		if shapes[icon] == "" {
			t.Errorf("icon %v has a color and no shape", icon)
		}
	}
}
