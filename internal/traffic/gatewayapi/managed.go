package gatewayapi

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// The most that the API server takes in a route.
const (
	maxRules          = 16
	maxMatches        = 128
	maxMatchesOfARule = 64
	maxNameLength     = 253
)

// maxComparisons is how often matches of rules are compared for one route, many times more than the most that the API server takes in it need.
const maxComparisons = 200_000

// addManaged adds the rules of the managed routes: for each of them and each rule that names the stable Service, a copy that takes only
// the requests that fit both. The Gateway API prefers the rule that asks for more, so these come before the rules they are copies of;
// among themselves the first does.
func (r *route) addManaged(p *problems, in spec.GatewayRoute, want traffic.Split) {
	var added []managedRule
	for _, managed := range want.Routes {
		for _, of := range r.sources(want.Stable.Service) {
			if len(added) > maxRules { // which is told below
				break
			}
			copies, problem := r.managedRules(managed, of, in.Kind, want)
			if problem != "" {
				p.add(in.Field, "%s %q cannot take the managed route %q: %s", in.Kind, in.Name, managed.RouteName(), problem)
			}
			for _, copied := range copies {
				p.fitting[managed.RouteName()] = true
				if !r.nameless {
					copied["name"] = r.ruleName(managed.RouteName(), added)
				}
				added = append(added, managedRule{owner: namePrefix(r.owner), rule: copied})
			}
		}
	}
	if problem := r.tooMany(added, "them", "use fewer managed routes", "use fewer matches in the step"); problem != "" {
		p.add(in.Field, "%s %q cannot take the managed routes: %s", in.Kind, in.Name, problem)
		return
	}
	for _, m := range added {
		r.mine.Rules = append(r.mine.Rules, fingerprint(m.rule))
	}
	r.managed = append(r.managed, added...)
}

// sources are the rules that managed ones are made from.
func (r *route) sources(stable string) []rule {
	var all []rule
	for _, entry := range r.rules {
		if of, ok := entry.(rule); ok {
			if list, _ := of["backendRefs"].([]any); r.find(list, stable) >= 0 {
				all = append(all, of)
			}
		}
	}
	return all
}

// managedRules makes the rules of a managed route from another one: none if no request fits both.
func (r *route) managedRules(managed traffic.Route, of rule, kind string, want traffic.Split) ([]rule, string) {
	var (
		conditions []traffic.RequestMatch
		finish     func(rule)
		mirrors    bool
	)
	list, _ := of["backendRefs"].([]any)
	stable := list[r.find(list, want.Stable.Service)].(map[string]any)
	canary := toService(stable, want.Canary.Service, 1)
	if at := r.find(list, want.Canary.Service); at >= 0 { // it may have a port of its own
		canary = toService(list[at].(map[string]any), want.Canary.Service, 1)
	}
	switch m := managed.(type) {
	case traffic.HeaderRoute:
		for _, header := range m.Match {
			conditions = append(conditions, traffic.RequestMatch{Headers: []traffic.HeaderMatch{header}})
		}
		finish = func(to rule) { to["backendRefs"] = []any{canary} }
	case traffic.MirrorRoute:
		conditions, mirrors = m.Match, true
		finish = func(to rule) {
			filters, _ := to["filters"].([]any)
			to["filters"] = append(filters, mirror(canary, m.Percent))
		}
	}
	matches, problem := r.product(matcherOf(kind), of, conditions, mirrors)
	groups := [][]any{matches}
	if replacesPrefix(of) { // which the API server takes with one match only
		groups = slices.Collect(slices.Chunk(matches, 1))
	}
	var all []rule
	for _, group := range groups {
		if len(group) == 0 {
			continue
		}
		out := runtime.DeepCopyJSON(of)
		delete(out, "name")
		out["matches"] = group
		finish(out)
		all = append(all, out)
	}
	return all, problem
}

