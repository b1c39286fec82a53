package fieldpath_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/sluice-delivery/sluice/internal/fieldpath"
)

func TestParse(t *testing.T) {
	for name, c := range map[string]struct{ text, wrong string }{
		"a key":                   {"spec", ""},
		"keys":                    {"spec.a-b.c_d1", ""},
		"lists":                   {"spec.routes[*].services", ""},
		"a key of any characters": {"spec.labels['example.com/x'].y", ""},
		"nothing":                 {"", "it is empty"},
		"a list at first":         {"[*].x", "must begin with a key"},
		"a list at last":          {"spec.routes[*]", "must end with a key"},
		"no dot":                  {"spec['a']b", "a key must follow a dot"},
		"two dots":                {"spec..a", "a key of letters"},
		"an index":                {"spec.routes[0].x", "a key must follow a dot"},
		"no end of a key":         {"spec['a", "must look like ['key']"},
		"very many":               {"a" + strings.Repeat(".a", 40), "more than 32 parts"},
	} {
		t.Run(name, func(t *testing.T) {
			path, err := fieldpath.Parse(c.text)
			switch {
			case c.wrong == "" && (err != nil || path.String() != c.text):
				t.Errorf("reads as %q: %v", path, err)
			case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)):
				t.Errorf("got %v, want %q", err, c.wrong)
			}
		})
	}
}

func TestPlaces(t *testing.T) {
	const before = `{"spec": {"routes": [{"to": {"w": 1}}, {"to": {}}, {}, 7, {"to": {"w": 2, "x": 3}}]}}`
	for name, c := range map[string]struct {
		path     string
		creating bool
		do       func(fieldpath.Place)
		want     string
	}{
		"set where there is something on the way": {
			"spec.routes[*].to.w", false, func(p fieldpath.Place) { p.Set(int64(9)) },
			`{"spec": {"routes": [{"to": {"w": 9}}, {"to": {"w": 9}}, {}, 7, {"to": {"w": 9, "x": 3}}]}}`,
		},
		"set everywhere": {
			"spec.routes[*].to.w", true, func(p fieldpath.Place) { p.Set(int64(9)) },
			`{"spec": {"routes": [{"to": {"w": 9}}, {"to": {"w": 9}}, {"to": {"w": 9}}, 7, {"to": {"w": 9, "x": 3}}]}}`,
		},
		"removed with the maps that only it was in": {
			"spec.routes[*].to.w", false, func(p fieldpath.Place) { p.Remove() },
			`{"spec": {"routes": [{}, {}, {}, 7, {"to": {"x": 3}}]}}`,
		},
		"a key that is something else": {
			"spec.routes.x", true, func(p fieldpath.Place) { p.Set(int64(9)) }, before,
		},
	} {
		t.Run(name, func(t *testing.T) {
			path, err := fieldpath.Parse(c.path)
			if err != nil {
				t.Fatal(err)
			}
			var got, want map[string]any
			if err := errors.Join(json.Unmarshal([]byte(before), &got), json.Unmarshal([]byte(c.want), &want)); err != nil {
				t.Fatal(err)
			}
			for _, place := range path.Places(got, c.creating) {
				c.do(place)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestBelow(t *testing.T) {
	for name, c := range map[string]struct{ path, outer, want string }{
		"entries of the list":   {"spec.routes[*].services", "spec.routes", "services"},
		"the list itself":       {"spec.routes", "spec.routes", ""},
		"another one":           {"spec.others[*].services", "spec.routes", ""},
		"a field, and no entry": {"spec.routes.services", "spec.routes", ""},
	} {
		t.Run(name, func(t *testing.T) {
			path, err := fieldpath.Parse(c.path)
			if err != nil {
				t.Fatal(err)
			}
			outer, err := fieldpath.Parse(c.outer)
			if err != nil {
				t.Fatal(err)
			}
			rest, ok := path.Below(outer)
			if ok != (c.want != "") || rest.String() != c.want {
				t.Errorf("got %q, %t", rest, ok)
			}
		})
	}
}
