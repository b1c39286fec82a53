package istio

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sluice-delivery/sluice/internal/traffic"
)

// part is what a destination is for.
type part int

const (
	foreign part = iota
	stable
	canary
	experiment
	additional
)

// partOf tells what a destination is for, and for an experiment which one.
func (s *service) partOf(entry any) (part, traffic.Destination) {
	of, _ := entry.(map[string]any)
	destination, _ := of["destination"].(map[string]any)
	subset, _ := destination["subset"].(string)
	name := s.serviceOf(destination)
	rule := s.spec.DestinationRule
	switch {
	case name != "" && name == s.want.Canary.Service, s.subsets() && subset == rule.Canary:
		return canary, s.want.Canary
	case name != "" && name == s.want.Stable.Service, s.subsets() && subset == rule.Stable:
		return stable, s.want.Stable
	}
	for _, d := range s.experiments() {
		if d.Service == name {
			return experiment, d
		}
	}
	if s.subsets() && names(rule.Additional, subset) {
		return additional, traffic.Destination{}
	}
	return foreign, traffic.Destination{}
}

// experiments are the destinations of a running experiment that get anything, sorted by their Services.
func (s *service) experiments() []traffic.Destination {
	var all []traffic.Destination
	for _, d := range s.want.Additional {
		known := slices.ContainsFunc(all, func(o traffic.Destination) bool { return o.Service == d.Service })
		if d.Service != "" && d.Weight > 0 && !known && d.Service != s.want.Canary.Service && d.Service != s.want.Stable.Service {
			all = append(all, d)
		}
	}
	slices.SortFunc(all, func(a, b traffic.Destination) int { return strings.Compare(a.Service, b.Service) })
	return all
}

// serviceOf is the name of the Service that a destination goes to, "" if that is not one of this Rollout's. In the Rollout's own namespace the
// first label of the host tells. In another one the host must lead to the Rollout's namespace: a short name is that of a Service next to the
// VirtualService, which is none of the Rollout's.
func (s *service) serviceOf(destination map[string]any) string {
	host, _ := destination["host"].(string)
	name, rest, _ := strings.Cut(host, ".")
	if s.object.GetNamespace() == s.owner.Namespace {
		return name
	}
	if namespace, _, _ := strings.Cut(rest, "."); namespace != s.owner.Namespace {
		return ""
	}
	return name
}

// check says which version a chosen route has no destination for.
func (s *service) check(chosen []place) string {
	for _, at := range chosen {
		has := map[part]bool{}
		for _, entry := range destinations(at.route) {
			is, _ := s.partOf(entry)
			has[is] = true
		}
		rule := s.spec.DestinationRule
		for _, version := range []struct {
			part                  part
			name, service, subset string
		}{{canary, "Canary", s.want.Canary.Service, rule.Canary}, {stable, "Stable", s.want.Stable.Service, rule.Stable}} {
			what, remedy := fmt.Sprintf("%s Service '%s'", version.name, version.service), fmt.Sprintf("add a destination with host %s", s.hostOf(version.service))
			if s.subsets() {
				what, remedy = fmt.Sprintf("%s DestinationRule subset '%s'", version.name, version.subset), "add a destination with that subset"
			}
			if !has[version.part] {
				return fmt.Sprintf("Istio VirtualService has invalid %s routes. Error: %s not found in route: %s", strings.ToUpper(at.protocol), what, remedy)
			}
		}
	}
	return ""
}

// hostOf is how a VirtualService names a Service of the Rollout.
func (s *service) hostOf(name string) string {
	if s.object.GetNamespace() == s.owner.Namespace {
		return name
	}
	return name + "." + s.owner.Namespace + ".svc.cluster.local"
}

func destinations(of route) []any {
	list, _ := of["route"].([]any)
	return list
}

// weigh gives the weights of the split to the destinations of a route, adds those of experiments, and removes those that are none of the
// Rollout's, unless they have no weight: GitOps tools put such entries back, and to remove them again and again helps nobody.
func (s *service) weigh(at place) {
	list := destinations(at.route)
	kept := s.kept(list)
	rest := int32(max(0, percent-kept))
	given := map[string]bool{}
	give := func(entry any, name string, weight int32) {
		if given[name] { // a second destination for the same, which would double it
			weight = 0
		}
		given[name] = true
		setWeight(entry.(map[string]any), min(weight, rest))
		rest -= min(weight, rest)
	}
	for _, d := range s.experiments() {
		for _, entry := range list {
			if is, of := s.partOf(entry); is == experiment && of.Service == d.Service {
				give(entry, d.Service, d.Weight)
			}
		}
		if !given[d.Service] {
			added := map[string]any{"destination": map[string]any{"host": s.sibling(list, d.Service)}}
			list = append(list, added)
			give(added, d.Service, d.Weight)
		}
	}
	for _, entry := range list {
		if is, d := s.partOf(entry); is == canary {
			give(entry, d.Service, d.Weight)
		}
	}
	for _, entry := range list {
		if is, d := s.partOf(entry); is == stable {
			give(entry, d.Service, rest)
		}
	}
	at.route["route"] = slices.DeleteFunc(list, func(entry any) bool {
		is, _ := s.partOf(entry)
		of, ok := entry.(map[string]any)
		return ok && is == foreign && number(of["weight"]) != 0
	})
}

