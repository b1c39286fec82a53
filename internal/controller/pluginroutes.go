package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/plugin"
	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/plan"
	host "github.com/sluice-delivery/sluice/internal/plugin"
	"github.com/sluice-delivery/sluice/internal/plugin/answer"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
	router "github.com/sluice-delivery/sluice/internal/traffic/plugin"
	"github.com/sluice-delivery/sluice/internal/traffic/routers"
)

const (
	// askedAgainFirst and askedAgainLongest are when a plugin is asked again for what it could not do: twice as long each time.
	askedAgainFirst, askedAgainLongest = 5 * time.Second, 5 * time.Minute
	// verifiedAgain is when a plugin is asked again whether a weight is in force, and slowToVerify how long that may take before people are told.
	verifiedAgain, slowToVerify = 5 * time.Second, time.Minute
	// longestSplit is how long all calls for one split may take.
	longestSplit = 5 * time.Minute
	// longestReturn is how long a plugin that a Rollout no longer names is asked to return its traffic.
	longestReturn = 5 * time.Minute
)

// pluginRoutes are what plugins have been asked to do, and what they have answered. A restart forgets it, and asks again. No worker waits for a
// plugin: it is asked aside, and the pass that needs the answer is repeated until it is there.
type pluginRoutes struct {
	host  *host.Host
	clock clock.PassiveClock
	log   *slog.Logger
	start func(func())

	mu sync.Mutex
	// known are the plugins of each Rollout that its spec names, by the name of the object.
	known map[types.NamespacedName]map[string]*pluginRoute
	// noted are the Rollouts with notes about plugins, as they were seen last: when one is gone, its plugins are asked once more.
	noted map[types.NamespacedName]*v1alpha1.Rollout
	// busy has for which Rollout a plugin is being asked, by the name of the object: another one of that name waits.
	busy map[types.NamespacedName]types.UID
}

// pluginRoute is one plugin of one Rollout.
type pluginRoute struct {
	rollout types.UID
	// inForce is what the plugin has confirmed, empty while nobody knows; pending what it is being asked.
	inForce, pending string
	// refused is what it could not do, and problem why; it is asked again at retry.
	refused, problem string
	retry            time.Time
	failures         int
	// spreading is what the plugin has set and not confirmed yet, and since when.
	spreading string
	since     time.Time
	// routes: managed routes may be set.
	routes bool
	// left is since when it is asked to return the traffic.
	left time.Time
}

func (p *pluginRoutes) of(name types.NamespacedName, rollout types.UID) *pluginRoute {
	key := router.RolloutOf(name)
	if p.known[key] == nil {
		p.known[key] = map[string]*pluginRoute{}
	}
	route := p.known[key][name.Name]
	if route == nil || route.rollout != rollout {
		route = &pluginRoute{rollout: rollout, routes: true}
		p.known[key][name.Name] = route
	}
	return route
}

// object is what is known of a plugin, nil if that is nothing.
func (p *pluginRoutes) object(name types.NamespacedName, rollout types.UID) *unstructured.Unstructured {
	p.mu.Lock()
	defer p.mu.Unlock()
	route := p.of(name, rollout)
	refused := route.refused
	if !p.clock.Now().Before(route.retry) {
		refused = ""
	}
	if route.inForce == "" && refused == "" {
		return nil
	}
	return router.Object(name, route.inForce, refused, route.problem)
}

// retryAt is when one of the plugins that a Rollout names is asked again, zero if none is to be. What is known of others is forgotten: anyone may
// write one name after another into a spec.
func (p *pluginRoutes) retryAt(ro types.NamespacedName, names []types.NamespacedName) (at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, route := range p.known[ro] {
		switch {
		case !slices.Contains(names, types.NamespacedName{Namespace: ro.Namespace, Name: name}):
			delete(p.known[ro], name)
		case route.refused != "" && route.pending == "" && route.left.IsZero(): // of one that is left the engine says when
			at = earlier(at, route.retry)
		}
	}
	if len(p.known[ro]) == 0 {
		delete(p.known, ro)
	}
	return at
}

