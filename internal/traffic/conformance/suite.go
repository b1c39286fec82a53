package conformance

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// Services between which the suite splits traffic. The objects of a subject must route to Stable.
const (
	Stable     = "web-stable"
	Canary     = "web-canary"
	Experiment = "web-experiment"
)

// Subject is a router to be tried.
type Subject struct {
	Router traffic.Router
	// World with the objects that people made, and a fresh one for each test.
	World func(t testing.TB) World
	// Weights reads from the objects what traffic goes where, in each place where it is split.
	Weights func(objects traffic.Objects) []map[string]int64
	// Sessions reads what keeps clients on a version, in each place where traffic is split; nil if the router is not asked for that. Its cookies are
	// to last 600 seconds.
	Sessions func(objects traffic.Objects) []Sessions
	// Bare is an object without weights, as far as Release leaves them.
	Bare func(o *unstructured.Unstructured) *unstructured.Unstructured
	// Subsets: the versions are told apart by something else than the Services that lead to them.
	Subsets bool
	// MakesRoute: the router makes the object that routes to the stable Service.
	MakesRoute bool
	// Own: the objects exist in the controller alone, where nobody else writes.
	Own bool
	// Splits is how many random splits are tried.
	Splits int
}

// Run runs the suite.
func Run(t *testing.T, s Subject) {
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { test(t, s) })
	}
}

// tests are those of the suite.
var tests = map[string]func(testing.TB, Subject){
	"a split is in force once it is rendered":             settles,
	"weights sum, whatever the split":                     sums,
	"the weight is read as it was rendered":               reads,
	"a weight that objects disagree about is an interval": readsDrift,
	"drift is repaired":                                   repairsDrift,
	"what other people wrote stays":                       respects,
	"what is given is not changed":                        leavesInput,
	"managed routes that are not wanted are gone":         removesRoutes,
	"additional destinations are added and removed":       removesDestinations,
	"what cannot be done is reported":                     tellsWhatItCannot,
	"nothing is left behind":                              releases,
	"clients stay on their version":                       keepsClients,
	"what is no longer named sends to the stable Service": returns,
	"an object that is missing is reported by its field":  tellsOfMissing,
	"no route to the stable Service is reported":          tellsOfNoRoute,
	"what is no weight shows none":                        distrustsWeights,
	"objects may hold anything":                           takesRubbish,
	"what belongs to others is left alone":                leavesOthers,
}

// split is one between two versions of a hundred.
func split(canary int32) traffic.Split {
	return traffic.Split{
		Max:        100,
		Stable:     traffic.Destination{Service: Stable, Hash: "aaa", Weight: 100 - canary},
		Canary:     traffic.Destination{Service: Canary, Hash: "bbb", Weight: canary},
		Managed:    []string{"beta", "copy"},
		InProgress: canary > 0,
	}
}

// routes are one of each kind that the features allow.
func routes(f traffic.Features) []traffic.Route {
	var all []traffic.Route
	beta := traffic.HeaderMatch{Header: "X-Beta", Value: traffic.StringMatch{Kind: traffic.Exact, Value: "yes"}}
	tester := traffic.HeaderMatch{Header: "User", Value: traffic.StringMatch{Kind: traffic.Prefix, Value: "t.ster"}}
	if f.ExactHeaders {
		tester.Value.Kind = traffic.Exact
	}
	if f.Headers {
		all = append(all, traffic.HeaderRoute{Name: "beta", Match: []traffic.HeaderMatch{beta, tester}})
	}
	if f.Mirrors {
		match := traffic.RequestMatch{Headers: []traffic.HeaderMatch{tester}}
		if f.WholeMirrors {
			match = traffic.RequestMatch{Path: &traffic.StringMatch{Kind: traffic.Prefix, Value: "/"}}
		}
		all = append(all, traffic.MirrorRoute{Name: "copy", Match: []traffic.RequestMatch{match}, Percent: 35})
	}
	return all
}

// reach brings a world to a split as the controller does, and returns the objects as they are then.
func reach(t testing.TB, s Subject, w World, want traffic.Split) traffic.Objects {
	t.Helper()
	before := w.Have(t, s.Router.Refs())
	after, problems := s.Router.Render(want, before)
	for _, p := range problems {
		t.Fatalf("split %s: %s", show(want), p)
	}
	w.Apply(t, before, after)
	now := w.Have(t, s.Router.Refs())
	if changed := changes(t, s, want, now); len(changed) > 0 {
		t.Fatalf("split %s is rendered, written and read, and still not in force:\n%s", show(want), strings.Join(changed, "\n"))
	}
	return now
}

