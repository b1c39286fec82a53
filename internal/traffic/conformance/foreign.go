package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/internal/traffic"
)

// leaf is a place in an object: the keys of maps and the indexes of lists that lead there.
type leaf []any

func (l leaf) String() string {
	var text strings.Builder
	for _, key := range l {
		fmt.Fprintf(&text, ".%v", key)
	}
	return text.String()
}

// set puts a value there in a copy of an object.
func (l leaf) set(o *unstructured.Unstructured, value any) *unstructured.Unstructured {
	out := o.DeepCopy()
	var at any = out.Object
	for i, key := range l {
		switch in := at.(type) {
		case map[string]any:
			if i == len(l)-1 {
				in[key.(string)] = value
				return out
			}
			at = in[key.(string)]
		case []any:
			if i == len(l)-1 {
				in[key.(int)] = value
				return out
			}
			at = in[key.(int)]
		}
	}
	return out
}

// walk visits all places below a value, those above others first.
func walk(value any, at leaf, visit func(at leaf, value any)) {
	if len(at) > 0 {
		visit(at, value)
	}
	below := func(key any) leaf { return append(at[:len(at):len(at)], key) }
	switch in := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(in)) {
			walk(in[key], below(key), visit)
		}
	case []any:
		for i, part := range in {
			walk(part, below(i), visit)
		}
	}
}

// differing are the places of plain values in which two objects of the same form differ.
func differing(a, b *unstructured.Unstructured) (all []leaf) {
	others := map[string]any{}
	walk(b.Object, nil, func(at leaf, value any) { others[at.String()] = value })
	walk(a.Object, nil, func(at leaf, value any) {
		switch value.(type) {
		case map[string]any, []any:
			return
		}
		if other, there := others[at.String()]; there && at[0] != "status" && (at[0] != "metadata" || at[1] == "annotations") && !cmp.Equal(value, other) {
			all = append(all, at)
		}
	})
	return all
}

// noWeights are what a weight of 60 is not, in the places of numbers and in those of texts.
func noWeights(value any) (all []any) {
	text, ok := value.(string)
	if !ok {
		return []any{"x", "", "6e", true, []any{int64(60)}, map[string]any{"weight": int64(60)}, int64(-60), int64(math.MinInt64), int64(math.MaxInt64), 0.5, 1e300, math.Inf(-1), json.Number("60.5")}
	}
	for _, to := range []string{"-60", `"60"`, "x", "[60]", "9223372036854775807", "-9223372036854775808", "1e300", "0.5"} {
		all = append(all, strings.Replace(text, "60", to, 1))
	}
	return append(all, "", "x", "null", "[]")
}

// distrustsWeights: what anyone else wrote in the place of a weight, and is none, shows no weight, and gives way to the one that is wanted.
func distrustsWeights(t testing.TB, s Subject) {
	if s.Own {
		t.Skip("nobody else writes there")
	}
	w := s.World(t)
	earlier := reach(t, s, w, split(10))
	want := split(60)
	now := reach(t, s, w, want)
	tried := 0
	for key, o := range now {
		if earlier[key] == nil {
			continue
		}
		for _, at := range differing(o, earlier[key]) {
			value, _ := nested(o.Object, at)
			if whole, ok := value.(int64); ok && len(o.GetOwnerReferences()) == 0 { // what is not the router's own
				same := copied(now)
				same[key] = at.set(o, float64(whole))
				if changed := changes(t, s, want, same); len(changed) > 0 {
					t.Errorf("%s has the number at %s as a client for JSON writes it, and it is written again:\n%s", key, at, strings.Join(changed, "\n"))
				}
			}
			for _, bad := range noWeights(value) {
				tried++
				broken := copied(now)
				broken[key] = at.set(o, bad)
				if read, ok := s.Router.Weight(want, broken); ok {
					t.Errorf("%s has %v at %s, and the weight reads as %v", key, bad, at, read)
				}
				after, problems := s.Router.Render(want, broken)
				if len(problems) > 0 {
					switch bad.(type) { // anything else is left to who wrote it
					case int64, float64:
						t.Errorf("%s has the number %v at %s, and that is a problem instead of being corrected: %v", key, bad, at, problems)
					}
					continue
				}
				check(t, s, want, after)
				readsBack(t, s, want, after)
				none, _ := s.Router.Render(split(0), broken)
				check(t, s, split(0), none)
				readsBack(t, s, split(0), none)
			}
		}
	}
	if tried == 0 {
		t.Error("no object shows a weight")
	}
}

func nested(in any, at leaf) (any, bool) {
	for _, key := range at {
		switch of := in.(type) {
		case map[string]any:
			in = of[key.(string)]
		case []any:
			in = of[key.(int)]
		default:
			return nil, false
		}
	}
	return in, true
}

// rubbish is what anyone may write in the place of anything, except in annotations, which are texts.
var rubbish = []any{nil, "x", int64(-1), 0.5, []any{}, []any{nil, int64(7), map[string]any{}}, map[string]any{}, map[string]any{"name": int64(7)}}