// replacesPrefix reports whether a rule rewrites the part of the path that it matches.
func replacesPrefix(of rule) bool {
	lists := [][]any{}
	if list, ok := of["filters"].([]any); ok {
		lists = append(lists, list)
	}
	for _, ref := range refs(of) {
		if list, ok := ref["filters"].([]any); ok {
			lists = append(lists, list)
		}
	}
	return slices.ContainsFunc(slices.Concat(lists...), func(entry any) bool {
		filter, _ := entry.(map[string]any)
		rewrite, _ := filter["urlRewrite"].(map[string]any)
		path, _ := rewrite["path"].(map[string]any)
		return path["type"] == "ReplacePrefixMatch"
	})
}

// mirror is a filter that sends copies of requests to a backend. All of them is what the Gateway API does when no share is given, and
// all that releases before 1.2 can do.
func mirror(to map[string]any, percent int32) map[string]any {
	ref := map[string]any{}
	for _, key := range []string{"group", "kind", "namespace", "name", "port"} {
		if value, ok := to[key]; ok {
			ref[key] = value
		}
	}
	request := map[string]any{"backendRef": ref}
	if percent < 100 {
		request["percent"] = int64(percent)
	}
	return map[string]any{"type": "RequestMirror", "requestMirror": request}
}

// product is the matches that fit both a rule and any of the conditions. By a header they come before all rules for the same path, as
// people expect of managed routes. But a mirror route with a path or method of its own must not change where requests go: it keeps off
// those of other rules.
func (r *route) product(m *matcher, of rule, conditions []traffic.RequestMatch, mirrors bool) ([]any, string) {
	var (
		all      []any
		problems []string
	)
	for _, condition := range conditions {
		for _, match := range matchesOf(of) {
			both, problem := m.both(match, condition)
			if both == nil {
				problems = append(problems, problem)
				continue
			}
			foreign, someForeign := r.otherRules(m, narrowing{of, match, both, true}, r.isForeign)
			others, some := false, rule(nil)
			if mirrors {
				others, some = r.otherRules(m, narrowing{of, match, both, true}, func(rule) bool { return true })
			}
			switch {
			case r.compared > maxComparisons:
				return nil, "its rules and the matches of the step are too many to be compared: use fewer of them"
			case len(all) > maxMatches: // which is told when all are counted
				return all, ""
			case foreign, others: // it is theirs
			case someForeign != nil:
				problems = append(problems, "some of its requests are those of another namespace's rule, which it would take them from: match by another header")
			case some != nil && (condition.Path != nil || condition.Method != nil):
				problems = append(problems, "some of its requests are those of another rule, which it would take them from: leave path and method out of the step, or give the other rule a longer path")
			case !m.covers(both, match) && replacesPrefix(of):
				problems = append(problems, fmt.Sprintf("a rule replaces the prefix of the path that it matches, which would be another with path %q: leave the path out of the step",
					condition.Path.Value))
			case !slices.ContainsFunc(all, func(known any) bool { return reflect.DeepEqual(known, any(both)) }):
				all = append(all, both)
			}
		}
	}
	slices.Sort(problems)
	problems = slices.DeleteFunc(slices.Compact(problems), func(text string) bool { return text == "" })
	return all, strings.Join(problems, "; ")
}

// matchesOf are the matches of a rule. One without any takes everything.
func matchesOf(of rule) []map[string]any {
	list, _ := of["matches"].([]any)
	if len(list) == 0 {
		return []map[string]any{{}}
	}
	var all []map[string]any
	for _, entry := range list {
		if match, ok := entry.(map[string]any); ok {
			all = append(all, match)
		}
	}
	return all
}

// narrowing is a rule that gets a part of the requests of another one.
type narrowing struct {
	of rule
	// wide is the match of the other rule, and narrow the one that is made from it.
	wide, narrow map[string]any
	// first: the rule with the narrow match stands before all others; otherwise it stands after them.
	first bool
}

