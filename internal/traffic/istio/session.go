package istio

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sluice-delivery/sluice/internal/traffic"
)

// setCookie is the response header that tells a client which version it stays on.
const setCookie = "Set-Cookie"

// Clients without a cookie are split by weight, and the destination that serves one sets the cookie to the hash of its version. Two routes right
// before the weighted one send clients with a cookie to their version, so that these are not split again when the weights change. A cookie of any
// other version than those two fits no route. Where one version has all traffic there are no such routes: promotion and abort release everybody.

// sessionPrefix begins the names of a Rollout's session routes. Namespaces have no dots.
func sessionPrefix(o traffic.Owner) string {
	return fmt.Sprintf("sluice-session.%s.%s/", o.Namespace, o.Name)
}

// isSession reports whether an http route is the session route of any Rollout.
func isSession(entry any) bool {
	of, _ := entry.(route)
	name, _ := of["name"].(string)
	return strings.HasPrefix(name, "sluice-session.")
}

// withoutSessions are the routes that people wrote.
func withoutSessions(list []any) []any {
	return slices.DeleteFunc(slices.Clone(list), isSession)
}

// dropSessions removes this Rollout's session routes, and the cookies that its destinations set.
func (s *service) dropSessions() {
	s.http = slices.DeleteFunc(s.http, func(entry any) bool {
		of, _ := entry.(route)
		name, _ := of["name"].(string)
		return isSession(entry) && strings.HasPrefix(name, sessionPrefix(s.owner))
	})
	ours := []string{s.mine.Cookie, s.spec.Sessions.Cookie}
	for _, entry := range s.http {
		of, _ := entry.(route)
		for _, d := range destinations(of) {
			to, _ := d.(map[string]any)
			text, _ := cookieOf(to).(string)
			found := isCookie.FindStringSubmatch(text)
			if is, _ := s.partOf(d); found != nil && slices.Contains(ours, found[1]) && (is == canary || is == stable || s.noted(d) != foreign) {
				dropCookie(to)
			}
		}
	}
	s.mine.Cookie = ""
}

// isCookie fits what is set, the name of the cookie being its first part.
var isCookie = regexp.MustCompile(`^([A-Za-z0-9._-]+)=[A-Za-z0-9._-]+; Path=/; Max-Age=[0-9]+; HttpOnly; SameSite=Lax$`)

// keepSessions adds the session routes and the cookies of the chosen http routes. It says why it cannot.
func (s *service) keepSessions(chosen []place) string {
	one, whole := s.want.Canary.Weight, int32(percent)
	cookie := s.spec.Sessions.Cookie
	if cookie == "" {
		return ""
	}
	if !slices.ContainsFunc(chosen, func(p place) bool { return p.protocol == "http" }) {
		return "it has no http route, and only these keep clients on a version: remove trafficRouting.sessionAffinity, or add an http route"
	}
	if one <= 0 || one >= whole || s.want.Canary.Hash == "" || s.want.Stable.Hash == "" || s.want.Canary.Hash == s.want.Stable.Hash {
		return ""
	}
	for n, at := range chosen {
		if at.protocol != "http" {
			continue
		}
		if problem := s.keepSessionsOf(n, at.route); problem != "" {
			return problem
		}
	}
	s.mine.Cookie = cookie
	return ""
}

