package move

import (
	"fmt"

	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/capacity"
	"github.com/sluice-delivery/sluice/internal/plan/target"
	"github.com/sluice-delivery/sluice/internal/plan/world"
)

// The promises of a move. Notes, `sluice explain`, the rules of the simulator's histories and docs/reliability.md use their names and sentences.
var (
	Frozen   = change.Promise{Name: "frozen", Sentence: "No pods are added or removed while spec.paused is set, or before the ReplicaSet controller has acted on the last change of a size."}
	Capacity = change.Promise{Name: "capacity", Sentence: "There are never more pods than replicas + maxSurge, and never fewer available ones than replicas - maxUnavailable."}
	Service  = change.Promise{Name: "service", Sentence: "A Service is pointed only at a version whose pods can serve all its clients, and the version that it selects keeps pods for them."}
	Weight   = change.Promise{Name: "weight", Sentence: "A version gets a share of the traffic only when its pods can carry it, and keeps the pods for the share that it has."}
	Live     = change.Promise{Name: "live", Sentence: "Pods that may have served are deleted only based on what the API server itself shows, never on a cache."}
	Delay    = change.Promise{Name: "delay", Sentence: "A version that has served keeps its pods for the delay that the spec sets."}
	Release  = change.Promise{Name: "release", Sentence: "A Service or route that the spec no longer names is released only when no client can reach a version on trial through it."}
)

// Promises are all promises of a move.
var Promises = []change.Promise{Frozen, Capacity, Service, Weight, Live, Delay, Release}

// rule is how a promise limits one kind of move, by a function of type F.
type rule[F any] struct {
	change.Promise
	// id names the rule among those of its promise.
	id    string
	apply F
	// until is what has to happen before the rule leaves what it holds back now; empty for one that says so itself, or changes what is wanted.
	until string
}

// A sizeRule takes sizes that are wanted, and leaves what keeps the promise.
type sizeRule[M any] = rule[func(M, sizes)]

// A serviceRule says what a Service waits for before it is pointed at a version, nothing if it may be pointed there now.
type serviceRule[M any] = rule[func(M, target.Selection) string]

// sizes are versions on their way to what is wanted of them.
type sizes []*size

type size struct {
	target.Size
	// to is how many pods the version gets in this pass, and was how many before the rule that is applied.
	to, was int32
	// by is the promise of the rule that changed it last, and until that rule's.
	by    change.Promise
	until string
}

func sizesOf(wanted []target.Size) sizes {
	var s sizes
	for _, one := range wanted {
		s = append(s, &size{Size: one, to: one.Pods, was: one.Pods})
	}
	return s
}

// of is the size of a version, nil if it stays as it is.
func (s sizes) of(v *world.Version) *size {
	for _, one := range s {
		if one.Version == v {
			return one
		}
	}
	return nil
}

// stay has a version keep the pods that it has.
func (s *size) stay() { s.to = s.Version.Desired() }

// shrinks reports whether the version is to have fewer pods than before.
func (s *size) shrinks() bool { return s.to < s.Version.Desired() }

// tell notes pods that do not come yet, or do not go yet.
func (s *size) tell(j *change.Journal) {
	name, has := "the new version", s.Version.Desired()
	if s.Version != nil {
		name = s.Version.Name
	}
	if s.until != "" && (has <= s.to && s.to < s.Pods || has >= s.to && s.to > s.Pods) {
		j.Hold(s.by, fmt.Sprintf("%s at %s, %d wanted", name, capacity.Pods(s.to), s.Pods), s.until)
	}
}

// resize limits sizes by rules, and writes what is left of them.
func resize[M any](m M, by scene, s sizes, rules []sizeRule[M]) {
	for _, rule := range kept(by, rules) {
		rule.apply(m, s)
		for _, one := range s {
			if one.to != one.was && (one.to < one.was) == (one.to < one.Pods) { // away from what is wanted
				one.by, one.until = rule.Promise, rule.until
			}
			one.was = one.to
		}
	}
	for _, one := range s {
		if one.Version == by.world.New {
			by.draft.ScaleNew(one.to, one.Why)
		} else {
			by.draft.Scale(one.Version, one.to, one.Why)
		}
		one.tell(by.journal)
	}
}

// mayPoint reports whether a Service may be pointed at a version now. The first rule that has it wait says why.
func mayPoint[M any](m M, by scene, s target.Selection, what string, rules []serviceRule[M]) bool {
	if s.Version != nil && by.draft.Selects(s.Service) == s.Version.Hash {
		return true
	}
	for _, rule := range kept(by, rules) {
		if missing := rule.apply(m, s); missing != "" {
			by.journal.Hold(rule.Promise, what, missing)
			return false
		}
	}
	return true
}

// frozen is [Frozen] for all sizes of a pass, and reports whether it holds.
func frozen(by scene) bool {
	why := by.draft.MayNotScale()
	if why == "" {
		return false
	}
	by.journal.Hold(Frozen, "nothing is scaled and no step ends", why)
	if by.draft.Create != nil {
		by.draft.ScaleNew(0, why)
	}
	return true
}

// Rules are the names of all rules, each as the way of splitting, the promise and the rule. [New] takes one of them to leave out, for those who want
// to see what that does.
func Rules() []string {
	var names []string
	names = appendNames(names, "ByPods", sizesByPods)
	names = appendNames(names, "ByPods", servicesByPods)
	names = appendNames(names, "ByWeight", sizesByWeight)
	names = appendNames(names, "ByWeight", stableByWeight)
	names = appendNames(names, "ByWeight", canaryByWeight)
	names = appendNames(names, "ByWeight", weights)
	names = appendNames(names, "BySwitch", sizesBySwitch)
	return appendNames(names, "BySwitch", activeBySwitch)
}

func appendNames[F any](names []string, way string, rules []rule[F]) []string {
	for _, r := range rules {
		names = append(names, way+"/"+r.Name+"/"+r.id)
	}
	return names
}
