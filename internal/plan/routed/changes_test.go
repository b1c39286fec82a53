package routed

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// oneObject is a router with one object.
type oneObject struct {
	traffic.Router
	ref traffic.Ref
}

func (r oneObject) Refs() []traffic.Ref { return []traffic.Ref{r.ref} }

// What differs is written, what is to be and is not there is created, and what is there and is not to be is deleted.
func TestWhatDiffersIsWritten(t *testing.T) {
	ref := traffic.Ref{Field: "route", GroupVersionKind: schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Route"}, NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}}
	object := func(weight int64) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"weight": weight}}}
	}
	for name, row := range map[string]struct {
		have, should *unstructured.Unstructured
		problem      string
		written      bool
	}{
		"neither":                         {nil, nil, "", false},
		"equal":                           {object(20), object(20), "", false},
		"another weight":                  {object(20), object(40), "", true},
		"created":                         {nil, object(20), "", true},
		"deleted":                         {object(20), nil, "", true},
		"another weight, with a problem":  {object(20), object(40), "route", false},
		"another weight, beside problems": {object(20), object(40), "other", true},
	} {
		d := rendered{router: oneObject{ref: ref}, have: traffic.Objects{}, should: traffic.Objects{}}
		if row.have != nil {
			d.have[ref.Key()] = row.have
		}
		if row.should != nil {
			d.should[ref.Key()] = row.should
		}
		var problems []spec.Problem
		if row.problem != "" {
			problems = []spec.Problem{{Field: row.problem}}
		}
		got := d.changes(problems)
		if row.written != (len(got) == 1) || len(got) > 1 {
			t.Errorf("%s: %d writes", name, len(got))
			continue
		}
		if !row.written {
			continue
		}
		if w := got[0].(change.WriteRoute); w.From != row.have || w.To != row.should {
			t.Errorf("%s: the write is %+v", name, w)
		}
	}
}
