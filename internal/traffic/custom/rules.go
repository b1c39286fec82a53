package custom

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sluice-delivery/sluice/internal/fieldpath"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

const (
	// mostRules is how many rules for header routes one object takes, mostRuleBytes how long they may be in all: they are noted in an annotation.
	mostRules     = 50
	mostRuleBytes = 64 << 10
)

// addRules adds the rules of header routes: for each rule that has destinations for both versions, and each header, a copy that leads to the
// canary. They come before all others, those of the first route first.
func (r router) addRules(o *object) *spec.Problem {
	if len(o.split.Routes) == 0 {
		return nil
	}
	problem := func(field, format string, args ...any) *spec.Problem {
		p := r.problem(field, format, args...)
		return &p
	}
	if r.spec.HeaderRules == nil {
		return problem(r.spec.Field, "the router cannot carry out setHeaderRoute without headerRoutes, and setMirrorRoute not at all: set headerRoutes, or remove these steps")
	}
	added := 0
	for _, place := range r.spec.HeaderRules.Rules.Places(o.object.Object, false) {
		list, ok := place.List()
		if !ok {
			continue
		}
		var copies []any
		for _, route := range o.split.Routes {
			header, ok := route.(traffic.HeaderRoute)
			if !ok {
				return problem(r.spec.Field, "the router cannot carry out setMirrorRoute: remove the step %q", route.RouteName())
			}
			some, err := r.copies(o, list, header)
			if err != nil {
				return problem(r.spec.HeaderRules.Field+".rule", "%s %q cannot take the managed route %q: %v", r.spec.Kind.Kind, r.spec.Name, route.RouteName(), err)
			}
			copies = append(copies, some...)
		}
		added += len(copies)
		place.Set(slices.Concat(copies, list))
	}
	text, err := json.Marshal(o.is.Rules)
	switch {
	case err != nil || len(text) > mostRuleBytes || added > mostRules:
		return problem(r.spec.HeaderRules.Field, "%s %q would get %d rules of %d bytes for header routes, and takes %d of %d: use fewer matches", r.spec.Kind.Kind, r.spec.Name, added, len(text), mostRules, mostRuleBytes)
	case added == 0:
		return problem(r.spec.HeaderRules.Field+".rules", "%s %q has no rule at %s with destinations for both Services, and so none that a header route could be a copy of: name the list of such rules",
			r.spec.Kind.Kind, r.spec.Name, r.spec.HeaderRules.Rules)
	}
	return nil
}

// copies are the rules of a header route for the rules in a list.
func (r router) copies(o *object, list []any, route traffic.HeaderRoute) ([]any, error) {
	var all []any
	for _, value := range list {
		rule, ok := value.(map[string]any)
		if !ok {
			continue
		}
		toCanary := runtime.DeepCopyJSON(rule)
		if leads, err := r.leadToCanary(o, toCanary); err != nil || !leads {
			if err != nil {
				return nil, err
			}
			continue
		}
		for _, match := range route.Match {
			fields, err := o.eval(r.spec.HeaderRules.Rule, map[string]any{"rule": rule, "header": headerOf(match), "route": route.Name})
			if err != nil {
				return nil, err
			}
			differs, ok := fields.(map[string]any)
			if !ok || len(differs) == 0 {
				return nil, fmt.Errorf("the expression has no map for header %s %s %q: have it return the fields that the rule must have to take such requests", match.Header, match.Value.Kind, match.Value.Value)
			}
			added := runtime.DeepCopyJSON(toCanary)
			for key, value := range differs {
				if value == nil {
					delete(added, key)
					continue
				}
				added[key] = value
			}
			if reflect.DeepEqual(added, toCanary) {
				return nil, errors.New("the expression changes nothing of the rule: have it add a condition")
			}
			all = append(all, o.note(r.spec.HeaderRules.Rules, added))
			if len(o.is.Rules) > mostRules {
				return all, nil // which is told by who asked
			}
		}
	}
	return all, nil
}

// note notes a rule that is added, and returns it, or the one that was there already if it is the same but for what the API server has added.
func (o *object) note(in fieldpath.Path, rule map[string]any) any {
	noted := notedRule{in.String(), rule}
	o.is.Rules = append(o.is.Rules, noted)
	for i, dropped := range o.dropped {
		if dropped.noted.In == noted.In && reflect.DeepEqual(dropped.noted.Rule, rule) {
			o.dropped = slices.Delete(o.dropped, i, i+1)
			return dropped.rule
		}
	}
	return rule
}

// leadToCanary takes the destinations of the stable version out of a rule, and reports whether it has both.
func (r router) leadToCanary(o *object, rule map[string]any) (leads bool, err error) {
	for _, w := range r.spec.Weights {
		path, ok := w.Destinations.Below(r.spec.HeaderRules.Rules)
		if !ok {
			continue
		}
		for _, place := range path.Places(rule, false) {
			list, _ := place.List()
			parts, both, err := o.parts(w, list)
			if err != nil {
				return false, err
			}
			if !both {
				continue
			}
			weighList(w.Weight, list, parts, 0, o.split.Max)
			var rest []any
			for i, entry := range list {
				if parts[i] == canary {
					rest = append(rest, entry)
				}
			}
			place.Set(rest)
			leads = true
		}
	}
	return leads, nil
}

// headerOf is a match as expressions see it.
func headerOf(m traffic.HeaderMatch) map[string]any {
	expression := m.Value.Value
	switch m.Value.Kind {
	case traffic.Exact:
		expression = "^" + regexp.QuoteMeta(m.Value.Value) + "$"
	case traffic.Prefix:
		expression = "^" + regexp.QuoteMeta(m.Value.Value) + ".*"
	case traffic.Regex:
	}
	return map[string]any{"name": m.Header, "kind": string(m.Value.Kind), "value": m.Value.Value, "regex": expression}
}

// setFields sets the fields that depend on the versions.
func (r router) setFields(o *object) *spec.Problem {
	for _, v := range r.spec.Values {
		noted := notedField{Path: v.Path.String()}
		for _, place := range v.Path.Places(o.object.Object, true) {
			variables := map[string]any{"entry": nil}
			if place.Entry != nil {
				variables["entry"] = place.Entry
			}
			value, err := o.eval(v.Value, variables)
			if err == nil && !scalar(value) {
				err = errors.New("the value is not a text, number or bool: have the expression return one")
			}
			if err != nil {
				problem := r.problem(v.Field+".value", "%s %q: %v", r.spec.Kind.Kind, r.spec.Name, err)
				return &problem
			}
			switch value {
			case nil:
				if place.Value() == nil {
					place.Remove() // and the maps that were made on the way
				}
			case "":
				place.Remove()
			default:
				if !has(place.Value(), value) {
					place.Set(value)
				}
				if !slices.Contains(noted.Values, value) {
					noted.Values = append(noted.Values, value)
				}
			}
		}
		if len(noted.Values) > 0 {
			o.is.Fields = append(o.is.Fields, noted)
		}
	}
	return nil
}
