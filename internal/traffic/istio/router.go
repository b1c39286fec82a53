package istio

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// The kinds that the router reads and writes. Istio converts between the versions that it serves without loss.
var (
	VirtualService  = schema.GroupVersionKind{Group: "networking.istio.io", Version: "v1", Kind: "VirtualService"}
	DestinationRule = schema.GroupVersionKind{Group: "networking.istio.io", Version: "v1", Kind: "DestinationRule"}
)

// Versions are those in which the API server may have both kinds, the best first.
func Versions() []string { return []string{"v1", "v1beta1", "v1alpha3"} }

// New returns the router of a Rollout, as far as the policy of the controller lets it reach.
func New(owner traffic.Owner, i spec.Istio, policy spec.Policy) traffic.Router {
	return router{owner, i, policy}
}

type router struct {
	owner  traffic.Owner
	spec   spec.Istio
	policy spec.Policy
}

// Name implements [traffic.Router].
func (router) Name() string { return "Istio" }

// Features implements [traffic.Router].
func (router) Features() traffic.Features {
	return traffic.Features{Headers: true, Mirrors: true, Additional: true}
}

// Refs implements [traffic.Router]. The DestinationRule is first: a subset must select its pods before it gets weight.
func (r router) Refs() []traffic.Ref {
	var all []traffic.Ref
	if r.subsets() {
		all = append(all, r.destinationRule())
	}
	for _, in := range r.spec.VirtualServices {
		all = append(all, ref(in))
	}
	return all
}

// subsets reports whether the versions are told apart by subsets of a DestinationRule.
func (r router) subsets() bool { return r.spec.DestinationRule.Name != "" }

func (r router) destinationRule() traffic.Ref {
	return traffic.Ref{
		GroupVersionKind: DestinationRule, Field: r.spec.DestinationRule.Field,
		NamespacedName: types.NamespacedName{Namespace: r.owner.Namespace, Name: r.spec.DestinationRule.Name},
	}
}

func ref(in spec.IstioVirtualService) traffic.Ref {
	return traffic.Ref{GroupVersionKind: VirtualService, NamespacedName: types.NamespacedName{Namespace: in.Namespace, Name: in.Name}, Field: in.Field}
}

// percent is what the weights of a VirtualService add up to.
const percent = 100

// Render implements [traffic.Router].
func (r router) Render(want traffic.Split, have traffic.Objects) (traffic.Objects, []spec.Problem) {
	out := traffic.Objects{}
	for _, ref := range r.Refs() {
		if o := have[ref.Key()]; o != nil {
			out[ref.Key()] = o
		}
	}
	if problems := traffic.InPercent(want, r.spec.Field); len(problems) > 0 {
		return out, problems
	}
	host, problems := r.renderRule(want, out)
	for _, in := range r.spec.VirtualServices {
		after, problem := r.renderService(in, want, host, have[ref(in).Key()])
		switch {
		case problem != nil:
			problems = append(problems, *problem)
		case len(problems) == 0 || problems[0].Field != r.spec.DestinationRule.Field: // without its subsets no weight may move
			out[ref(in).Key()] = after
		}
	}
	return out, problems
}

// renderService returns a VirtualService as it should be.
func (r router) renderService(in spec.IstioVirtualService, want traffic.Split, host string, object *unstructured.Unstructured) (*unstructured.Unstructured, *spec.Problem) {
	problem := func(p spec.Problem) (*unstructured.Unstructured, *spec.Problem) { return nil, &p }
	switch {
	case !traffic.MayUse(r.owner, r.policy, ref(in).Key(), object):
		return problem(traffic.NotAllowed(r.owner, ref(in)))
	case object == nil:
		return problem(spec.MissingObject(in.Field, VirtualService.Kind, in.Name, in.Namespace))
	}
	s := open(r, object, want)
	s.host = host
	chosen, text := s.choose(in)
	if text == "" {
		text = s.check(chosen)
	}
	if text == "" {
		for _, at := range chosen {
			s.weigh(at)
		}
		text = s.addManaged(chosen)
	}
	if text == "" {
		text = s.keepSessions(chosen)
	}
	if text != "" {
		return problem(spec.Problem{Field: in.Field, Text: fmt.Sprintf("VirtualService %q: %s", in.Name, text)})
	}
	s.note()
	return s.close(), nil
}

// Release implements [traffic.Router].
func (r router) Release(object *unstructured.Unstructured) *unstructured.Unstructured {
	switch object.GroupVersionKind() {
	case DestinationRule:
		return r.releaseRule(object)
	case VirtualService:
		s := open(r, object, traffic.Split{})
		s.dropAdded()
		s.notes.Set(r.owner, mark{})
		return s.close()
	}
	return object
}

// Return implements [traffic.Returner].
func (r router) Return(object *unstructured.Unstructured) *unstructured.Unstructured {
	if object.GroupVersionKind() != VirtualService {
		return object
	}
	s := open(r, object, traffic.Split{})
	s.toStable()
	return s.close()
}

// Kinds are those of the objects that the router writes.
func Kinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{DestinationRule, VirtualService}
}

// Owners are the Rollouts that have put something into an object.
func Owners(object *unstructured.Unstructured) []types.NamespacedName {
	if object.GroupVersionKind() == DestinationRule {
		return ruleOwner(object)
	}
	all := readNotes(object)
	return all.Names()
}

// names reports whether a list has a name.
func names(list []string, name string) bool { return name != "" && slices.Contains(list, name) }