// changes are the objects that a router would change.
func changes(t testing.TB, s Subject, want traffic.Split, have traffic.Objects) []string {
	t.Helper()
	after, problems := s.Router.Render(want, have)
	for _, p := range problems {
		t.Fatalf("split %s: %s", show(want), p)
	}
	var changed []string
	for key, o := range have {
		if after[key] != o {
			changed = append(changed, fmt.Sprintf("%s (-before +after)\n%s", key, cmp.Diff(o, after[key])))
		}
	}
	for key := range after {
		if have[key] == nil {
			changed = append(changed, fmt.Sprintf("%s is created", key))
		}
	}
	return changed
}

func settles(t testing.TB, s Subject) {
	w := s.World(t)
	for _, weight := range []int32{0, 20, 100, 50, 0} {
		want := split(weight)
		want.Routes = routes(s.Router.Features())
		now := reach(t, s, w, want)
		check(t, s, want, now)
		other := split(99 - weight/2)
		other.Routes = want.Routes
		if len(changes(t, s, other, now)) == 0 {
			t.Errorf("split %s is in force, and so is %s", show(want), show(other))
		}
	}
}

func sums(t testing.TB, s Subject) {
	random := rand.New(rand.NewPCG(1, 2))
	w := s.World(t)
	for range s.Splits {
		want := randomSplit(random, s.Router.Features())
		check(t, s, want, reach(t, s, w, want))
	}
}

// reads renders splits, and reads the same weights.
func reads(t testing.TB, s Subject) {
	random := rand.New(rand.NewPCG(3, 4))
	w := s.World(t)
	for _, weight := range []int32{0, 1, 50, 99, 100} {
		readsBack(t, s, split(weight), reach(t, s, w, split(weight)))
	}
	for range s.Splits {
		want := randomSplit(random, s.Router.Features())
		readsBack(t, s, want, reach(t, s, w, want))
	}
	if !s.Router.Features().AnyMax {
		return
	}
	for _, weight := range []int32{0, 1, 333_333, 999_999, 1_000_000} {
		want := split(0)
		want.Max, want.Stable.Weight, want.Canary.Weight = 1_000_000, 1_000_000-weight, weight
		readsBack(t, s, want, reach(t, s, w, want))
	}
}

func readsBack(t testing.TB, s Subject, want traffic.Split, now traffic.Objects) {
	t.Helper()
	blank := want
	blank.Stable.Weight, blank.Canary.Weight, blank.Routes = 0, 0, nil
	read, ok := s.Router.Weight(blank, now)
	if one, exact := read.One(); !ok || !exact || one != want.Canary.Weight {
		t.Fatalf("split %s is in force, and the weight reads as %v, %t", show(want), read, ok)
	}
}

// readsDrift puts each object in turn at another weight, as a GitOps tool does.
func readsDrift(t testing.TB, s Subject) {
	w := s.World(t)
	earlier := reach(t, s, w, split(10))
	want := split(60)
	now := reach(t, s, w, want)
	drifts := 0
	for key := range now {
		drifted := copied(now)
		drifted[key] = earlier[key].DeepCopy()
		if cmp.Equal(now[key].Object, earlier[key].Object) {
			continue // it carries no weight
		}
		drifts++
		read, ok := s.Router.Weight(want, drifted)
		if !ok || read != (traffic.Interval{Least: 10, Most: 60}) && read != (traffic.Interval{Least: 10, Most: 10}) {
			t.Errorf("%s is at 10, and the others at 60: the weight reads as %v, %t", key, read, ok)
		}
	}
	if drifts == 0 {
		t.Error("no object shows a weight")
	}
	for _, ref := range s.Router.Refs() {
		without := copied(now)
		if delete(without, ref.Key()); ref.Field == "" || now[ref.Key()] == nil {
			continue
		}
		if read, ok := s.Router.Weight(want, without); ok {
			t.Errorf("%s is missing, and the weight reads as %v", ref.Key(), read)
		}
	}
}