// ask has a plugin do what an object says. It is done when the object shows it; until then the pass is repeated.
func (p *pluginRoutes) ask(ro *v1alpha1.Rollout, object *unstructured.Unstructured) error {
	name := types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
	asked, ok := router.InForce(object)
	if !ok || p.host == nil {
		return fmt.Errorf("plugin %s cannot be asked here", name.Name)
	}
	written, _, _ := unstructured.NestedString(object.Object, "spec", "asked")
	p.mu.Lock()
	defer p.mu.Unlock()
	if by, busy := p.busy[name]; busy && by != ro.UID { // for one of the same name that is gone
		return beingAsked(asked.Plugin)
	}
	route := p.of(name, ro.UID)
	if !asked.Returns {
		route.left = time.Time{}
	} else {
		if route.left.IsZero() {
			route.left = p.clock.Now()
		}
		if route.refused == written && p.clock.Now().Before(route.retry) {
			return keepsTraffic{asked.Plugin, route.problem}
		}
	}
	if waits := route.spreading == written && p.clock.Now().Before(route.retry); route.pending == "" && !waits {
		route.pending, route.inForce, route.refused = written, "", ""
		sent := forPlugin(ro)
		if asked.Returns {
			sent = router.Named(sent, asked)
		}
		p.busy[name] = ro.UID
		p.start(func() { p.carryOut(name, sent, asked, written) })
	}
	return beingAsked(asked.Plugin)
}

// beingAsked is a plugin that has yet to answer what a pass counts on.
type beingAsked string

func (b beingAsked) Error() string {
	return fmt.Sprintf("plugin %q is being asked to split traffic", string(b))
}
func (beingAsked) Unwrap() error { return errBehind }

// tellAsked has the status say that a plugin takes its time to split traffic, if that is why a pass ended.
func (r *RolloutReconciler) tellAsked(ctx context.Context, seen plan.Observed, err error) error {
	var asked beingAsked
	if !errors.As(err, &asked) {
		return err
	}
	again, since := r.memory.unfinishedSince(client.ObjectKeyFromObject(seen.Rollout), seen.Now)
	return r.tellWait(ctx, seen, notInForce{
		standing: traffic.Standing{Awaited: fmt.Sprintf("plugin %q to split traffic", string(asked))},
		again:    again, quiet: since < shownAfter,
	})
}

// forPlugin is a Rollout as plugins get it.
func forPlugin(ro *v1alpha1.Rollout) v1alpha1.Rollout {
	out := ro.DeepCopy()
	out.ManagedFields, out.Unreadable = nil, nil
	return *out
}

// carryOut asks a plugin for all of a split, and notes what came of it.
func (p *pluginRoutes) carryOut(name types.NamespacedName, ro v1alpha1.Rollout, asked router.Asked, written string) {
	ctx, cancel := context.WithTimeout(context.Background(), longestSplit)
	defer cancel()
	err := errBroken
	defer func() { p.landed(name, ro.UID, asked, written, err) }()
	p.mu.Lock()
	routes := p.of(name, ro.UID).routes
	p.mu.Unlock()
	err = pluginSplit{p.host, ro, asked}.set(ctx, routes)
}

func (p *pluginRoutes) landed(name types.NamespacedName, rollout types.UID, asked router.Asked, written string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy[name] == rollout {
		delete(p.busy, name)
	}
	route := p.known[router.RolloutOf(name)][name.Name]
	if route == nil || route.rollout != rollout || route.pending != written {
		return
	}
	route.pending = ""
	route.routes = route.routes || len(asked.Headers)+len(asked.Mirrors) > 0
	if err == nil {
		route.inForce, route.refused, route.problem, route.failures, route.retry, route.spreading = written, "", "", 0, time.Time{}, ""
		route.routes = len(asked.Headers)+len(asked.Mirrors) > 0
		return
	}
	if errors.Is(err, errSpreading) && p.spreads(route, written) {
		return
	}
	problem := answer.Problem(err)
	route.refused, route.problem = written, problem
	route.retry = p.clock.Now().Add(min(askedAgainFirst<<min(route.failures, 20), askedAgainLongest))
	route.failures++
	p.log.Warn("a plugin could not split traffic; retrying", "rollout", name.String(), "weight", asked.Weight, "error", problem)
}

// spreads notes that a weight has been set and is not in force yet. It reports false if that takes so long that it is a problem.
func (p *pluginRoutes) spreads(route *pluginRoute, written string) bool {
	now := p.clock.Now()
	if route.spreading != written {
		route.spreading, route.since = written, now
	}
	route.retry = now.Add(verifiedAgain)
	return now.Sub(route.since) < slowToVerify
}

// forget drops what is known of a Rollout that is gone.
func (p *pluginRoutes) forget(rollout types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.known, rollout)
	delete(p.noted, rollout)
}

// errSpreading: what a plugin has set takes its time.
var errSpreading = errors.New("what it has set is not in force yet")

// pluginSplit is one split that a plugin is asked for.
type pluginSplit struct {
	host  *host.Host
	ro    v1alpha1.Rollout
	asked router.Asked
}

