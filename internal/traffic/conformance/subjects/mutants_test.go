package subjects_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/conformance"
	"github.com/sluice-delivery/sluice/internal/traffic/conformance/subjects"
)

// mutants are faults that a renderer could have. The suite must find each of them in every renderer that could have it.
var mutants = map[string]struct {
	// of makes the faulty router.
	of func(mutant) mutant
	// could reports whether a router could have the fault; nil if each could.
	could func(conformance.Subject) bool
}{
	"gives the canary one more": {of: wanting(func(want *traffic.Split) {
		if want.Stable.Weight > 0 {
			want.Stable.Weight, want.Canary.Weight = want.Stable.Weight-1, want.Canary.Weight+1
		}
	})},
	"takes one version for the other": {of: wanting(func(want *traffic.Split) {
		want.Stable.Weight, want.Canary.Weight = want.Canary.Weight, want.Stable.Weight
	})},
	"forgets the routes of steps": {of: wanting(func(want *traffic.Split) { want.Routes = nil }), could: takesRoutes},
	"copies requests that no step asks for": {of: wanting(func(want *traffic.Split) {
		for i, route := range want.Routes {
			if mirror, ok := route.(traffic.MirrorRoute); ok {
				mirror.Match = []traffic.RequestMatch{{Path: &traffic.StringMatch{Kind: traffic.Prefix, Value: "/"}}}
				want.Routes[i] = mirror
			}
		}
	}), could: func(s conformance.Subject) bool { return s.Router.Features().WholeMirrors }},
	"keeps the routes of steps": {of: keepsRoutes, could: takesRoutes},
	"forgets experiments":       {of: forgetsExperiments, could: func(s conformance.Subject) bool { return s.Router.Features().Additional }},
	"says that it can do more":  {of: func(m mutant) mutant { m.claims = true; return m }, could: cannotAll},
	"says that its weights need not be percentages": {
		of:    func(m mutant) mutant { m.anyMax = true; return m },
		could: func(s conformance.Subject) bool { return !s.Router.Features().AnyMax },
	},
	"deletes what belongs to others": {of: releasing(func(before, after *unstructured.Unstructured) *unstructured.Unstructured {
		if after == before && len(before.GetOwnerReferences()) > 0 {
			return nil
		}
		return after
	}), could: makesObjects},
	"writes each time":              {of: rendering(func(_, out traffic.Objects) { copyAll(out) })},
	"sees no drift":                 {of: rendering(keepAll)},
	"changes what it is given":      {of: rendering(func(have, _ traffic.Objects) { annotateAll(have) })},
	"loses an object":               {of: rendering(func(have, out traffic.Objects) { loseOne(have, out) })},
	"removes other people's labels": {of: rendering(removeLabels), could: func(s conformance.Subject) bool { return !s.Own }},
	"says nothing of problems":      {of: telling(func([]spec.Problem) []spec.Problem { return nil })},
	"names no field in problems": {of: telling(func(all []spec.Problem) []spec.Problem {
		for i := range all {
			all[i].Field = ""
		}
		return all
	})},
	"reads one more": {of: reading(func(i traffic.Interval, ok bool) (traffic.Interval, bool) {
		i.Least, i.Most = i.Least+1, i.Most+1
		return i, ok
	})},
	"reads what is not there as nothing": {
		of:    reading(func(i traffic.Interval, _ bool) (traffic.Interval, bool) { return i, true }),
		could: hasPeoplesObject, // one that makes its object need not read it
	},
	"releases nothing": {of: releasing(func(before, _ *unstructured.Unstructured) *unstructured.Unstructured { return before })},
	"deletes what it releases": {
		of:    releasing(func(_, _ *unstructured.Unstructured) *unstructured.Unstructured { return nil }),
		could: hasPeoplesObject,
	},
	"releases twice": {of: releasing(func(_, after *unstructured.Unstructured) *unstructured.Unstructured { return after.DeepCopy() }), could: hasPeoplesObject},
	"takes the cookies of one version for those of the other": {of: wanting(func(want *traffic.Split) {
		want.Stable.Hash, want.Canary.Hash = want.Canary.Hash, want.Stable.Hash
	}), could: keepsClients},
	"forgets the clients":                     {of: wanting(func(want *traffic.Split) { want.Stable.Hash = "" }), could: keepsClients},
	"keeps clients on a version that is gone": {of: keepsFirst, could: keepsClients},
	"leaves the weights as they are":          {of: func(m mutant) mutant { m.stays = true; return m }, could: returns},
}

