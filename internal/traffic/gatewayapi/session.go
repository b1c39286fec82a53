package gatewayapi

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// Clients without a cookie are split by weight, and the backendRef that serves one sets the cookie to the hash of its version. Two rules for each
// weighted one send clients with a cookie to their version, so that these are not split again when the weights change. A cookie of any other
// version than those two fits no rule. Where one version has all traffic there are no such rules: promotion and abort release everybody.
//
// A rule of sessions asks for one header more than the rule that it is made from, and so comes before it wherever it stands. It stands after all
// other rules, because of rules that ask for as much the first wins: those of header routes, and those of other people.

const (
	setCookie      = "Set-Cookie"
	responseHeader = "ResponseHeaderModifier"
)

// The expression for a header Cookie that has a certain one, whether an implementation compares the whole header with it or searches in it.
const (
	beforeCookie = `^(.*;\s*)?`
	afterCookie  = `(;.*)?$`
)

// The most that the API server takes in a match, in a backendRef, and in a filter.
const (
	maxHeaders = 16
	maxFilters = 16
	maxAdded   = 16
)

// version is one of the two between which clients are split.
type version struct {
	name string
	traffic.Destination
}

// isSessionName reports whether a rule with this name behind the prefix of its Rollout is one of sessions. Those of managed routes have no such
// names: behind the route's own name they have a number.
func isSessionName(rest string) bool {
	return strings.HasPrefix(rest, "session.canary") || strings.HasPrefix(rest, "session.stable")
}

// keepSessions adds the rules and the cookies that keep clients on a version, while both versions have traffic.
func (r *route) keepSessions(p *problems, in spec.GatewayRoute, s spec.Sessions, want traffic.Split) {
	if s.Cookie == "" || in.Kind != spec.HTTPRoute || !bothServe(want) {
		return
	}
	versions := []version{{"canary", want.Canary}, {"stable", want.Stable}}
	var added []managedRule
	for _, of := range r.sources(want.Stable.Service) {
		rules, problem := r.sessionRules(of, in, s, want, versions)
		if problem != "" {
			p.add(in.Field, "%s %q cannot keep clients on a version: %s", in.Kind, in.Name, problem)
		}
		for i, one := range rules {
			if !r.nameless {
				one["name"] = sessionName(r.owner, versions[i].name, len(added)/len(versions))
			}
			added = append(added, managedRule{namePrefix(r.owner), one, true})
		}
		if len(added) > maxRules || len(p.list) > 0 { // which is reported below, or has been
			break
		}
	}
	if problem := r.tooMany(added, "two more for each weighted one", "remove trafficRouting.sessionAffinity", "use fewer matches in the rule"); problem != "" {
		p.add(in.Field, "%s %q cannot keep clients on a version: %s", in.Kind, in.Name, problem)
	}
	if len(p.list) > 0 || len(added) == 0 {
		return
	}
	for _, m := range added {
		r.mine.Sessions = append(r.mine.Sessions, fingerprint(m.rule))
	}
	r.managed = append(r.managed, added...)
	r.mine.Cookie = s.Cookie
}

// bothServe reports whether clients can be on either of two versions.
func bothServe(want traffic.Split) bool {
	canary, stable := want.Canary, want.Stable
	return canary.Weight > 0 && canary.Weight < want.Max && canary.Hash != "" && stable.Hash != "" && canary.Hash != stable.Hash && canary.Service != ""
}

// sessionName is the name of a rule of sessions for the nth weighted rule.
func sessionName(o traffic.Owner, version string, n int) string {
	name := namePrefix(o) + "session." + version
	if n > 0 {
		name = fmt.Sprintf("%s.%d", name, n+1)
	}
	return name
}

// sessionRules returns the rules that send the requests of a weighted rule to each of the versions by the cookie, none if no such request gets
// there, and has the weighted rule set the cookie. It says why it cannot.
func (r *route) sessionRules(of rule, in spec.GatewayRoute, s spec.Sessions, want traffic.Split, versions []version) ([]rule, string) {
	if problem := r.headerOfRule(of); problem != "" {
		return nil, problem
	}
	var rules []rule
	for _, v := range versions {
		matches, problem := r.withCookie(of, in, want, beforeCookie+regexp.QuoteMeta(s.Cookie+"="+v.Hash)+afterCookie)
		if problem != "" {
			return nil, problem
		}
		list, _ := of["backendRefs"].([]any)
		if at := r.find(list, v.Service); len(matches) > 0 && at >= 0 {
			out := runtime.DeepCopyJSON(of)
			delete(out, "name")
			out["matches"], out["backendRefs"] = matches, []any{toService(list[at].(map[string]any), v.Service, 1)}
			rules = append(rules, out)
		}
	}
	if len(rules) != len(versions) {
		return nil, ""
	}
	for _, v := range slices.Backward(versions) { // what is wrong with the canary's may be a copy of the stable one's
		for _, ref := range refs(of) {
			if r.service(ref) != v.Service {
				continue
			}
			if problem := addCookie(ref, cookieText(s, v.Hash)); problem != "" {
				return nil, fmt.Sprintf("the backendRef to Service %q of its rule %s %s%s", v.Service, r.nameOf(of), problem, orWithout)
			}
		}
	}
	return rules, ""
}

