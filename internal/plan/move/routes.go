package move

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/routers"
)

// releaseRetry is how often a release that the API server refused is tried again: what refused it may change without the Rollout changing.
const releaseRetry = 30 * time.Second

// releaseRoutes releases routes, and reports whether the stable version can carry what comes by them. Where it cannot, those that send to this
// Rollout's Services stay as they are.
func (m *Mover) releaseRoutes(routes []change.WriteRoute) (carried bool) {
	carried = true
	for _, route := range routes {
		route.Release, route.Independent = true, !m.sendsHere(route.From)
		switch {
		case !route.Independent && carried && !m.carriesAlone():
			carried = false
		case !route.Independent && !carried:
		case m.releaseRefused(route):
		default:
			m.draft.RouteWrites = append(m.draft.RouteWrites, route)
			m.journal.Note(change.TopicRoute, "release "+route.From.GetKind()+" "+route.From.GetName(), notNamed)
		}
		if !route.Independent && carried {
			m.draft.Tied++
		}
	}
	return carried
}

// sendsHere reports whether an object of a traffic router names a Service of this Rollout: one of the spec, or one that it has marked and not
// given back yet. Only then may requests come by it, and pods and Services wait for its release. What is noted on any other object has no
// claim to hold this Rollout: anybody may have written it.
func (m *Mover) sendsHere(o *unstructured.Unstructured) bool {
	services := map[string]bool{}
	for _, ref := range spec.Services(m.world.Rollout) {
		services[ref.Name] = true
	}
	for _, s := range m.world.UnnamedServices() {
		services[s.Name] = true
	}
	return routers.Names(o, services)
}

// carriesAlone reports whether the stable version can take what routes send to another one still, as far as it is to have pods for that.
func (m *Mover) carriesAlone() bool {
	stable := m.world.StableBeside()
	if stable == nil {
		return true
	}
	needed := min(1, m.world.Spec.Replicas)
	if c, ok := m.world.Spec.Strategy.(spec.Canary); !ok || c.Traffic != nil && c.Traffic.DynamicStableScale {
		needed = m.world.Spec.Replicas
	}
	if have := stable.ConfirmedAvailable(); have < needed {
		m.journal.Hold(Release, "the routes keep their weights", fmt.Sprintf("%d of %d pods of the stable version available", have, needed))
		return false
	}
	return true
}

// releaseRefused reports whether the API server has refused a release a moment ago. It is tried again after a while; meanwhile the rest goes on.
func (m *Mover) releaseRefused(route change.WriteRoute) bool {
	key := traffic.KeyOf(route.From)
	refusal, known := m.world.RouteRefusals[routers.FormatKey(key)]
	if !known {
		return false
	}
	object := fmt.Sprintf("%s %q", key.Kind, key.Name)
	if key.Namespace != m.world.Rollout.Namespace {
		object += " of namespace " + key.Namespace
	}
	m.draft.Unreleased = append(m.draft.Unreleased, object+": "+refusal.Message)
	again := refusal.At.Add(releaseRetry)
	if !m.world.Now.Before(again) {
		return false
	}
	m.journal.Note(change.TopicWait, "the release of "+object, refusal.Message)
	m.journal.WakeAt(again)
	return true
}