// otherRules looks for other rules whose requests a narrower match would take: those that come before the wide match that it is made
// from, and not before the narrow one. It reports whether one of them has all of these requests, in which case there is nothing to
// be taken from the wide one, and returns one that has some of them, nil if there is none. Only rules are looked at that concern the caller.
func (r *route) otherRules(m *matcher, n narrowing, concern func(rule) bool) (all bool, some rule) {
	before := true
	for _, entry := range r.rules {
		other, ok := entry.(rule)
		if !ok {
			continue
		}
		if same(other, n.of) {
			before = false
			continue
		}
		if !concern(other) {
			continue
		}
		for _, match := range matchesOf(other) {
			if r.compared++; r.compared > maxComparisons {
				return false, nil
			}
			toWide, toNarrow := slices.Compare(m.rank(match), m.rank(n.wide)), slices.Compare(m.rank(match), m.rank(n.narrow))
			if toWide < 0 || toWide == 0 && !before || toNarrow > 0 || toNarrow == 0 && !n.first || !m.overlap(match, n.narrow) {
				continue
			}
			some = other
			all = all || m.contains(match, n.narrow)
		}
	}
	return all, some
}

// same reports whether two are the same rule, not just equal ones.
func same(a, b rule) bool { return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer() }

// isForeign reports whether a rule is of another tenant: the route is of another namespace, and nothing that the rule names is in the Rollout's.
func (r *route) isForeign(other rule) bool {
	if r.object.GetNamespace() == r.owner.Namespace {
		return false
	}
	list, _ := other["backendRefs"].([]any)
	return !slices.ContainsFunc(list, func(entry any) bool { return r.service(entry) != "" })
}

// ruleName is the name of the next rule of a managed route, which no rule has yet.
func (r *route) ruleName(managed string, added []managedRule) string {
	base := namePrefix(r.owner) + asName(managed)
	if len(base) > maxNameLength-len(".000") {
		base = base[:maxNameLength-len("-00000000.000")] + "-" + short(base)
	}
	name := base
	for n := 2; slices.ContainsFunc(added, func(m managedRule) bool { return m.rule["name"] == name }); n++ {
		name = fmt.Sprintf("%s.%d", base, n)
	}
	return name
}

// asName makes a part of a rule's name from the name of a managed route, which may have other letters.
func asName(managed string) string {
	var b strings.Builder
	for _, letter := range strings.ToLower(managed) {
		switch {
		case 'a' <= letter && letter <= 'z', '0' <= letter && letter <= '9':
			b.WriteRune(letter)
		default:
			b.WriteByte('-')
		}
	}
	if name := strings.Trim(b.String(), "-"); name != "" {
		return name
	}
	return "route"
}

// tooMany says which limit of the API server the rules would break, with the remedies: for all rules, and for the matches of one. What is added is
// called by that name.
func (r *route) tooMany(added []managedRule, name, fewerRules, fewerMatches string) string {
	rules, matches := len(r.rules)+len(r.managed)+len(added), 0
	count := func(entry any) {
		if of, ok := entry.(rule); ok {
			list, _ := of["matches"].([]any)
			matches += len(list)
		}
	}
	for _, entry := range r.rules {
		count(entry)
	}
	for _, m := range slices.Concat(r.managed, added) {
		count(m.rule)
	}
	if len(added) == 0 {
		return ""
	}
	if rules > maxRules {
		return fmt.Sprintf("with %s it would have %d rules, and the Gateway API allows %d: split the route, or %s", name, rules, maxRules, fewerRules)
	}
	if matches > maxMatches {
		return fmt.Sprintf("with %s it would have %d matches, and the Gateway API allows %d: split the route, or %s", name, matches, maxMatches, fewerRules)
	}
	for _, m := range added {
		if list := m.rule["matches"].([]any); len(list) > maxMatchesOfARule {
			return fmt.Sprintf("one of the rules would have %d matches, and the Gateway API allows %d: %s", len(list), maxMatchesOfARule, fewerMatches)
		}
	}
	return ""
}

func clone(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return maps.Clone(m)
}