// withCookie are the matches of a rule for requests with a cookie that a header fits. It leaves out those whose requests get elsewhere anyway.
func (r *route) withCookie(of rule, in spec.GatewayRoute, want traffic.Split, value string) ([]any, string) {
	cookie := traffic.HeaderMatch{Header: "Cookie", Value: traffic.StringMatch{Kind: traffic.Regex, Value: value}}
	m := matcherOf(in.Kind)
	sources := r.sources(want.Stable.Service)
	var all []any
	for _, match := range matchesOf(of) {
		headers := listOf(match["headers"])
		taken := slices.IndexFunc(headers, func(h map[string]any) bool { return sameHeader(h, map[string]any{"name": cookie.Header}) })
		switch {
		case taken >= 0:
			return nil, fmt.Sprintf("its rule %s matches the header Cookie already, with %q, and sessionAffinity has to match it as well: match another header%s",
				r.nameOf(of), fmt.Sprint(headers[taken]["value"]), orWithout)
		case len(headers) >= maxHeaders:
			return nil, fmt.Sprintf("its rule %s matches %d headers, and the Gateway API allows %d, so that there is no room for the header Cookie: match fewer headers%s",
				r.nameOf(of), len(headers), maxHeaders, orWithout)
		case takesRules(in) && takenByHeader(match, want.Routes):
			continue
		}
		narrow, _ := httpMatch(match, traffic.RequestMatch{Headers: []traffic.HeaderMatch{cookie}}) // which it does not ask for yet
		theirs, some := r.otherRules(m, narrowing{of, match, narrow, false}, func(other rule) bool {
			return !slices.ContainsFunc(sources, func(source rule) bool { return same(source, other) })
		})
		switch {
		case r.compared > maxComparisons:
			return nil, "its rules and matches are too many to be compared: use fewer of them"
		case theirs:
		case some != nil:
			return nil, fmt.Sprintf("requests that fit both its rule %s and its rule %s come by the first, and with the cookie they would come by the second: have the first match a longer path, a method, or one more header%s",
				r.nameOf(some), r.nameOf(of), orWithout)
		default:
			all = append(all, narrow)
		}
	}
	return all, ""
}

// takenByHeader reports whether a header route has all requests of a match, because the match asks for its header already. Its rule then asks for
// no more headers than the weighted one does, and a rule of sessions would come before it.
func takenByHeader(match map[string]any, routes []traffic.Route) bool {
	for _, one := range routes {
		header, ok := one.(traffic.HeaderRoute)
		if !ok {
			continue
		}
		for _, condition := range header.Match {
			both, _ := httpMatch(match, traffic.RequestMatch{Headers: []traffic.HeaderMatch{condition}}) // what cannot be combined has been reported
			if both != nil && length(both["headers"]) == length(match["headers"]) {
				return true
			}
		}
	}
	return false
}

// cookieText is what the backendRef of a version sets.
func cookieText(s spec.Sessions, hash string) string {
	return fmt.Sprintf("%s=%s; Path=/; Max-Age=%d; HttpOnly; SameSite=Lax", s.Cookie, hash, s.MaxAge)
}

// isCookie fits what cookieText returns, the name of the cookie being its first part.
var isCookie = regexp.MustCompile(`^([A-Za-z0-9._-]+)=[A-Za-z0-9._-]+; Path=/; Max-Age=[0-9]+; HttpOnly; SameSite=Lax$`)

// orWithout is the remedy that always helps.
const orWithout = ", or remove trafficRouting.sessionAffinity"

// nameOf is a rule as people find it in the route.
func (r *route) nameOf(of rule) string {
	if name, _ := of["name"].(string); name != "" {
		return strconv.Quote(name)
	}
	return fmt.Sprintf("rules[%d]", slices.IndexFunc(r.list(), func(entry any) bool {
		one, ok := entry.(rule)
		return ok && same(one, of)
	}))
}

// headerOfRule says whether a rule itself has something to say about cookies that are set, which would come before or after what its backendRefs say.
func (r *route) headerOfRule(of rule) string {
	for _, filter := range listOf(of["filters"]) {
		modifier, _ := filter["responseHeaderModifier"].(map[string]any)
		if what := modifies(modifier, "set", "remove"); what != "" && filter["type"] == responseHeader {
			return fmt.Sprintf("its rule %s has a filter ResponseHeaderModifier that says %s, and by that header sessionAffinity keeps clients on a version: remove it%s",
				r.nameOf(of), what, orWithout)
		}
	}
	return ""
}