func takesRoutes(s conformance.Subject) bool {
	return s.Router.Features().Headers || s.Router.Features().Mirrors
}

func cannotAll(s conformance.Subject) bool {
	f := s.Router.Features()
	return !f.Headers || !f.Mirrors || !f.Additional
}

// makesObjects reports whether a router has objects of its own, whose names others may have taken.
func makesObjects(s conformance.Subject) bool {
	return slices.ContainsFunc(s.Router.Refs(), func(ref traffic.Ref) bool { return ref.Field == "" })
}

func hasPeoplesObject(s conformance.Subject) bool { return !s.MakesRoute }

func keepsClients(s conformance.Subject) bool { return s.Sessions != nil }

func returns(s conformance.Subject) bool {
	_, ok := s.Router.(traffic.Returner)
	return ok
}

// mutant is a router with a fault.
type mutant struct {
	traffic.Router
	want    func(traffic.Split, traffic.Features) traffic.Split
	render  func(have, out traffic.Objects)
	tell    func([]spec.Problem) []spec.Problem
	read    func(traffic.Interval, bool) (traffic.Interval, bool)
	release func(before, after *unstructured.Unstructured) *unstructured.Unstructured
	claims  bool
	anyMax  bool
	stays   bool
}

func (m mutant) Features() traffic.Features {
	f := m.Router.Features()
	if m.claims {
		f.Headers, f.Mirrors, f.Additional = true, true, true
	}
	f.AnyMax = f.AnyMax || m.anyMax
	return f
}

func (m mutant) Render(want traffic.Split, have traffic.Objects) (traffic.Objects, []spec.Problem) {
	if m.want != nil {
		want = m.want(want, m.Router.Features())
	}
	out, problems := m.Router.Render(want, have)
	if m.render != nil {
		m.render(have, out)
	}
	if m.tell != nil {
		problems = m.tell(problems)
	}
	return out, problems
}

func (m mutant) Weight(of traffic.Split, have traffic.Objects) (traffic.Interval, bool) {
	i, ok := m.Router.Weight(of, have)
	if m.read != nil {
		return m.read(i, ok)
	}
	return i, ok
}

func (m mutant) Release(o *unstructured.Unstructured) *unstructured.Unstructured {
	after := m.Router.Release(o)
	if m.release == nil || after == nil && o == nil {
		return after
	}
	return m.release(o, after)
}

// returning is a mutant of a router that can return.
type returning struct{ mutant }

func (r returning) Return(o *unstructured.Unstructured) *unstructured.Unstructured {
	if r.stays {
		return o
	}
	return r.Router.(traffic.Returner).Return(o)
}

func wanting(edit func(*traffic.Split)) func(mutant) mutant {
	return func(m mutant) mutant {
		m.want = func(want traffic.Split, _ traffic.Features) traffic.Split {
			edit(&want)
			return want
		}
		return m
	}
}

func rendering(edit func(have, out traffic.Objects)) func(mutant) mutant {
	return func(m mutant) mutant { m.render = edit; return m }
}

func telling(edit func([]spec.Problem) []spec.Problem) func(mutant) mutant {
	return func(m mutant) mutant { m.tell = edit; return m }
}

func reading(edit func(traffic.Interval, bool) (traffic.Interval, bool)) func(mutant) mutant {
	return func(m mutant) mutant { m.read = edit; return m }
}

func releasing(edit func(before, after *unstructured.Unstructured) *unstructured.Unstructured) func(mutant) mutant {
	return func(m mutant) mutant { m.release = edit; return m }
}

// keepsRoutes renders the routes that were wanted last where none are.
func keepsRoutes(m mutant) mutant {
	var last []traffic.Route
	m.want = func(want traffic.Split, _ traffic.Features) traffic.Split {
		if len(want.Routes) > 0 {
			last = want.Routes
		}
		want.Routes = last
		return want
	}
	return m
}

