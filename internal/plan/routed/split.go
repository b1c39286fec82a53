package routed

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan/draft"
	"github.com/sluice-delivery/sluice/internal/plan/judge"
	"github.com/sluice-delivery/sluice/internal/plan/progress"
	"github.com/sluice-delivery/sluice/internal/plan/world"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/routers"
)

// Split is what the routers do as far as they show it, and what they are to do.
type Split struct {
	world   *world.World
	update  *progress.Progress
	draft   *draft.Draft
	judge   *judge.Judge
	journal *change.Journal

	want    *Want
	canary  spec.Canary
	Routers []traffic.Router
	// stableService and canaryService are the Services by the part that they play now.
	StableService, CanaryService spec.Reference
	// Now is the weight of the canary Service: as the status has it, or as routers are known to have it that are elsewhere.
	Now int32
	// experiments are the shares that an experiment's templates should get; additional are those of them that routers may be given.
	experiments, additional []traffic.Destination
	// InForce: before this pass every router was seen to carry out that weight. Only then is it known who carries what.
	InForce bool
	// Next is the split to come to in this pass.
	Next traffic.Split
}

func newSplit(t *Want, d *draft.Draft, judge *judge.Judge, j *change.Journal) *Split {
	return &Split{
		world: t.world, update: t.update, draft: d, judge: judge, journal: j, want: t, canary: t.canary,
		Routers: routers.For(t.world.RouteOwner(), t.canary.Traffic.Routers, t.world.Policy),
	}
}

// See reads the split that is in force.
func (r *Split) See() {
	if r.canary.PingPong && r.update.Is.Canary.StablePingPong == "" { // pingPong was set behind the first promotion: ping begins
		r.update.Is.Canary.StablePingPong = v1alpha1.Ping
	}
	r.StableService, r.CanaryService = r.servicesByPart()
	if replaced, ok := r.replacedCanaryService(); ok {
		named := r.CanaryService
		r.CanaryService, r.draft.Carrying = replaced, replaced.Name
		if _, problems := r.render(r.Of(0)); len(problems) > 0 { // someone removed it from a route
			r.CanaryService, r.draft.Carrying = named, ""
		}
	}
	r.seeWeight()
	r.experiments = r.experimentDestinations()
	r.additional = r.named(r.experiments)
}

// servicesByPart are the Services as they serve now: with pingPong the status remembers whose turn it is.
func (r *Split) servicesByPart() (stable, canary spec.Reference) {
	if r.canary.PingPong && r.update.Is.Canary.StablePingPong != v1alpha1.Ping {
		return r.canary.CanaryService, r.canary.StableService
	}
	return r.canary.StableService, r.canary.CanaryService
}

// replacedCanaryService is the Service that the spec named before, while routes send to it and its version is not the one of an update, which
// could take its traffic over. Where the number of pods is limited the stable version cannot have them all at once: it gets the traffic by that
// Service's weight, as the two make room for each other, and the Service with the new name plays its part after that.
func (r *Split) replacedCanaryService() (spec.Reference, bool) {
	w := r.update.Was.Canary.Weights
	if !r.canary.Traffic.EnforceMaxSurge || r.canary.PingPong || w == nil || w.Canary.Weight == 0 {
		return spec.Reference{}, false
	}
	name := w.Canary.ServiceName
	if !slices.ContainsFunc(r.world.UnnamedServices(), func(s *corev1.Service) bool { return s.Name == name }) {
		return spec.Reference{}, false
	}
	v := r.world.Find(r.draft.Selects(name))
	superseded := r.update.State() == progress.Settled || r.update.State() == progress.Aborted || v != r.world.New
	return spec.Reference{Field: r.canary.CanaryService.Field, Name: name}, superseded && v != r.want.Stable() && v.Counts().Serving() > 0
}

// Of is the whole split with a weight for the canary.
func (r *Split) Of(weight int32) traffic.Split {
	s := traffic.Split{
		Max:     r.canary.MaxWeight,
		Canary:  traffic.Destination{Service: r.CanaryService.Name, Hash: r.draft.Selects(r.CanaryService.Name), Weight: weight},
		Stable:  traffic.Destination{Service: r.StableService.Name, Hash: r.draft.Selects(r.StableService.Name), Weight: r.canary.MaxWeight - weight},
		Managed: r.canary.Traffic.ManagedRoutes,
		Routes:  r.Routes(),
	}
	for _, d := range r.additional {
		if d.Weight <= s.Stable.Weight { // what they get is taken from the stable version, as far as that has it
			s.Stable.Weight -= d.Weight
			s.Additional = append(s.Additional, d)
		}
	}
	s.InProgress = weight > 0 || len(r.additional) > 0 || len(s.Routes) > 0
	return s
}

// Stay leaves the split as it is, and says what is wrong with the objects of the routers.
func (r *Split) Stay() {
	r.Next = r.Of(r.Now)
	_, problems := r.render(r.Next)
	r.update.Complain(problems)
}

// rendered is what one router makes of a split.
type rendered struct {
	router       traffic.Router
	have, should traffic.Objects
}

func (r *Split) render(s traffic.Split) ([]rendered, []spec.Problem) {
	var out []rendered
	var problems []spec.Problem
	for _, router := range r.Routers {
		have := r.objectsOf(router)
		should, troubles := router.Render(s, have)
		problems = append(problems, troubles...)
		out = append(out, rendered{router, have, should})
	}
	return out, problems
}

