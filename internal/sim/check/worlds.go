package check

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/sim"
)

// World is a small world: a Rollout in it, and what may happen there, each so many times in one history.
type World struct {
	// Name is a word, Text what the world is for.
	Name, Text string
	Replicas   int32
	// Strategy is that of the Rollout, and Spec what its spec has besides, in JSON.
	Strategy, Spec string
	// Services and Routes are the names of what is there before the Rollout, Templates those of AnalysisTemplates.
	Services, Templates []string
	Routes              []string
	// Routed: canaries have Services or routers.
	Routed bool
	// Moves are what people and fate may do, at most 16; Total how many of them all together happen in one history.
	Moves []Move
	Total uint8
	// Stale is how many passes see old objects, at most Lag writes of each kind behind; Crashes how many end in the middle; Delays how often a
	// deadline comes before what is due.
	Stale, Crashes, Delays uint8
	Lag                    int
	// Fresh worlds begin with the Rollout's first deployment, others with a Rollout that is Healthy.
	Fresh bool
	// Small worlds are searched by every run of the tests.
	Small bool
}

// Move is something that may happen.
type Move struct {
	Name string
	// More is how often it may happen after the first time.
	More uint8
	// Can reports whether it makes sense now; nil for always.
	Can func(*sim.World) bool
	Do  func(*sim.World)
	// Approves: whoever does it is content with the version that is being updated to.
	Approves bool
}

// Furnish puts into the world what the Rollout names.
func (w *World) Furnish(in *sim.World) {
	for _, name := range w.Services {
		in.CreateService(name)
	}
	for _, name := range w.Templates {
		in.CreateTemplate(name)
	}
	for _, kind := range w.Routes {
		if kind == "HTTPRoute" {
			in.PutRoute(sim.HTTPRoute("web", w.Services[0]))
		} else {
			in.PutRoute(sim.Ingress("web", w.Services[0]))
		}
	}
}

func (w *World) configure(ro *v1alpha1.Rollout) {
	ro.Spec.Strategy = v1alpha1.RolloutStrategy{}
	read := func(text string, into any) {
		if text == "" {
			return
		}
		if err := json.Unmarshal([]byte(text), into); err != nil {
			panic(fmt.Sprintf("world %s: %v", w.Name, err))
		}
	}
	read(w.Strategy, &ro.Spec.Strategy)
	read(w.Spec, &ro.Spec)
}

// twice lets a move happen twice in one history.
func twice(m Move) Move {
	m.More = 1
	return m
}

func image(name string) Move {
	return Move{
		Name: "new image " + name,
		Can:  func(w *sim.World) bool { return w.Rollout().Spec.Template.Spec.Containers[0].Image != name },
		Do:   func(w *sim.World) { w.SetImage(name) },
	}
}

func updating(w *sim.World) bool {
	s := w.Rollout().Status
	return s.StableRS != "" && s.StableRS != s.CurrentPodHash
}

func abort() Move {
	return Move{Name: "abort", Can: func(w *sim.World) bool { return updating(w) && !w.Rollout().Status.Abort }, Do: (*sim.World).Abort}
}

func retry() Move {
	return Move{Name: "retry", Can: func(w *sim.World) bool { return w.Rollout().Status.Abort }, Do: (*sim.World).Retry}
}

func promote() Move {
	return Move{
		Name: "promote", Do: (*sim.World).Promote, Approves: true,
		Can: func(w *sim.World) bool { return len(w.Rollout().Status.PauseConditions) > 0 },
	}
}

func promoteFull() Move {
	return Move{Name: "promote full", Can: updating, Do: (*sim.World).PromoteFull, Approves: true}
}

func scale(n int32) Move {
	return Move{
		Name: fmt.Sprintf("scale to %d", n), Do: func(w *sim.World) { w.Scale(n) },
		Can: func(w *sim.World) bool { return *w.Rollout().Spec.Replicas != n },
	}
}

func hold() Move {
	return Move{Name: "spec.paused", Can: func(w *sim.World) bool { return !w.Rollout().Spec.Paused }, Do: func(w *sim.World) { w.Pause(true) }}
}

func resume() Move {
	return Move{Name: "no spec.paused", Can: func(w *sim.World) bool { return w.Rollout().Spec.Paused }, Do: func(w *sim.World) { w.Pause(false) }}
}

func has(w *sim.World, image string) bool {
	return slices.ContainsFunc(w.Versions(), func(v sim.Version) bool { return v.Image == image })
}

func kill(image string) Move {
	return Move{
		Name: "a pod of " + image + " dies", Do: func(w *sim.World) { w.Kill(image, 1) },
		Can: func(w *sim.World) bool {
			return slices.ContainsFunc(w.Versions(), func(v sim.Version) bool { return v.Image == image && v.Pods > 0 })
		},
	}
}

func deleteSet(image string) Move {
	return Move{
		Name: "the ReplicaSet of " + image + " is deleted",
		Can:  func(w *sim.World) bool { return has(w, image) }, Do: func(w *sim.World) { w.DeleteReplicaSet(image) },
	}
}