// takesRubbish puts what it should not be in each place of the objects, or in some of them: nothing panics, what is given stays as it
// is, rendering what is rendered changes nothing, and what is rendered without a problem shows the weight.
func takesRubbish(t testing.TB, s Subject) {
	w := s.World(t)
	want := split(60)
	want.Routes = routes(s.Router.Features())
	now := reach(t, s, w, want)
	var all []func()
	for _, ref := range s.Router.Refs() {
		key := ref.Key()
		if now[key] == nil {
			continue
		}
		walk(now[key].Object, nil, func(at leaf, value any) {
			annotation := len(at) == 3 && at[0] == "metadata" && at[1] == "annotations"
			if at[0] != "spec" && !annotation {
				return // API servers keep these as they must be
			}
			for _, bad := range rubbish {
				if text, err := json.Marshal(bad); annotation && err == nil {
					bad = string(text)
				}
				all = append(all, func() {
					broken := copied(now)
					broken[key] = at.set(now[key], bad)
					what := fmt.Sprintf("%s with %#v in the place of %v at %s", key, bad, value, at)
					after := takes(t, s, want, broken, what)
					if ref.Field == "" && !annotation {
						restored(t, now[key].Object["spec"], after[key].Object["spec"], what)
					}
				})
			}
		})
	}
	for i := 0; i < len(all); i += 1 + len(all)/max(50, s.Splits/4) {
		all[i]()
	}
}

// restored holds the spec of an object of the router's own against what it was. Further fields may stay.
func restored(t testing.TB, was, is any, what string) {
	t.Helper()
	content, _ := is.(map[string]any)
	for field, value := range was.(map[string]any) {
		if !reflect.DeepEqual(value, content[field]) {
			t.Errorf("%s: spec.%s of the router's own object is not restored (-want +got)\n%s", what, field, cmp.Diff(value, content[field]))
		}
	}
}

func takes(t testing.TB, s Subject, want traffic.Split, have traffic.Objects, what string) traffic.Objects {
	t.Helper()
	before := copied(have)
	after, problems := s.Router.Render(want, have)
	for _, p := range problems {
		named(t, p)
	}
	if s.Sessions != nil { // a list or map that is empty goes with the cookie that was added, and its copies in other rules follow
		after, _ = s.Router.Render(want, copied(after))
	}
	again, _ := s.Router.Render(want, copied(after))
	if !reflect.DeepEqual(after, again) {
		t.Errorf("%s: rendering it again changes it (-once +twice)\n%s", what, cmp.Diff(after, again))
	}
	for key := range have {
		if after[key] == nil && len(problems) > 0 {
			t.Errorf("%s: there is a problem, and so %s is to be deleted", what, key)
		}
	}
	if read, ok := s.Router.Weight(want, have); ok && (read.Least < 0 || read.Most > want.Max || read.Least > read.Most) {
		t.Errorf("%s: the weight of %d reads as %v", what, want.Max, read)
	}
	if read, ok := s.Router.Weight(want, after); len(problems) == 0 && (!ok || read != traffic.Interval{Least: want.Canary.Weight, Most: want.Canary.Weight}) {
		t.Errorf("%s: it is rendered without a problem, and the weight reads as %v, %t", what, read, ok)
	}
	events(s.Router, have, after)
	rejected(s.Router, have, after)
	for key, o := range have {
		if r, ok := s.Router.(traffic.Returner); ok {
			r.Return(o)
		}
		once := s.Router.Release(o)
		if once != nil && s.Router.Release(once) != once {
			t.Errorf("%s: %s is released, and has something left to release", what, key)
		}
	}
	if !reflect.DeepEqual(before, have) {
		t.Errorf("%s: what was given is changed (-before +after)\n%s", what, cmp.Diff(before, have))
	}
	return after
}

// leavesOthers: an object with the name of one that the router makes, which belongs to another controller, stays as it is and shows no weight.
func leavesOthers(t testing.TB, s Subject) {
	if s.Own {
		t.Skip("nobody else writes there")
	}
	w := s.World(t)
	want := split(60)
	want.Routes = routes(s.Router.Features())
	now := reach(t, s, w, want)
	for _, ref := range s.Router.Refs() {
		key := ref.Key()
		if ref.Field != "" || now[key] == nil {
			continue
		}
		have := copied(now)
		yes := true
		have[key].SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "other", UID: "another", Controller: &yes}})
		for _, want := range []traffic.Split{want, split(60), split(0)} {
			after, problems := s.Router.Render(want, have)
			if after[key] != have[key] {
				t.Errorf("split %s: %s belongs to another controller, and is not left as it is (-before +after)\n%s", show(want), key, cmp.Diff(have[key], after[key]))
			}
			if len(want.Routes) > 0 && len(problems) == 0 {
				t.Errorf("split %s: %s belongs to another controller, and that is no problem", show(want), key)
			}
			for _, p := range problems {
				named(t, p)
			}
		}
		if s.Router.Release(have[key]) != have[key] {
			t.Errorf("%s belongs to another controller, and is not left as it is when it is released", key)
		}
	}
}