// kept is the weight of the additional subsets of a route, which stays as it is.
func (s *service) kept(list []any) (sum int64) {
	for _, entry := range list {
		if is, _ := s.partOf(entry); is == additional {
			sum += min(percent, max(0, number(entry.(map[string]any)["weight"])))
		}
	}
	return min(sum, percent)
}

// sibling is the host of another Service in the form in which a list names the stable one, which in a VirtualService of the Rollout's namespace is
// its name alone.
func (s *service) sibling(list []any, name string) string {
	if s.object.GetNamespace() == s.owner.Namespace {
		return name
	}
	for _, entry := range list {
		if is, _ := s.partOf(entry); is == stable || is == canary {
			host, _ := entry.(map[string]any)["destination"].(map[string]any)["host"].(string)
			if _, rest, dotted := strings.Cut(host, "."); dotted {
				return name + "." + rest
			}
		}
	}
	return s.hostOf(name)
}

// toStable gives the weights of the Rollout's destinations to that of the stable version, in each route that has one. Which these are the notes say:
// the spec no longer does.
func (s *service) toStable() {
	for _, list := range [][]any{s.http, s.list("tls"), s.list("tcp")} {
		for _, of := range list {
			of, _ := of.(route)
			var mine []map[string]any
			var keeps map[string]any
			total := int64(0)
			for _, entry := range destinations(of) {
				is := s.noted(entry)
				if is == foreign {
					continue
				}
				entry := entry.(map[string]any)
				mine, total = append(mine, entry), total+min(percent, max(0, number(entry["weight"])))
				if is == stable && keeps == nil {
					keeps = entry
				}
			}
			if keeps == nil {
				continue // a route of people's own, for the canary alone
			}
			for _, entry := range mine {
				setWeight(entry, 0)
			}
			setWeight(keeps, int32(min(percent, total)))
		}
	}
}

// noted tells what a destination was for when the notes were made.
func (s *service) noted(entry any) part {
	of, _ := entry.(map[string]any)
	destination, _ := of["destination"].(map[string]any)
	subset, _ := destination["subset"].(string)
	name := s.serviceOf(destination)
	switch subsets := s.mine.Subsets; {
	case len(subsets) == 2 && names(subsets[1:], subset), names(s.mine.Services, name):
		return canary
	case len(subsets) == 2 && names(subsets[:1], subset), name != "" && name == s.mine.Stable:
		return stable
	case names(s.mine.Added, name):
		return experiment
	}
	return foreign
}

// number reads a whole number. One that is not there is 0, and what is none is negative.
func number(value any) int64 {
	switch n := value.(type) {
	case int64:
		return n
	case float64:
		if n == math.Trunc(n) && math.Abs(n) < 1<<31 {
			return int64(n)
		}
		return -1
	case json.Number:
		if whole, err := n.Int64(); err == nil {
			return whole
		}
		return -1
	case nil:
		return 0
	}
	return -1
}

func setWeight(entry map[string]any, to int32) {
	if number(entry["weight"]) != int64(to) {
		entry["weight"] = int64(to)
	}
}

// Weight implements [traffic.Router].
func (r router) Weight(of traffic.Split, have traffic.Objects) (traffic.Interval, bool) {
	var all *traffic.Interval
	for _, in := range r.spec.VirtualServices {
		object := have[ref(in).Key()]
		if object == nil {
			return traffic.Interval{}, false
		}
		s := open(r, object, of)
		chosen, problem := s.choose(in)
		if problem != "" {
			return traffic.Interval{}, false
		}
		for _, at := range chosen {
			one, ok := s.shown(at)
			if !ok {
				return traffic.Interval{}, false
			}
			if all != nil {
				one = all.And(one)
			}
			all = &one
		}
	}
	if r.subsets() && have[r.destinationRule().Key()] == nil || all == nil {
		return traffic.Interval{}, false
	}
	return *all, true
}

// shown is the canary's weight in a route. Where additional subsets leave the stable version nothing, every weight from there on looks the same.
func (s *service) shown(at place) (traffic.Interval, bool) {
	sum := map[part]int64{}
	total := int64(0)
	for _, entry := range destinations(at.route) {
		of, _ := entry.(map[string]any)
		weight := number(of["weight"])
		if weight < 0 || weight > math.MaxInt32 {
			return traffic.Interval{}, false
		}
		is, _ := s.partOf(entry)
		sum[is] += weight
		total += weight
	}
	one, ok := traffic.Portion(sum[canary], total, s.want.Max)
	if ok && sum[additional] > 0 && sum[stable] == 0 {
		one.Most = s.want.Max
	}
	return one, ok
}