// point has somebody edit what a Service selects: the version of an image, none if there is none of that image.
func point(service, at string) Move {
	return Move{
		Name: service + " is pointed at " + at,
		Do: func(w *sim.World) {
			hash := "0000000000"
			for _, v := range w.Versions() {
				if v.Image == at {
					hash = v.Hash
				}
			}
			w.EditService(service, func(s *corev1.Service) { s.Spec.Selector[v1alpha1.PodTemplateHashLabel] = hash })
		},
	}
}

func breaks(image string) Move {
	return Move{Name: image + " breaks", Do: func(w *sim.World) { w.SetFate(image, sim.Fate{Broken: true}) }}
}

func refuse() Move {
	return Move{Name: "no more ReplicaSets are taken", Do: func(w *sim.World) { w.Refuse("no more of these") }}
}

func allow() Move {
	return Move{Name: "ReplicaSets are taken again", Do: func(w *sim.World) { w.Refuse("") }}
}

// Worlds are those that are searched.
var Worlds = []*World{
	{
		Name: "canary", Text: "two steps, one of them a pause; people and a crash", Small: true, Replicas: 2,
		Strategy: `{"canary": {"steps": [{"setWeight": 50}, {"pause": {}}]}}`,
		Moves:    []Move{image("v2"), image("v1"), promote(), abort(), retry()}, Total: 3, Crashes: 1, Stale: 1, Lag: 1,
	},
	{
		Name: "canary-versions", Text: "three versions that overtake each other", Replicas: 2,
		Strategy: `{"canary": {"steps": [{"setWeight": 50}, {"pause": {}}]}}`,
		Moves:    []Move{twice(image("v2")), image("v3"), image("v1"), twice(promote()), abort(), retry(), promoteFull()}, Total: 4, Crashes: 1,
	},
	{
		Name: "canary-hands", Text: "pods die and ReplicaSets are deleted in the middle of an update", Replicas: 2,
		Strategy: `{"canary": {"maxSurge": 1, "maxUnavailable": 0, "steps": [{"setWeight": 50}, {"pause": {}}]}}`,
		Moves:    []Move{image("v2"), image("v1"), promote(), abort(), kill("v1"), kill("v2"), deleteSet("v1"), deleteSet("v2"), scale(3), scale(0)},
		Total:    4,
	},
	{
		Name: "rolling", Text: "an update without steps", Replicas: 3,
		Strategy: `{"canary": {"maxSurge": 1, "maxUnavailable": 1}}`,
		Moves:    []Move{image("v2"), image("v1"), kill("v1"), scale(1), abort()}, Total: 3,
	},
	{
		Name: "rolling-stale", Text: "an update without steps, caches behind", Replicas: 2,
		Strategy: `{"canary": {"maxSurge": 1, "maxUnavailable": 0}}`,
		Moves:    []Move{image("v2"), image("v3"), scale(1), abort()}, Total: 2, Stale: 2, Crashes: 1, Lag: 2,
	},
	{
		Name: "services", Text: "a canary with Services and no router", Routed: true, Replicas: 2, Services: []string{"web-stable", "web-canary"},
		Strategy: `{"canary": {"stableService": "web-stable", "canaryService": "web-canary", "steps": [{"setWeight": 50}, {"pause": {}}]}}`,
		Moves:    []Move{image("v2"), image("v1"), promote(), abort(), retry(), deleteSet("v1"), point("web-stable", "v2"), point("web-stable", "nobody")}, Total: 3,
	},
	{
		Name: "gateway", Text: "a routed canary", Routed: true, Small: true, Replicas: 1, Services: []string{"web-stable", "web-canary"}, Routes: []string{"HTTPRoute"},
		Strategy: `{"canary": {"stableService": "web-stable", "canaryService": "web-canary", "scaleDownDelaySeconds": 30,
			"trafficRouting": {"gatewayAPI": {"httpRoute": "web"}}, "steps": [{"setWeight": 20}, {"pause": {}}]}}`,
		Moves: []Move{image("v2"), image("v1"), promote(), abort()}, Total: 2, Crashes: 1,
	},
	{
		Name: "gateway-hands", Text: "a routed canary whose pods and ReplicaSets go", Routed: true, Replicas: 2, Services: []string{"web-stable", "web-canary"}, Routes: []string{"HTTPRoute"},
		Strategy: `{"canary": {"stableService": "web-stable", "canaryService": "web-canary", "scaleDownDelaySeconds": 30,
			"trafficRouting": {"gatewayAPI": {"httpRoute": "web"}}, "steps": [{"setWeight": 50}, {"pause": {}}]}}`,
		Moves: []Move{image("v2"), image("v3"), image("v1"), promote(), abort(), retry(), kill("v1"), deleteSet("v1"), deleteSet("v2")}, Total: 3,
	},
	{
		Name: "dynamic", Text: "a routed canary with dynamicStableScale", Routed: true, Replicas: 2, Services: []string{"web-stable", "web-canary"}, Routes: []string{"HTTPRoute"},
		Strategy: `{"canary": {"stableService": "web-stable", "canaryService": "web-canary", "dynamicStableScale": true,
			"trafficRouting": {"gatewayAPI": {"httpRoute": "web"}}, "steps": [{"setWeight": 50}, {"pause": {}}]}}`,
		Moves: []Move{image("v2"), image("v1"), promote(), abort(), retry(), kill("v1"), scale(3)}, Total: 3, Crashes: 1,
	},
	{
		Name: "ping-pong", Text: "a routed canary with two equal Services", Routed: true, Replicas: 1, Services: []string{"web-ping", "web-pong"}, Routes: []string{"HTTPRoute"},
		Strategy: `{"canary": {"pingPong": {"pingService": "web-ping", "pongService": "web-pong"},
			"trafficRouting": {"gatewayAPI": {"httpRoute": "web"}}, "steps": [{"setWeight": 50}, {"pause": {}}]}}`,
		Moves: []Move{image("v2"), image("v3"), image("v1"), twice(promote()), abort(), retry()}, Total: 3, Crashes: 1,
	},
	{
		Name: "two-routers", Text: "a canary with two routers", Routed: true, Small: true, Replicas: 1, Services: []string{"web-stable", "web-canary"}, Routes: []string{"HTTPRoute", "Ingress"},
		Strategy: `{"canary": {"stableService": "web-stable", "canaryService": "web-canary",
			"trafficRouting": {"gatewayAPI": {"httpRoute": "web"}, "nginx": {"stableIngress": "web"}}, "steps": [{"setWeight": 50}, {"pause": {}}]}}`,
		Moves: []Move{image("v2"), image("v1"), promote(), abort()}, Total: 2, Crashes: 1, Stale: 1, Lag: 1,
	},
	{
		Name: "blue-green", Text: "a gate that a person opens", Small: true, Replicas: 1, Services: []string{"web-active", "web-preview"},
		Strategy: `{"blueGreen": {"activeService": "web-active", "previewService": "web-preview", "autoPromotionEnabled": false}}`,
		Moves:    []Move{image("v2"), image("v1"), promote(), abort()}, Total: 2, Crashes: 1, Delays: 1,
	},
	{
		Name: "blue-green-hands", Text: "ReplicaSets deleted and Services edited in the pause", Replicas: 2, Services: []string{"web-active", "web-preview"},
		Strategy: `{"blueGreen": {"activeService": "web-active", "previewService": "web-preview", "autoPromotionEnabled": false}}`,
		Moves: []Move{
			image("v2"), image("v1"), promote(), abort(), retry(), deleteSet("v1"), deleteSet("v2"),
			point("web-active", "v2"), point("web-active", "nobody"), kill("v1"),
		}, Total: 3,
	},
	{
		Name: "blue-green-versions", Text: "three versions, previewReplicaCount and both delays", Replicas: 2, Services: []string{"web-active", "web-preview"},
		Strategy: `{"blueGreen": {"activeService": "web-active", "previewService": "web-preview", "autoPromotionEnabled": false,
			"previewReplicaCount": 1, "scaleDownDelaySeconds": 30, "abortScaleDownDelaySeconds": 10}}`,
		Moves: []Move{image("v2"), image("v3"), image("v1"), twice(promote()), abort(), retry(), promoteFull()}, Total: 4, Delays: 1,
	},
	{
		Name: "analysis", Text: "a step that measures, with any verdict", Replicas: 1, Templates: []string{"smoke"},
		Strategy: `{"canary": {"steps": [{"setWeight": 50}, {"analysis": {"templates": [{"templateName": "smoke"}]}}]}}`,
		Moves:    []Move{image("v2"), image("v1"), promote(), abort(), retry()}, Total: 3, Crashes: 1, Stale: 1, Lag: 1,
	},
	{
		Name: "blue-green-analysis", Text: "analyses before and after the switch, with any verdict", Replicas: 1, Services: []string{"web-active", "web-preview"}, Templates: []string{"smoke"},
		Strategy: `{"blueGreen": {"activeService": "web-active", "previewService": "web-preview",
			"prePromotionAnalysis": {"templates": [{"templateName": "smoke"}]}, "postPromotionAnalysis": {"templates": [{"templateName": "smoke"}]}}}`,
		Moves: []Move{image("v2"), image("v1"), promote(), abort(), retry(), deleteSet("v1")}, Total: 3, Crashes: 1,
	},
	{
		Name: "broken", Text: "pods that never start, ReplicaSets that are refused, and a deadline", Replicas: 2,
		Strategy: `{"canary": {"steps": [{"setWeight": 50}, {"pause": {}}]}}`, Spec: `{"progressDeadlineSeconds": 60, "progressDeadlineAbort": true}`,
		Moves: []Move{image("v2"), image("v3"), image("v1"), breaks("v2"), refuse(), allow(), abort(), retry(), hold(), resume()}, Total: 4, Delays: 1,
	},
}

// Named is a world by its name, nil if there is none.
func Named(name string) *World {
	for _, w := range Worlds {
		if w.Name == name {
			return w
		}
	}
	return nil
}