func (s *service) keepSessionsOf(n int, weighted route) string {
	var routes []any
	for _, version := range []struct {
		part part
		name string
		hash string
	}{{canary, "canary", s.want.Canary.Hash}, {stable, "stable", s.want.Stable.Hash}} {
		at := slices.IndexFunc(destinations(weighted), func(d any) bool {
			is, _ := s.partOf(d)
			return is == version.part
		})
		to := destinations(weighted)[at].(map[string]any) // which has been checked
		if cookieOf(to) != nil || !takesHeaders(to) {
			return fmt.Sprintf("its destination for the %s version has something else in headers.response.add: remove it, or remove trafficRouting.sessionAffinity", version.name)
		}
		matches, problem := s.withCookie(weighted, version.hash)
		if problem != "" {
			return problem
		}
		kept := runtime.DeepCopyJSON(weighted)
		only := runtime.DeepCopyJSON(to)
		only["weight"] = int64(percent)
		kept["name"], kept["match"], kept["route"] = fmt.Sprintf("%s%d-%s", sessionPrefix(s.owner), n, version.name), matches, []any{only}
		routes = append(routes, kept)
	}
	for _, d := range destinations(weighted) {
		is, to := s.partOf(d)
		if hash := to.Hash; (is == canary || is == stable) && hash != "" {
			addCookie(d.(map[string]any), fmt.Sprintf("%s=%s; Path=/; Max-Age=%d; HttpOnly; SameSite=Lax", s.spec.Sessions.Cookie, hash, s.spec.Sessions.MaxAge))
		}
	}
	at := slices.IndexFunc(s.http, func(entry any) bool {
		of, ok := entry.(route)
		return ok && same(of, weighted)
	})
	s.http = slices.Insert(s.http, at, routes...)
	return ""
}

// mostMatches is how many matches of a route are repeated for sessions.
const mostMatches = 100

// withCookie are the matches of a route for requests that have the cookie of a version.
func (s *service) withCookie(weighted route, hash string) ([]any, string) {
	value := fmt.Sprintf(`(.*;\s*)?%s=%s(;.*)?`, regexp.QuoteMeta(s.spec.Sessions.Cookie), regexp.QuoteMeta(hash))
	list, _ := weighted["match"].([]any)
	if len(list) == 0 {
		list = []any{map[string]any{}}
	}
	if len(list) > mostMatches {
		return nil, fmt.Sprintf("a route has %d matches, and sessionAffinity can repeat %d: use fewer", len(list), mostMatches)
	}
	var all []any
	for _, entry := range list {
		match, ok := runtime.DeepCopyJSONValue(entry).(map[string]any)
		if !ok {
			continue
		}
		headers, ok := match["headers"].(map[string]any)
		if !ok {
			headers = map[string]any{}
		}
		if _, taken := headers["cookie"]; taken {
			return nil, "a route matches the header cookie, which sessionAffinity has to match as well: match something else, or remove trafficRouting.sessionAffinity"
		}
		headers["cookie"] = map[string]any{"regex": value}
		match["headers"] = headers
		all = append(all, match)
	}
	return all, ""
}

// cookieOf is what a destination sets as a cookie, nil if it sets none.
func cookieOf(to map[string]any) any {
	return added(to)[setCookie]
}

// added are the response headers that a destination adds.
func added(to map[string]any) map[string]any {
	headers, _ := to["headers"].(map[string]any)
	response, _ := headers["response"].(map[string]any)
	add, _ := response["add"].(map[string]any)
	return add
}

// takesHeaders reports whether response headers can be added to those of a destination.
func takesHeaders(to map[string]any) bool {
	at := to
	for _, key := range []string{"headers", "response", "add"} {
		below, there := at[key]
		of, ok := below.(map[string]any)
		if !there {
			return true
		}
		if at = of; !ok {
			return false
		}
	}
	return true
}

func addCookie(to map[string]any, value string) {
	at := to
	for _, key := range []string{"headers", "response", "add"} {
		below, ok := at[key].(map[string]any)
		if !ok {
			below = map[string]any{}
			at[key] = below
		}
		at = below
	}
	at[setCookie] = value
}

// dropCookie removes the cookie, and what was there for it alone.
func dropCookie(to map[string]any) {
	add := added(to)
	delete(add, setCookie)
	headers, _ := to["headers"].(map[string]any)
	response, _ := headers["response"].(map[string]any)
	if len(add) == 0 {
		delete(response, "add")
	}
	if len(response) == 0 {
		delete(headers, "response")
	}
	if len(headers) == 0 {
		delete(to, "headers")
	}
}
