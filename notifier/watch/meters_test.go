package watch

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/notifier/dora"
)

// registered are the metrics that exist once one Rollout was seen, and one update of it.
func registered(t *testing.T, perObject bool) map[string][]string {
	t.Helper()
	r := prometheus.NewRegistry()
	m := newMeters(r, perObject, func() int { return 0 })
	for _, name := range []string{"web", "api"} {
		rollout := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"namespace": "shop", "name": name}}}
		m.known(rollout)
		took := time.Hour
		m.delivered(rollout, dora.Outcome{Result: dora.Succeeded, Lead: &took, Recovery: &took})
		d := delivery{subject: &subject{object: rollout}, trigger: "on-x"}
		m.sent(d)
		m.failed(d)
		m.took(rollout, took)
	}
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for _, f := range families {
		for _, metric := range f.GetMetric() {
			series := ""
			for _, l := range metric.GetLabel() {
				series += l.GetName() + "=" + l.GetValue() + " "
			}
			all[f.GetName()] = append(all[f.GetName()], series)
		}
	}
	return all
}

// A Rollout more is no series more, unless single objects are told apart.
func TestLabelsAreBounded(t *testing.T) {
	for perObject, want := range map[bool]int{false: 3, true: 6} {
		if got := registered(t, perObject)["sluice_deployments_total"]; len(got) != want {
			t.Errorf("per object %v: %q, want %d series", perObject, got, want)
		}
	}
	r := prometheus.NewRegistry()
	m := newMeters(r, true, func() int { return 0 })
	m.known(&unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"namespace": "shop", "name": "web"}}})
	m.forget("shop", "web")
	if families, err := r.Gather(); err != nil || len(families) != 1 { // how many messages wait
		t.Errorf("%v, %v", families, err)
	}
}

// The dashboard asks for no metric that is not there, and for all of DORA's.
func TestDashboard(t *testing.T) {
	text, err := os.ReadFile("../../config/observe/dora.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	there, asked := registered(t, false), map[string]bool{}
	metric := regexp.MustCompile(`\b(sluice|notification)_[a-z_]+`)
	suffix := regexp.MustCompile(`_(bucket|sum|count)$`)
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			names := metric.FindAllString(target.Expr, -1)
			if len(names) == 0 {
				t.Errorf("%s asks for nothing: %s", p.Title, target.Expr)
			}
			for _, name := range names {
				name = suffix.ReplaceAllString(name, "")
				asked[name] = true
				if there[name] == nil {
					t.Errorf("%s asks for %s, which is no metric of the notifier", p.Title, name)
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(there)) {
		if !asked[name] && name != "notification_send" {
			t.Errorf("no panel shows %s", name)
		}
	}
}
