package note_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/note"
)

type mark struct {
	Routes []string `json:"routes,omitempty"`
}

// What others noted stays as it is, whatever it is; a note that says the same is not written again.
func TestNotes(t *testing.T) {
	web := traffic.Owner{Namespace: "shop", Name: "web"}
	for name, tc := range map[string]struct {
		before string
		set    mark
		want   string
	}{
		"the first note":                        {"", mark{[]string{"beta"}}, `{"shop/web":{"routes":["beta"]}}`},
		"a note beside others":                  {`{"bank/api": {"routes":  ["x"]}}`, mark{[]string{"beta"}}, `{"bank/api":{"routes":["x"]},"shop/web":{"routes":["beta"]}}`},
		"others that cannot be read":            {`{"bank/api": 7}`, mark{[]string{"beta"}}, `{"bank/api":7,"shop/web":{"routes":["beta"]}}`},
		"the same note, in other words":         {`{"shop/web": {"routes": [ "beta" ]}}`, mark{[]string{"beta"}}, `{"shop/web": {"routes": [ "beta" ]}}`},
		"another note":                          {`{"shop/web":{"routes":["beta"]}}`, mark{[]string{"copy"}}, `{"shop/web":{"routes":["copy"]}}`},
		"a note that cannot be read":            {`{"shop/web":"x"}`, mark{[]string{"beta"}}, `{"shop/web":{"routes":["beta"]}}`},
		"no note any more":                      {`{"shop/web":{"routes":["beta"]},"bank/api":7}`, mark{}, `{"bank/api":7}`},
		"the last note":                         {`{"shop/web":{"routes":["beta"]}}`, mark{Routes: []string{}}, ""},
		"nothing to note, where nothing is":     {"", mark{}, ""},
		"nothing to note, beside rubbish":       {"rubbish", mark{}, "rubbish"},
		"rubbish gives way to a note":           {"rubbish", mark{[]string{"beta"}}, `{"shop/web":{"routes":["beta"]}}`},
		"null is no notes":                      {"null", mark{[]string{"beta"}}, `{"shop/web":{"routes":["beta"]}}`},
		"a list gives way to a note, like text": {"[1]", mark{[]string{"beta"}}, `{"shop/web":{"routes":["beta"]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			o := &unstructured.Unstructured{Object: map[string]any{}}
			if tc.before != "" {
				o.SetAnnotations(map[string]string{"notes": tc.before})
			}
			n := note.Read[mark](o, "notes")
			n.Set(web, tc.set)
			n.Write(o)
			if diff := cmp.Diff(tc.want, o.GetAnnotations()["notes"]); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			again := note.Read[mark](o, "notes")
			if diff := cmp.Diff(len(tc.set.Routes), len(again.Of(web).Routes)); diff != "" {
				t.Errorf("read again (-want +got)\n%s", diff)
			}
		})
	}
}

// The first entry of the stable Service gets what both have, and where there is none nothing changes.
func TestToStable(t *testing.T) {
	entries := func(weights ...any) (all []map[string]any) {
		for _, w := range weights {
			all = append(all, map[string]any{"weight": w})
		}
		return all
	}
	read := func(entry map[string]any) (int64, bool) { n, ok := entry["weight"].(int64); return n, ok && n >= 0 }
	both := note.Pair{Stable: "s", Canary: "c"}
	const huge = int64(1) << 62
	for name, row := range map[string]struct {
		pair                       note.Pair
		stable, canary             []map[string]any
		wantOfStable, wantOfCanary []map[string]any
	}{
		"both":                        {both, entries(int64(70)), entries(int64(30)), entries(int64(100)), entries(int64(0))},
		"several entries":             {both, entries(int64(70), int64(5)), entries(int64(20), int64(5)), entries(int64(100), int64(0)), entries(int64(0), int64(0))},
		"no weight at all":            {both, entries(int64(0)), entries(int64(0)), entries(int64(1000)), entries(int64(0))},
		"weights that cannot be read": {both, entries("x"), entries(int64(30)), entries(int64(30)), entries(int64(0))},
		"weights beyond all numbers":  {both, entries(huge), entries(huge, huge, int64(7)), entries(int64(7)), entries(int64(0), int64(0), int64(0))},
		"no entry for the stable one": {both, nil, entries(int64(20), int64(5)), nil, entries(int64(20), int64(5))},
		"one Service":                 {note.Pair{Stable: "s", Canary: "s"}, entries(int64(70)), nil, entries(int64(70)), nil},
		"nothing noted":               {note.Pair{}, entries(int64(70)), entries(int64(30)), entries(int64(70)), entries(int64(30))},
	} {
		row.pair.ToStable(map[string][]map[string]any{"s": row.stable, "c": row.canary}, read, 1000)
		if diff := cmp.Diff([][]map[string]any{row.wantOfStable, row.wantOfCanary}, [][]map[string]any{row.stable, row.canary}); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}