// objectsOf are the objects of a router, as far as they exist.
func (r *Split) objectsOf(router traffic.Router) traffic.Objects {
	have := traffic.Objects{}
	for _, ref := range router.Refs() {
		if o, ok := r.world.Routes[ref.Key()]; ok {
			have[ref.Key()] = o
		}
	}
	return have
}

// carriedOut reports whether every router can carry out a split, and has.
func (r *Split) carriedOut(s traffic.Split) bool {
	all, problems := r.render(s)
	return len(problems) == 0 && !slices.ContainsFunc(all, func(one rendered) bool { return len(one.changes(nil)) > 0 })
}

// changes are the writes that lead from what is to what should be, in a stable order, but for objects with problems.
func (d rendered) changes(problems []spec.Problem) []change.Change {
	var changes []change.Change
	for _, ref := range d.router.Refs() {
		if slices.ContainsFunc(problems, func(p spec.Problem) bool { return p.Field == ref.Field }) {
			continue
		}
		have, should := d.have[ref.Key()], d.should[ref.Key()]
		if have == nil && should == nil || have != nil && should != nil && equality.Semantic.DeepEqual(have.Object, should.Object) {
			continue
		}
		changes = append(changes, change.WriteRoute{From: have, To: should})
	}
	return changes
}

// Route sets the split that this reconcile decided on, and records it. An object that is missing or invalid is not written. The others are
// written anyway, but the record stays as it was: it holds only weights that are in force everywhere.
func (r *Split) Route(weight int32, reason, goal string) {
	r.Next = r.Of(weight)
	all, problems := r.render(r.Next)
	r.update.Complain(problems)
	if !r.draft.IsRecorded(r.Routers) {
		r.journal.Note(change.TopicWait, "the routes of other namespaces", "it is recorded first which these are")
		return
	}
	if r.draft.Held {
		return
	}
	for _, one := range all {
		r.draft.RouteWrites = append(r.draft.RouteWrites, one.changes(problems)...)
	}
	if len(problems) > 0 {
		return
	}
	r.lookAtExperiment()
	r.tellAdditional()
	if weight != r.Now {
		r.journal.Event(v1alpha1.EventTrafficWeightUpdated, "Traffic weight updated from %d to %d", r.Now, weight)
		r.journal.Note(change.TopicRoute, fmt.Sprintf("send %s to the canary", r.want.PortionText(weight)), reason)
	} else if len(r.draft.RouteWrites) > 0 && slices.Equal(r.Next.Additional, r.recordedAdditional()) {
		text, why := r.whatDiffers(weight, goal)
		r.journal.Note(change.TopicRoute, text, why)
	}
	r.update.Is.Canary.Weights = &v1alpha1.TrafficWeights{Canary: recordOf(r.Next.Canary), Stable: recordOf(r.Next.Stable)}
	for _, d := range r.experiments {
		if !slices.Contains(r.Next.Additional, d) {
			d.Weight = 0
		}
		r.update.Is.Canary.Weights.Additional = append(r.update.Is.Canary.Weights.Additional, recordOf(d))
	}
}

// whatDiffers is what writes to routers are for that leave the canary's weight as it is.
func (r *Split) whatDiffers(weight int32, goal string) (text, why string) {
	name, set, ok := r.routeStep()
	switch {
	case ok && set:
		return "set the managed route " + name, goal
	case ok:
		return "remove the managed route " + name, goal
	}
	return fmt.Sprintf("bring the routers in line, with %s for the canary", r.want.PortionText(weight)), "their weights, routes or labels differed"
}

// routeStep is the managed route that the current step sets or removes, if it is such a step.
func (r *Split) routeStep() (name string, set, ok bool) {
	if r.update.State() != progress.Updating || r.update.At() == r.world.StepCount() || !r.CanServe() {
		return "", false, false
	}
	name, route, ok := traffic.RouteOf(r.canary.Steps[r.update.At()])
	return name, route != nil, ok
}

func recordOf(d traffic.Destination) v1alpha1.WeightDestination {
	return v1alpha1.WeightDestination{Weight: d.Weight, ServiceName: d.Service, PodTemplateHash: d.Hash}
}

// Routes are the managed routes that the steps so far have set and not removed again. They lead to the canary, so they are there
// only while it has pods that the Service selects.
func (r *Split) Routes() []traffic.Route {
	if r.update.State() != progress.Updating || !r.CanServe() || r.want.Aim() == 0 && r.want.Replicas() > 0 { // where the pods go, these go first
		return nil
	}
	set := map[string]traffic.Route{}
	for i := int32(0); i <= r.update.At() && i < r.world.StepCount(); i++ {
		if name, route, ok := traffic.RouteOf(r.canary.Steps[i]); ok {
			set[name] = route
		}
	}
	var routes []traffic.Route
	for _, name := range r.canary.Traffic.ManagedRoutes {
		if route := set[name]; route != nil {
			routes = append(routes, route)
		}
	}
	return routes
}

// CanServe reports whether requests that are sent to the canary Service reach the new version.
func (r *Split) CanServe() bool {
	return r.world.New.Counts().Available > 0 && r.draft.Selects(r.CanaryService.Name) == r.world.New.Hash
}

// ServedCanary is the version that the canary Service sends to, nil if it is none that is known.
func (r *Split) ServedCanary() *world.Version {
	return r.world.Find(r.draft.Selects(r.CanaryService.Name))
}
