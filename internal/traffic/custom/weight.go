package custom

import (
	"github.com/sluice-delivery/sluice/internal/fieldpath"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// part is what a destination is to the Rollout.
type part int

const (
	neither part = iota
	stable
	canary
)

// parts are what the entries of a list are to the Rollout; it reports whether both versions have a destination.
func (o *object) parts(w spec.CustomWeights, list []any) (all []part, both bool, err error) {
	all = make([]part, len(list))
	var found [canary + 1]bool
	for i, value := range list {
		entry, ok := value.(map[string]any)
		if !ok {
			continue
		}
		name, err := o.eval(w.Service, map[string]any{"entry": entry})
		if err != nil {
			return nil, false, err
		}
		switch service, _ := name.(string); service {
		case "":
		case o.split.Stable.Service:
			all[i] = stable
		case o.split.Canary.Service:
			all[i] = canary
		}
		found[all[i]] = true
	}
	return all, found[stable] && found[canary], nil
}

// weigh writes the weights of the split into one of the places that have some, and returns into how many lists.
func (r router) weigh(o *object, w spec.CustomWeights) (places int, bad *spec.Problem) {
	if len(w.Destinations) == 0 {
		return 1, r.weighFields(o, w)
	}
	for _, place := range w.Destinations.Places(o.object.Object, false) {
		list, ok := place.List()
		if !ok {
			continue
		}
		parts, both, err := o.parts(w, list)
		if err != nil {
			problem := r.problem(w.Field+".service", "%s %q: %v", r.spec.Kind.Kind, r.spec.Name, err)
			return 0, &problem
		}
		if !both {
			continue
		}
		if !weighList(w.Weight, list, parts, o.split.Stable.Weight, o.split.Canary.Weight) {
			problem := r.problem(w.Field+".weight", "%s %q has something at %s of a destination that is not a number: remove it, or name the field that has the weight", r.spec.Kind.Kind, r.spec.Name, w.Weight)
			return 0, &problem
		}
		o.noteList(w, list, parts)
		places++
	}
	return places, nil
}

// weighList gives the first entry of each version its weight, and further ones none. It reports false if one can have no weight.
func weighList(path fieldpath.Path, list []any, parts []part, ofStable, ofCanary int32) bool {
	weights := map[part]int64{stable: int64(ofStable), canary: int64(ofCanary)}
	for i, value := range list {
		if parts[i] == neither {
			continue
		}
		if !setNumber(path.Places(value.(map[string]any), true), weights[parts[i]]) {
			return false
		}
		weights[parts[i]] = 0
	}
	return true
}

func (r router) weighFields(o *object, w spec.CustomWeights) *spec.Problem {
	for _, field := range []struct {
		path   fieldpath.Path
		weight int32
		key    string
	}{{w.Canary, o.split.Canary.Weight, ".canaryWeight"}, {w.Stable, o.split.Stable.Weight, ".stableWeight"}} {
		if len(field.path) > 0 && !setNumber(field.path.Places(o.object.Object, true), int64(field.weight)) {
			problem := r.problem(w.Field+field.key, "%s %q has something at %s that is not a number: name the field that has the weight", r.spec.Kind.Kind, r.spec.Name, field.path)
			return &problem
		}
	}
	n := notedWeights{OfCanary: w.Canary.String()}
	if len(w.Stable) > 0 {
		n.OfStable = w.Stable.String()
	}
	if len(w.Canary) > 0 {
		o.noteWeights(n)
	}
	return nil
}

// setNumber sets a number where there is another one, or nothing.
func setNumber(places []fieldpath.Place, to int64) bool {
	for _, place := range places {
		switch number, ok := traffic.Number(place.Value()); {
		case ok && number == to:
		case ok, place.Value() == nil, isFraction(place.Value()):
			place.Set(to)
		default:
			return false
		}
	}
	return len(places) > 0
}

func isFraction(value any) bool {
	_, ok := value.(float64)
	return ok
}

// Weight implements [traffic.Router].
func (r router) Weight(of traffic.Split, have traffic.Objects) (traffic.Interval, bool) {
	before := have[r.ref().Key()]
	if before == nil {
		return traffic.Interval{}, false
	}
	o := open(r.owner, before)
	o.split = of
	o.dropRules()
	var shown []traffic.Interval
	for _, w := range r.spec.Weights {
		some, ok := o.shown(w)
		if !ok {
			return traffic.Interval{}, false
		}
		shown = append(shown, some...)
	}
	return traffic.AndAll(shown)
}

// shown are the canary's weights in one of the places that have some. It reports false if there is none, or one that cannot be read.
func (o *object) shown(w spec.CustomWeights) ([]traffic.Interval, bool) {
	if len(w.Destinations) == 0 {
		one, ok := o.shownByFields(w)
		return []traffic.Interval{one}, ok
	}
	var all []traffic.Interval
	for _, place := range w.Destinations.Places(o.object.Object, false) {
		list, ok := place.List()
		if !ok {
			continue
		}
		parts, both, err := o.parts(w, list)
		if err != nil {
			return nil, false
		}
		if !both {
			continue
		}
		sums := map[part]int64{}
		for i, value := range list {
			if parts[i] == neither {
				continue
			}
			weight, ok := number(w.Weight, value.(map[string]any))
			if !ok {
				return nil, false
			}
			sums[parts[i]] += weight
		}
		one, ok := traffic.Portion(sums[canary], sums[stable]+sums[canary], o.split.Max)
		if !ok {
			return nil, false
		}
		all = append(all, one)
	}
	return all, len(all) > 0
}

func (o *object) shownByFields(w spec.CustomWeights) (traffic.Interval, bool) {
	ofCanary, ok := number(w.Canary, o.object.Object)
	if !ok {
		return traffic.Interval{}, false
	}
	if len(w.Stable) == 0 {
		return traffic.Portion(ofCanary, int64(o.split.Max), o.split.Max)
	}
	ofStable, ok := number(w.Stable, o.object.Object)
	if !ok {
		return traffic.Interval{}, false
	}
	return traffic.Portion(ofCanary, ofStable+ofCanary, o.split.Max)
}

// mostWeight is more than anyone gives a destination, so that sums do not overflow.
const mostWeight = 1 << 31

func number(path fieldpath.Path, in map[string]any) (int64, bool) {
	for _, place := range path.Places(in, false) {
		weight, ok := traffic.Number(place.Value())
		return weight, ok && weight >= 0 && weight <= mostWeight
	}
	return 0, false
}
