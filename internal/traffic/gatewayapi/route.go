package gatewayapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/note"
)

// rule is a rule of a route of any kind.
type rule = map[string]any

// route is a copy of a route, taken apart into rules of managed routes and the others.
type route struct {
	owner    traffic.Owner
	original *unstructured.Unstructured
	object   *unstructured.Unstructured
	notes    note.Notes[mark]
	// mine is what is noted for this Rollout.
	mine mark
	// managed are the rules that Rollouts added, this one and others: those of managed routes, and those of sessions.
	managed []managedRule
	// rules are all others. What is no rule at all stays what it is.
	rules []any
	// nameless: the rules of this Rollout have lost their names, because the release of the Gateway API knows none.
	nameless bool
	// compared counts how often matches of rules were compared.
	compared int
}

// managedRule is a rule that a Rollout added.
type managedRule struct {
	// owner is the prefix of the names of the Rollout's rules, by which managed rules are sorted: each of several Rollouts that share
	// a route must want the same order.
	owner string
	rule  rule
	// session: it keeps clients on a version, and stands after all other rules.
	session bool
}

func open(owner traffic.Owner, object *unstructured.Unstructured) *route {
	r := &route{owner: owner, original: object, object: object.DeepCopy()}
	r.notes = readNotes(r.object)
	r.mine = r.notes.Of(owner)
	noted := r.adders()
	for _, entry := range r.list() { // a note that is for a rule with a name says nothing about one without
		if of, ok := entry.(rule); ok {
			if name, _ := of["name"].(string); name != "" {
				if a, managed := adderOfName(name); managed {
					strike(noted, fingerprint(of), a)
				}
			}
		}
	}
	for _, entry := range r.list() {
		if by, ok := r.managedBy(entry, noted); ok {
			r.managed = append(r.managed, managedRule{by.owner, entry.(rule), by.session})
		} else {
			r.rules = append(r.rules, entry)
		}
	}
	return r
}

// managedBy tells whose managed rule it is, by its name, and where there is no name, by what is noted. Each note stands for one rule.
func (r *route) managedBy(entry any, noted map[string][]adder) (adder, bool) {
	of, ok := entry.(rule)
	if !ok {
		return adder{}, false
	}
	if name, _ := of["name"].(string); name != "" {
		return adderOfName(name)
	}
	print := fingerprint(of)
	adders := noted[print]
	if len(adders) == 0 {
		return adder{}, false
	}
	noted[print] = adders[1:]
	r.nameless = r.nameless || adders[0].owner == namePrefix(r.owner)
	return adders[0], true
}

// adder is who added a rule: the prefix of its names, and whether it did so for sessions.
type adder struct {
	owner   string
	session bool
}

// strike takes one note of an adder's off the list.
func strike(noted map[string][]adder, print string, by adder) {
	if i := slices.Index(noted[print], by); i >= 0 {
		noted[print] = slices.Delete(noted[print], i, i+1)
	}
}

// list is the rules of the copy.
func (r *route) list() []any {
	routeSpec, _ := r.object.Object["spec"].(map[string]any)
	list, _ := routeSpec["rules"].([]any)
	return list
}

// dropManaged takes this Rollout's managed rules away, those of sessions included.
func (r *route) dropManaged() {
	r.managed = slices.DeleteFunc(r.managed, func(m managedRule) bool { return m.owner == namePrefix(r.owner) })
	r.mine.Rules, r.mine.Sessions = nil, nil
}

// close puts the route together again. If nothing has changed it is the original itself.
func (r *route) close() *unstructured.Unstructured {
	if r.list() != nil {
		slices.SortStableFunc(r.managed, func(a, b managedRule) int { return cmp.Compare(a.owner, b.owner) })
		rules := append(append(r.added(false), r.rules...), r.added(true)...)
		r.object.Object["spec"].(map[string]any)["rules"] = rules
	}
	r.notes.Set(r.owner, r.mine)
	r.notes.Write(r.object)
	if reflect.DeepEqual(r.original.Object, r.object.Object) {
		return r.original
	}
	return r.object
}

// added are the rules of sessions, or all other rules that Rollouts added.
func (r *route) added(sessions bool) []any {
	all := []any{} // a list without rules stays a list
	for _, m := range r.managed {
		if m.session == sessions {
			all = append(all, m.rule)
		}
	}
	return all
}

// maxRolloutName is how much of a Rollout's name is repeated, which leaves room for the rest of the name of a rule.
const maxRolloutName = 140

// namePrefix begins the names of a Rollout's managed rules. Namespaces have no dots, and dots in the name of a Rollout are replaced, so
// that no prefix is one of another.
func namePrefix(o traffic.Owner) string {
	name := o.Name
	if strings.Contains(name, ".") || len(name) > maxRolloutName {
		name = strings.ReplaceAll(name[:min(len(name), maxRolloutName)], ".", "-") + "-" + short(name)
	}
	return fmt.Sprintf("sluice.%s.%s.", o.Namespace, name)
}

// adderOfName reads the prefix from the name of a managed rule, and whether it is one of sessions.
func adderOfName(name string) (adder, bool) {
	parts := strings.SplitN(name, ".", 4)
	if len(parts) < 4 || parts[0] != "sluice" {
		return adder{}, false
	}
	return adder{strings.Join(parts[:3], ".") + ".", isSessionName(parts[3])}, true
}

// fingerprint is what a managed rule is known by that has lost its name: the requests that it takes, and the Services that they and copies
// of them go to. It leaves out what releases of the Gateway API may drop or add.
func fingerprint(of rule) string {
	var services []string
	for _, ref := range refs(of) {
		services = append(services, serviceKey(ref))
	}
	print := map[string]any{"matches": of["matches"], "services": services}
	if mirrors := mirrorsOf(of); len(mirrors) > 0 { // or one that mirrors everything would be the very rule that it was made from
		print["mirrors"] = mirrors
	}
	return digest(print)
}

// mirrorsOf are the Services that get copies of a rule's requests.
func mirrorsOf(of rule) []string {
	var services []string
	filters, _ := of["filters"].([]any)
	for _, entry := range filters {
		filter, _ := entry.(map[string]any)
		request, _ := filter["requestMirror"].(map[string]any)
		if ref, ok := request["backendRef"].(map[string]any); ok {
			services = append(services, serviceKey(ref))
		}
	}
	return services
}

// outline is what a rule is known by whatever its backendRefs are.
func outline(of rule) string {
	rest := make(rule, len(of))
	for key, value := range of {
		if key != "backendRefs" {
			rest[key] = value
		}
	}
	return digest(rest)
}

func digest(v any) string {
	text, err := json.Marshal(v) // of maps with sorted keys
	if err != nil {
		return ""
	}
	return short(string(text))
}

func short(text string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(text)) // never fails
	return fmt.Sprintf("%08x", h.Sum32())
}