// modifies is what some lists of a filter for headers say about cookies that are set, empty if that is nothing.
func modifies(modifier map[string]any, lists ...string) string {
	for _, key := range lists {
		list, _ := modifier[key].([]any)
		for _, entry := range list {
			header, _ := entry.(map[string]any)
			name, value := fmt.Sprint(entry), ""
			if header != nil {
				name, value = fmt.Sprint(header["name"]), fmt.Sprintf(" with %q", fmt.Sprint(header["value"]))
			}
			if strings.EqualFold(name, setCookie) {
				return key + " " + name + value
			}
		}
	}
	return ""
}

// addCookie has a backendRef set a cookie, in its ResponseHeaderModifier if it has one, because it cannot have two. It says why it cannot.
func addCookie(ref map[string]any, value string) string {
	entry := map[string]any{"name": setCookie, "value": value}
	filters, ok := ref["filters"].([]any)
	if !ok && ref["filters"] != nil {
		return "has filters that are no list: correct them"
	}
	at := slices.IndexFunc(filters, isModifier)
	if at < 0 {
		if len(filters) >= maxFilters {
			return fmt.Sprintf("has %d filters, and the Gateway API allows no further one: use fewer", len(filters))
		}
		ref["filters"] = append(filters, map[string]any{"type": responseHeader, "responseHeaderModifier": map[string]any{"add": []any{entry}}})
		return ""
	}
	modifier, ok := filters[at].(map[string]any)["responseHeaderModifier"].(map[string]any)
	added, list := modifier["add"].([]any)
	switch {
	case !ok || !list && modifier["add"] != nil:
		return "has a filter ResponseHeaderModifier that says nothing: correct it"
	case modifies(modifier, "add", "set", "remove") != "":
		return fmt.Sprintf("has a filter ResponseHeaderModifier already that says %s, and sessionAffinity has to set that header: remove it", modifies(modifier, "add", "set", "remove"))
	case len(added) >= maxAdded:
		return fmt.Sprintf("adds %d response headers, and the Gateway API allows no further one: add fewer", len(added))
	}
	modifier["add"] = append(added, entry)
	return ""
}

func isModifier(filter any) bool {
	of, _ := filter.(map[string]any)
	return of["type"] == responseHeader
}

// dropSessions removes the cookies that this Rollout's backendRefs set, by what is noted and by what the spec says now, and rules of sessions that have
// lost both their names and their notes.
func (r *route) dropSessions(s spec.Sessions, want traffic.Split) {
	names := slices.DeleteFunc([]string{r.mine.Cookie, s.Cookie}, func(name string) bool { return name == "" })
	ours := func(ref any) bool {
		service := r.service(ref)
		_, noted := r.mine.Services[service]
		return service != "" && (noted || service == r.mine.Stable || service == want.Stable.Service || service == want.Canary.Service)
	}
	r.rules = slices.DeleteFunc(r.rules, func(entry any) bool {
		of, _ := entry.(rule)
		list, _ := of["backendRefs"].([]any)
		return len(list) == 1 && ours(list[0]) && of["name"] == nil && isSession(of, names)
	})
	for _, entry := range r.rules {
		of, _ := entry.(rule)
		for _, ref := range refs(of) {
			if ours(ref) {
				dropCookie(ref, names)
			}
		}
	}
	r.mine.Cookie = ""
}

// isSession reports whether all matches of a rule go by a cookie of one of these names, as those of sessions do.
func isSession(of rule, cookies []string) bool {
	return !slices.ContainsFunc(matchesOf(of), func(match map[string]any) bool {
		return !slices.ContainsFunc(listOf(match["headers"]), func(h map[string]any) bool {
			value, _ := h["value"].(string)
			return h["name"] == "Cookie" && h["type"] == regular && strings.HasSuffix(value, afterCookie) && slices.ContainsFunc(cookies, func(name string) bool {
				return strings.HasPrefix(value, beforeCookie+regexp.QuoteMeta(name+"="))
			})
		})
	})
}

// dropCookie removes the cookie of one of these names, and what was there for it alone.
func dropCookie(ref map[string]any, names []string) {
	filters, _ := ref["filters"].([]any)
	at := slices.IndexFunc(filters, isModifier)
	if at < 0 {
		return
	}
	modifier, _ := filters[at].(map[string]any)["responseHeaderModifier"].(map[string]any)
	added, _ := modifier["add"].([]any)
	kept := slices.DeleteFunc(slices.Clone(added), func(entry any) bool {
		header, _ := entry.(map[string]any)
		value, _ := header["value"].(string)
		found := isCookie.FindStringSubmatch(value)
		return header["name"] == setCookie && found != nil && slices.Contains(names, found[1])
	})
	switch {
	case len(kept) == len(added):
	case len(kept) > 0:
		modifier["add"] = kept
	case len(modifier) > 1:
		delete(modifier, "add")
	case len(filters) > 1:
		ref["filters"] = slices.Delete(filters, at, at+1)
	default:
		delete(ref, "filters")
	}
}