func randomSplit(random *rand.Rand, f traffic.Features) traffic.Split {
	most := int32(100)
	if f.AnyMax && random.IntN(3) == 0 {
		most = 1 + random.Int32N(1000)
	}
	want := split(0)
	want.Max, want.InProgress = most, random.IntN(2) == 0
	if random.IntN(2) == 0 {
		want.Routes = routes(f)
	}
	rest := most
	take := func() int32 {
		n := random.Int32N(rest + 1)
		rest -= n
		return n
	}
	want.Canary.Weight = take()
	if f.Additional && random.IntN(2) == 0 {
		want.Additional = []traffic.Destination{{Service: Experiment, Hash: "ccc", Weight: take()}}
	}
	want.Stable.Weight = rest
	return want
}

// check holds what a proxy would do against a split.
func check(t testing.TB, s Subject, want traffic.Split, now traffic.Objects) {
	t.Helper()
	wanted := map[string]int64{want.Stable.Service: int64(want.Stable.Weight), want.Canary.Service: int64(want.Canary.Weight)}
	for _, d := range want.Additional {
		wanted[d.Service] = int64(d.Weight)
	}
	places := s.Weights(now)
	if len(places) == 0 {
		t.Fatalf("split %s: traffic is split nowhere", show(want))
	}
	for _, weights := range places {
		var sum int64
		for service := range wanted {
			sum += weights[service]
		}
		for service, weight := range wanted {
			if weights[service]*int64(want.Max) != weight*sum || sum == 0 {
				t.Fatalf("split %s: %s has %d of %d: %v", show(want), service, weights[service], sum, weights)
			}
		}
		if _, ok := wanted[Experiment]; !ok && weights[Experiment] != 0 {
			t.Fatalf("split %s: the experiment has traffic: %v", show(want), weights)
		}
	}
}

func repairsDrift(t testing.TB, s Subject) {
	w := s.World(t)
	earlier := reach(t, s, w, split(10))
	want := split(60)
	want.Routes = routes(s.Router.Features())
	now := reach(t, s, w, want)
	for key := range now {
		if earlier[key] == nil {
			continue // a managed route is an object of its own
		}
		broken := copied(now)
		broken[key].Object["spec"] = earlier[key].DeepCopy().Object["spec"] // a GitOps tool restores what it knows
		broken[key].SetAnnotations(nil)
		w.Apply(t, now, broken)
		now = reach(t, s, w, want)
		check(t, s, want, now)
	}
	for _, ref := range s.Router.Refs() {
		if ref.Field != "" {
			continue
		}
		without := copied(now)
		delete(without, ref.Key())
		w.Apply(t, now, without)
		now = reach(t, s, w, want)
		check(t, s, want, now)
	}
}

func respects(t testing.TB, s Subject) {
	if s.Own {
		t.Skip("nobody else writes there")
	}
	const label, annotation = "example.com/team", "example.com/notes"
	w := s.World(t)
	now := reach(t, s, w, split(10))
	marked := copied(now)
	for _, o := range marked {
		o.SetLabels(with(o.GetLabels(), label, "blue"))
		o.SetAnnotations(with(o.GetAnnotations(), annotation, "{not: ours}"))
		o.SetFinalizers([]string{"example.com/hold"})
	}
	w.Apply(t, now, marked)
	for _, weight := range []int32{40, 0} {
		want := split(weight)
		want.Routes = routes(s.Router.Features())
		for key, o := range reach(t, s, w, want) {
			if marked[key] == nil {
				continue // a managed route that is an object of its own came later
			}
			if o.GetLabels()[label] != "blue" || o.GetAnnotations()[annotation] != "{not: ours}" || len(o.GetFinalizers()) != 1 {
				t.Errorf("%s has lost what other people wrote: %v", key, o.Object["metadata"])
			}
		}
	}
	now = w.Have(t, s.Router.Refs())
	without := copied(now)
	for _, o := range without {
		o.SetFinalizers(nil) // or it could not be deleted
	}
	w.Apply(t, now, without)
}

func with(m map[string]string, key, value string) map[string]string {
	out := map[string]string{key: value}
	maps.Copy(out, m)
	return out
}