// keepsFirst knows versions by the hashes that it saw first.
func keepsFirst(m mutant) mutant {
	var canary, stable string
	m.want = func(want traffic.Split, _ traffic.Features) traffic.Split {
		if canary == "" {
			canary, stable = want.Canary.Hash, want.Stable.Hash
		}
		want.Canary.Hash, want.Stable.Hash = canary, stable
		return want
	}
	return m
}

func forgetsExperiments(m mutant) mutant {
	m.want = func(want traffic.Split, _ traffic.Features) traffic.Split {
		for _, d := range want.Additional {
			want.Stable.Weight += d.Weight
		}
		want.Additional = nil
		return want
	}
	return m
}

func copyAll(out traffic.Objects) {
	for key, o := range out {
		out[key] = o.DeepCopy()
	}
}

func keepAll(have, out traffic.Objects) {
	clear(out)
	for key, o := range have {
		out[key] = o
	}
}

func annotateAll(objects traffic.Objects) {
	for _, o := range objects {
		o.SetAnnotations(map[string]string{"example.com/seen": "yes"})
	}
}

// loseOne takes one of the objects that are there out of those to write, so that it is deleted.
func loseOne(have, out traffic.Objects) {
	for key := range have {
		delete(out, key)
		return
	}
}

func removeLabels(have, out traffic.Objects) {
	for key, o := range out {
		if o != have[key] {
			o.SetLabels(nil)
		}
	}
}

// TestFaultsOfRoutersAreFound proves that the suite can tell a renderer with a fault from one without, whichever renderer it is.
func TestFaultsOfRoutersAreFound(t *testing.T) {
	owner := subjects.Rollout("shop")
	all := map[string]conformance.Subject{
		"gatewayAPI, by sessions": subjects.GatewaySessions(owner, subjects.InMemory(subjects.Routes, "shop"), 20),
		"gatewayAPI":              subjects.GatewayAPI(owner, subjects.InMemory(subjects.Routes, "shop"), 20),
		"istio":                   subjects.Istio(owner, subjects.InMemory(subjects.Services, "shop"), 20),
		"istio, by subsets":       subjects.IstioSubsets(owner, subjects.InMemory(subjects.Services, "shop"), 20),
		"istio, by sessions":      subjects.IstioSessions(owner, subjects.InMemory(subjects.Services, "shop"), 20),
		"nginx":                   subjects.Nginx(owner, subjects.InMemory(subjects.Ingresses, "shop"), 20),
		"alb":                     subjects.ALB(owner, subjects.InMemory(subjects.ALBIngresses, "shop"), 20),
		"apisix":                  subjects.Apisix(owner, subjects.InMemory(subjects.ApisixRoutes, "shop"), 20),
		"smi":                     subjects.SMI(owner, subjects.InMemory(subjects.TrafficSplits, "shop"), 20),
		"ambassador":              subjects.Ambassador(owner, subjects.InMemory(subjects.Mappings, "shop"), 20),
		"traefik, with mirrors":   subjects.TraefikMirrors(owner, subjects.InMemory(subjects.TraefikServices, "shop"), 20),
		"traefik":                 subjects.Traefik(owner, subjects.InMemory(subjects.TraefikServices, "shop"), 20),
	}
	for _, example := range subjects.CustomExamples() {
		world := func(t testing.TB) conformance.World { return conformance.Memory(subjects.Routing(t, example, "shop")) }
		all["custom, "+example] = subjects.Custom(t, owner, example, world, 20)
	}
	for router, subject := range all {
		t.Run(router, func(t *testing.T) {
			if by := conformance.Finds(t, subject); by != "" {
				t.Fatalf("without any fault, the suite finds one: %s", by)
			}
			for name, fault := range mutants {
				if fault.could != nil && !fault.could(subject) {
					continue
				}
				faulty := subject
				faulty.Router = fault.of(mutant{Router: subject.Router})
				if returns(subject) {
					faulty.Router = returning{faulty.Router.(mutant)}
				}
				by := conformance.Finds(t, faulty)
				t.Logf("%s: %s", name, by)
				if by == "" {
					t.Errorf("a router that %s is not found", name)
				}
			}
		})
	}
}
