package traefik

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// mirrorRoute is the managed route whose copies the canary gets, nil for none. A request is copied once, so it is the first one; all of them copy
// the same requests.
func (r router) mirrorRoute(want traffic.Split) (first *traffic.MirrorRoute, problems []spec.Problem) {
	for _, route := range want.Routes {
		switch route := route.(type) {
		case traffic.HeaderRoute:
			problems = append(problems, r.cannot(fmt.Sprintf("carry out setHeaderRoute of the managed route %q: remove the step, or match the headers in an IngressRoute of your own", route.Name)))
		case traffic.MirrorRoute:
			switch {
			case !r.mirrors():
				problems = append(problems, r.cannot(fmt.Sprintf("carry out setMirrorRoute of the managed route %q: name a TraefikService with spec.mirroring in mirroringTraefikServiceName, or remove the step", route.Name)))
			case !route.All():
				problems = append(problems, r.cannot(fmt.Sprintf("select the requests that the managed route %q copies: write match: [{path: {prefix: /}}], and send only these to the mirroring TraefikService, by an IngressRoute of your own", route.Name)))
			case first == nil:
				first = &route
			}
		}
	}
	return first, problems
}

// renderMirrors returns a TraefikService that mirrors with the canary among its mirrors while a route asks for that, and without it otherwise: the
// one that is there if it is right. One with a problem keeps the entry that it has, unless nobody asks for it.
func (r router) renderMirrors(want traffic.Split, route *traffic.MirrorRoute, before, weighted *unstructured.Unstructured) (after *unstructured.Unstructured, problem string) {
	var entry map[string]any
	problem = r.mirrorsProblem(before, weighted)
	if route != nil && problem == "" {
		entry, problem = r.mirrorEntry(want, *route, weighted)
	}
	if route != nil && problem != "" {
		return before, problem
	}
	after = before.DeepCopy()
	notes := readNotes(before)
	is := notes.Of(r.owner)
	if entry == nil {
		is.removeFrom(r.owner, after)
		is = mark{}
	} else if problem = is.putInto(r.owner, after, entry); problem != "" {
		return before, problem
	}
	notes.Set(r.owner, is)
	notes.Write(after)
	if reflect.DeepEqual(before.Object, after.Object) {
		return before, problem
	}
	return after, problem
}

// mirrorsProblem is why a TraefikService is not one that mirrors what reaches the weighted one.
func (r router) mirrorsProblem(o, weighted *unstructured.Unstructured) string {
	content, _ := o.Object["spec"].(map[string]any)
	mirroring, ok := content["mirroring"].(map[string]any)
	if !ok {
		return fmt.Sprintf("has no spec.mirroring: add it, with kind: TraefikService and name: %s", r.spec.Service)
	}
	if content["weighted"] != nil {
		return "has spec.weighted, and Traefik ignores spec.mirroring then: remove spec.weighted, or name another TraefikService"
	}
	namespace, _ := mirroring["namespace"].(string)
	if mirroring["name"] != r.spec.Service || mirroring["kind"] != "TraefikService" || namespace != "" && namespace != r.owner.Namespace {
		return fmt.Sprintf("spec.mirroring does not send to the TraefikService %q: set kind: TraefikService and name: %s there", r.spec.Service, r.spec.Service)
	}
	if _, ok := mirroring["mirrors"].([]any); !ok && mirroring["mirrors"] != nil {
		return "spec.mirroring.mirrors is no list: write one, or leave it out"
	}
	if weighted == nil {
		return fmt.Sprintf("spec.mirroring sends to the TraefikService %q, which this API group does not have: create it there, or delete this one", r.spec.Service)
	}
	return ""
}

// mirrorEntry is the canary as a mirror: its first entry among the weighted services, with a percentage in place of the weight. Traefik has one
// configuration for all entries of a Service and port, so all that the two say must be the same. Without a percentage it would copy nothing.
func (r router) mirrorEntry(want traffic.Split, route traffic.MirrorRoute, weighted *unstructured.Unstructured) (entry map[string]any, problem string) {
	services, _ := r.services(weighted)
	entries := services[want.Canary.Service]
	if len(entries) == 0 {
		return nil, fmt.Sprintf("the port of the Service %q is not known: list it in spec.weighted.services of the TraefikService %q", want.Canary.Service, r.spec.Service)
	}
	entry = runtime.DeepCopyJSON(entries[0])
	delete(entry, "weight")
	entry["percent"] = int64(route.Percent)
	return entry, ""
}

// mirrorsOf is the list of mirrors, and whether there is one.
func mirrorsOf(o *unstructured.Unstructured) (mirroring map[string]any, list []any, ok bool) {
	content, _ := o.Object["spec"].(map[string]any)
	mirroring, _ = content["mirroring"].(map[string]any)
	list, ok = mirroring["mirrors"].([]any)
	return mirroring, list, ok
}

// putInto puts the Rollout's entry among the mirrors, in the place of the one that it has there, or at the end. It says why it cannot: an entry that
// someone else has for the same Service could not be told from it once one of the two is changed, and copies requests twice.
func (m *mark) putInto(owner traffic.Owner, o *unstructured.Unstructured, entry map[string]any) (problem string) {
	mirroring, list, there := mirrorsOf(o)
	service, _ := serviceOf(entry, owner.Namespace)
	at := m.find(owner, list)
	if at < 0 {
		at = slices.IndexFunc(list, func(other any) bool { return same(other, entry) }) // whose note is lost
	}
	for other := range list {
		if name, ok := serviceOf(list[other], owner.Namespace); ok && name == service && other != at {
			return fmt.Sprintf("spec.mirroring.mirrors[%d] copies to the Service %q too: remove it, because setMirrorRoute has an entry of its own for this Service", other, service)
		}
	}
	switch {
	case at < 0:
		m.Alone = there && len(list) == 0
		mirroring["mirrors"] = append(list, any(entry))
	case !same(list[at], entry):
		list[at] = entry
	}
	m.Mirror = entry
	return ""
}

// removeFrom removes the Rollout's entry from the mirrors.
func (m *mark) removeFrom(owner traffic.Owner, o *unstructured.Unstructured) {
	mirroring, list, _ := mirrorsOf(o)
	at := m.find(owner, list)
	if at < 0 {
		return
	}
	list = slices.Delete(list, at, at+1)
	if len(list) == 0 && !m.Alone {
		delete(mirroring, "mirrors")
		return
	}
	mirroring["mirrors"] = list
}

// find is where the Rollout's entry is among the mirrors, -1 if it is not there: the entry that was written, or else the first one for the same
// Service, which someone else has changed.
func (m *mark) find(owner traffic.Owner, list []any) int {
	service, ok := serviceOf(any(m.Mirror), owner.Namespace)
	if !ok {
		return -1
	}
	if at := slices.IndexFunc(list, func(entry any) bool { return same(entry, m.Mirror) }); at >= 0 {
		return at
	}
	return slices.IndexFunc(list, func(entry any) bool {
		name, ok := serviceOf(entry, owner.Namespace)
		return ok && name == service
	})
}

// same reports whether two entries say the same, whatever types their numbers are of.
func same(a, b any) bool {
	left, err := json.Marshal(a)
	if err != nil {
		return false
	}
	right, err := json.Marshal(b)
	return err == nil && string(left) == string(right)
}