// set asks for what must go first, then for the versions and the weights, then for what leads to the canary, and then whether it is in force.
func (s pluginSplit) set(ctx context.Context, routes bool) error {
	if routes && len(s.asked.Managed) > 0 || s.asked.Returns {
		if err := s.do(ctx, "RemoveManagedRoutes", "remove managed routes", plugin.RemoveManagedRoutesArgs{Rollout: s.ro}); err != nil {
			return err
		}
	}
	err := s.do(ctx, "UpdateHash", "update hash", plugin.UpdateHashArgs{
		Rollout: s.ro, CanaryHash: s.asked.CanaryHash, StableHash: s.asked.StableHash, AdditionalDestinations: s.asked.Additional,
	})
	if err != nil {
		return err
	}
	weight := plugin.SetWeightAndVerifyWeightArgs{Rollout: s.ro, DesiredWeight: s.asked.Weight, AdditionalDestinations: s.asked.Additional}
	if err := s.do(ctx, "SetWeight", "set weight", weight); err != nil {
		return err
	}
	for _, header := range s.asked.Headers {
		if err := s.do(ctx, "SetHeaderRoute", "set header route", plugin.SetHeaderArgs{Rollout: s.ro, SetHeaderRoute: header}); err != nil {
			return err
		}
	}
	for _, mirror := range s.asked.Mirrors {
		if err := s.do(ctx, "SetMirrorRoute", "set mirror route", plugin.SetMirrorArgs{Rollout: s.ro, SetMirrorRoute: mirror}); err != nil {
			return err
		}
	}
	return s.verify(ctx, weight)
}

// verify asks whether a weight is in force. A plugin that has not implemented that is believed.
func (s pluginSplit) verify(ctx context.Context, weight plugin.SetWeightAndVerifyWeightArgs) error {
	said, err := host.Ask[plugin.VerifyWeightResponse](ctx, s.host, s.question("VerifyWeight", weight))
	switch {
	case err != nil:
		return fmt.Errorf("failed to verify weight via plugin: %w", err)
	case said.Err.ErrorString != "":
		return fmt.Errorf("failed to verify weight via plugin: %w", said.Err)
	case said.Verified == plugin.IsVerified, said.Verified == plugin.NotImplemented:
		return nil
	}
	return fmt.Errorf("plugin %q says that %w: the weight %d", s.asked.Plugin, errSpreading, s.asked.Weight)
}

func (s pluginSplit) do(ctx context.Context, method, what string, args any) error {
	failed, err := host.Ask[plugin.RpcError](ctx, s.host, s.question(method, args))
	switch {
	case err != nil:
		return fmt.Errorf("failed to %s via plugin: %w", what, err)
	case failed.ErrorString != "":
		return fmt.Errorf("failed to %s via plugin: %w", what, failed)
	}
	return nil
}

func (s pluginSplit) question(method string, args any) host.Question {
	return host.Question{ID: host.ID{Kind: plugin.TrafficRouter, Name: s.asked.Plugin}, Tenant: s.ro.Namespace, Method: method, Args: args}
}

// preferBinary has the binary of the Gateway API plugin split traffic where the ConfigMap wants that. An update that the built-in router has begun
// it also finishes: as long as its notes are in a route, two would write to it.
func (r *RolloutReconciler) preferBinary(seen *plan.Observed) error {
	canary := seen.Rollout.Spec.Strategy.Canary
	if r.plugins.host == nil || canary == nil || canary.TrafficRouting == nil || canary.TrafficRouting.Plugins[v1alpha1.GatewayAPIPluginName] == nil {
		return nil
	}
	prefers, known := r.plugins.host.PrefersBinary(v1alpha1.GatewayAPIPluginName)
	switch {
	case !known:
		return fmt.Errorf("%w: the ConfigMap %s is being read", errBehind, v1alpha1.ConfigMapName)
	case !prefers:
		return nil
	}
	for _, object := range seen.Routes {
		if slices.Contains(routers.Owners(object, seen.Policy), client.ObjectKeyFromObject(seen.Rollout)) {
			return nil
		}
	}
	seen.Policy.GatewayAPIBinary = true
	for _, ref := range routers.RefsWith(seen.Rollout, seen.Policy) {
		if ref.GroupVersionKind == router.Kind {
			r.addPlugin(seen.Routes, ref, seen.Rollout)
		}
	}
	return nil
}

// pluginsOf are the objects of a Rollout's plugins.
func pluginsOf(ro *v1alpha1.Rollout, policy spec.Policy) []types.NamespacedName {
	var names []types.NamespacedName
	for _, ref := range routers.RefsWith(ro, policy) {
		if ref.GroupVersionKind == router.Kind {
			names = append(names, ref.NamespacedName)
		}
	}
	return names
}
