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