func leavesInput(t testing.TB, s Subject) {
	w := s.World(t)
	f := s.Router.Features()
	for _, weight := range []int32{0, 30, 0} {
		want := split(weight)
		want.Routes = routes(f)
		have := w.Have(t, s.Router.Refs())
		before := copied(have)
		after, _ := s.Router.Render(want, have)
		for _, o := range have {
			s.Router.Release(o)
			if r, ok := s.Router.(traffic.Returner); ok {
				r.Return(o)
			}
		}
		if diff := cmp.Diff(before, have); diff != "" {
			t.Fatalf("the objects given were changed (-before +after)\n%s", diff)
		}
		w.Apply(t, have, after)
	}
}

func removesRoutes(t testing.TB, s Subject) {
	f := s.Router.Features()
	if !f.Headers && !f.Mirrors {
		t.Skip("it has none")
	}
	w := s.World(t)
	before := reach(t, s, w, split(20))
	for _, route := range append(routes(f), nil) {
		want := split(20)
		want.Routes = routes(f)
		if route != nil {
			want.Routes = []traffic.Route{route}
		}
		if len(changes(t, s, want, before)) == 0 {
			t.Errorf("routes %v change nothing", want.Routes)
		}
		reach(t, s, w, want)
		if diff := cmp.Diff(stripped(before), stripped(reach(t, s, w, split(20)))); diff != "" {
			t.Errorf("after routes %v were there and gone (-before +after)\n%s", want.Routes, diff)
		}
	}
}

// stripped are objects without what an API server counts.
func stripped(objects traffic.Objects) traffic.Objects {
	out := copied(objects)
	for _, o := range out {
		for _, field := range []string{"resourceVersion", "generation", "managedFields"} {
			unstructured.RemoveNestedField(o.Object, "metadata", field)
		}
	}
	return out
}

func removesDestinations(t testing.TB, s Subject) {
	if !s.Router.Features().Additional {
		t.Skip("it takes none")
	}
	w := s.World(t)
	before := reach(t, s, w, split(20))
	want := split(20)
	want.Stable.Weight = 70
	want.Additional = []traffic.Destination{{Service: Experiment, Weight: 10}}
	check(t, s, want, reach(t, s, w, want))
	after := reach(t, s, w, split(20))
	if diff := cmp.Diff(stripped(before), stripped(after)); diff != "" {
		t.Errorf("after an experiment (-before +after)\n%s", diff)
	}
}

func tellsWhatItCannot(t testing.TB, s Subject) {
	f := s.Router.Features()
	have := s.World(t).Have(t, s.Router.Refs())
	for _, c := range []struct {
		can  bool
		what string
		want func(*traffic.Split)
	}{
		{f.Headers, "header routes", func(w *traffic.Split) {
			w.Routes = routes(traffic.Features{Headers: true, ExactHeaders: f.ExactHeaders})
		}},
		{f.Mirrors, "mirror routes", func(w *traffic.Split) {
			w.Routes = routes(traffic.Features{Mirrors: true, WholeMirrors: f.WholeMirrors})
		}},
		{f.Mirrors && !f.WholeMirrors, "mirror routes of certain requests", func(w *traffic.Split) { w.Routes = routes(traffic.Features{Mirrors: true}) }},
		{f.Headers && !f.ExactHeaders, "header routes by a prefix", func(w *traffic.Split) { w.Routes = routes(traffic.Features{Headers: true}) }},
		{f.Additional, "additional destinations", func(w *traffic.Split) {
			w.Additional = []traffic.Destination{{Service: Experiment}}
		}},
		{f.AnyMax, "weights of 1000", func(w *traffic.Split) { w.Max, w.Stable.Weight, w.Canary.Weight = 1000, 700, 300 }},
	} {
		want := split(20)
		c.want(&want)
		_, problems := s.Router.Render(want, have)
		if told := len(problems) > 0; told == c.can {
			t.Errorf("%s: the router says that it can: %t; problems: %v", c.what, c.can, problems)
		}
		for _, p := range problems {
			named(t, p)
			if _, remedy, _ := strings.Cut(p.Text, ": "); remedy == "" {
				t.Errorf("%s: the problem %q does not say what to do", c.what, p)
			}
		}
	}
}

func named(t testing.TB, p spec.Problem) {
	t.Helper()
	if !strings.HasPrefix(p.Field, "spec.strategy.canary.trafficRouting.") || p.Text == "" {
		t.Errorf("problem %q names no field of the spec", p)
	}
}

