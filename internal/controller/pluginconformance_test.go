package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	host "github.com/sluice-delivery/sluice/internal/plugin"
	"github.com/sluice-delivery/sluice/internal/plugin/plugintest"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/conformance"
	"github.com/sluice-delivery/sluice/internal/traffic/conformance/subjects"
	router "github.com/sluice-delivery/sluice/internal/traffic/plugin"
)

// proxied is where a plugin sends requests, as it was asked to.
type proxied struct {
	mu      sync.Mutex
	weights map[string]int64
	routes  map[string]bool
}

// sends is what goes where, and by which routes.
func (p *proxied) sends() (weights map[string]int64, routes []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.weights), slices.Sorted(maps.Keys(p.routes))
}

func (p *proxied) answer(q plugintest.Question) plugintest.Answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch q.Method {
	case "RemoveManagedRoutes":
		clear(p.routes)
	case "SetHeaderRoute", "SetMirrorRoute":
		p.routes[q.Route] = true
	case "SetWeight":
		rest := q.Max - q.Weight
		clear(p.weights)
		p.weights[conformance.Canary] = int64(q.Weight)
		for _, d := range q.Additional {
			p.weights[d.ServiceName] = int64(d.Weight)
			rest -= d.Weight
		}
		p.weights[conformance.Stable] = int64(rest)
	}
	return plugintest.Answer{Verified: 1}
}

// asking is a world in which to write an object is to have the controller ask the plugin, in a process of its own.
type asking struct {
	plugins *pluginRoutes
	rollout *v1alpha1.Rollout
	calls   *sync.WaitGroup
}

// Have implements [conformance.World].
func (a asking) Have(_ testing.TB, refs []traffic.Ref) traffic.Objects {
	have := traffic.Objects{}
	for _, ref := range refs {
		if object := a.plugins.object(ref.NamespacedName, a.rollout.UID); object != nil {
			have[ref.Key()] = object
		}
	}
	return have
}

// Apply implements [conformance.World]. What is deleted is forgotten, as by a restart.
func (a asking) Apply(t testing.TB, before, after traffic.Objects) {
	for key := range before {
		if after[key] == nil {
			a.plugins.forget(router.RolloutOf(key.NamespacedName))
		}
	}
	for key, object := range after {
		if before[key] == object {
			continue
		}
		asked, ok := router.InForce(object)
		if !ok {
			t.Fatalf("nothing is asked by %v", object)
		}
		a.rollout.Spec.Strategy.Canary.TrafficRouting.MaxTrafficWeight = &asked.Max
		if err := a.plugins.ask(a.rollout, object); !errors.Is(err, errBehind) {
			t.Fatalf("asked: %v", err)
		}
		a.calls.Wait()
	}
}

// TestPluginRouterConforms: a plugin is one more router of the suite, by the controller's calls, the real handshake, and a real process.
func TestPluginRouterConforms(t *testing.T) {
	dir, err := plugintest.Samples()
	if err != nil {
		t.Fatal(err)
	}
	const name = "test/scripted"
	var now atomic.Pointer[proxied]
	script := plugintest.NewScript(t, func(q plugintest.Question) plugintest.Answer { return now.Load().answer(q) })
	plugins := host.NewHost(t.Context(), host.Settings{
		Clock: clock.RealClock{}, Log: slog.New(slog.DiscardHandler), Dir: t.TempDir(), Env: os.Getenv,
		ReadConfig: func(context.Context) (map[string]string, error) {
			return map[string]string{"trafficRouterPlugins": fmt.Sprintf("[{name: %s, location: 'file://%s/scripted', args: [%q]}]", name, dir, script.URL)}, nil
		},
	})
	t.Cleanup(plugins.Close)
	owner := subjects.Rollout("shop")
	world := func(t testing.TB) conformance.World {
		now.Store(&proxied{weights: map[string]int64{}, routes: map[string]bool{}})
		ro := &v1alpha1.Rollout{}
		ro.Namespace, ro.Name, ro.UID = owner.Namespace, owner.Name, owner.UID
		ro.Spec.Strategy.Canary = &v1alpha1.CanaryStrategy{TrafficRouting: &v1alpha1.RolloutTrafficRouting{}}
		calls := &sync.WaitGroup{}
		return asking{calls: calls, rollout: ro, plugins: &pluginRoutes{
			host: plugins, clock: clock.RealClock{}, log: slog.New(slog.NewTextHandler(t.Output(), nil)), known: map[types.NamespacedName]map[string]*pluginRoute{}, busy: map[types.NamespacedName]types.UID{}, start: calls.Go,
		}}
	}
	weights := func(objects traffic.Objects) []map[string]int64 {
		sent, set := now.Load().sends()
		for _, o := range objects {
			asked, _ := router.InForce(o)
			var routes []string
			for _, h := range asked.Headers {
				routes = append(routes, h.Name)
			}
			for _, m := range asked.Mirrors {
				routes = append(routes, m.Name)
			}
			slices.Sort(routes)
			if !slices.Equal(set, routes) {
				t.Errorf("the plugin has set the routes %q, want %q", set, routes)
			}
		}
		return []map[string]int64{sent}
	}
	conformance.Run(t, conformance.Subject{
		Router: router.New(owner, spec.Plugin{Field: "spec.strategy.canary.trafficRouting.plugins." + name, Name: name}, spec.Policy{}),
		World:  world, Weights: weights, Bare: func(o *unstructured.Unstructured) *unstructured.Unstructured { return o },
		MakesRoute: true, Own: true, Splits: 30,
	})
}