func releases(t testing.TB, s Subject) {
	w := s.World(t)
	original := w.Have(t, s.Router.Refs())
	want := split(20)
	want.Routes = routes(s.Router.Features())
	if s.Router.Features().Additional {
		want.Stable.Weight, want.Additional = 70, []traffic.Destination{{Service: Experiment, Weight: 10}}
	}
	for _, want := range []traffic.Split{want, split(0)} {
		now := reach(t, s, w, want)
		after := traffic.Objects{}
		for key, o := range now {
			if released := s.Router.Release(o); released != nil {
				after[key] = released
			}
		}
		w.Apply(t, now, after)
		again := w.Have(t, s.Router.Refs())
		if diff := cmp.Diff(bare(s, original), bare(s, again)); diff != "" {
			t.Errorf("split %s, released (-before +after)\n%s", show(want), diff)
		}
		for key, o := range again {
			if s.Router.Release(o) != o {
				t.Errorf("%s is released, and has something left to release", key)
			}
		}
	}
}

func returns(t testing.TB, s Subject) {
	r, ok := s.Router.(traffic.Returner)
	if !ok {
		t.Skip("what it releases sends to the stable Service, or is deleted")
	}
	w := s.World(t)
	for _, weight := range []int32{20, 100} {
		want := split(weight)
		want.Routes = routes(s.Router.Features())
		if s.Router.Features().Additional && weight < 90 {
			want.Stable.Weight, want.Additional = 90-weight, []traffic.Destination{{Service: Experiment, Weight: 10}}
		}
		now := reach(t, s, w, want)
		after := traffic.Objects{}
		for key, o := range now {
			if to := s.Router.Release(r.Return(o)); to != nil {
				after[key] = to
			}
		}
		w.Apply(t, now, after)
		check(t, s, split(0), w.Have(t, s.Router.Refs()))
	}
}

func bare(s Subject, objects traffic.Objects) traffic.Objects {
	out := stripped(objects)
	for key, o := range out {
		out[key] = s.Bare(o)
	}
	return out
}

func tellsOfMissing(t testing.TB, s Subject) {
	refs := s.Router.Refs()
	want := split(30)
	want.Routes = routes(s.Router.Features())
	all := reach(t, s, s.World(t), want)
	for _, ref := range refs {
		if ref.Field == "" || all[ref.Key()] == nil {
			continue
		}
		have := copied(all)
		delete(have, ref.Key())
		after, problems := s.Router.Render(want, have)
		if !slices.ContainsFunc(problems, func(p spec.Problem) bool { return p.Field == ref.Field && strings.Contains(p.Text, ref.Name) }) {
			t.Errorf("%s is missing, and the problems do not name field %s: %v", ref.Key(), ref.Field, problems)
		}
		for key := range have {
			if after[key] == nil {
				t.Errorf("%s is missing, and so %s is to be deleted", ref.Key(), key)
			}
		}
		if after[ref.Key()] != nil {
			t.Errorf("%s is missing, and is rendered all the same", ref.Key())
		}
	}
}

// tellsOfNoRoute splits for a Service that no object routes to.
func tellsOfNoRoute(t testing.TB, s Subject) {
	if s.Subsets || s.MakesRoute {
		t.Skip("nobody's object leads to the Services")
	}
	want := split(30)
	want.Routes = routes(s.Router.Features())
	have := reach(t, s, s.World(t), want)
	want.Stable.Service = "unheard-of"
	after, problems := s.Router.Render(want, have)
	if len(problems) == 0 {
		t.Error("nothing routes to the stable Service, and nobody is told")
	}
	for _, p := range problems {
		named(t, p)
	}
	for key := range have {
		if after[key] == nil {
			t.Errorf("nothing routes to the stable Service, and so %s is to be deleted", key)
		}
	}
}

func show(s traffic.Split) string {
	text := fmt.Sprintf("%d:%d of %d", s.Stable.Weight, s.Canary.Weight, s.Max)
	for _, d := range s.Additional {
		text += fmt.Sprintf(" with %s %d", d.Service, d.Weight)
	}
	for _, r := range s.Routes {
		text += " and " + r.RouteName()
	}
	return text
}
