package controller_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
	"github.com/sluice-delivery/sluice/internal/plugin/plugintest"
	"github.com/sluice-delivery/sluice/internal/sim"
)

// heard are the questions to a plugin.
type heard struct {
	mu  sync.Mutex
	all []plugintest.Question
}

func (h *heard) answer(q plugintest.Question) plugintest.Answer {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, q)
	return plugintest.Answer{Verified: 1}
}

// since are the questions from one on, as METHOD, and WEIGHT where that is one.
func (h *heard) since(first int) (methods []string, configs map[string]bool, next int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	configs = map[string]bool{}
	for _, q := range h.all[first:] {
		method := q.Method
		if strings.HasSuffix(method, "Weight") {
			method = fmt.Sprintf("%s %d", method, q.Weight)
		}
		methods, configs[string(q.Config)] = append(methods, method), true
	}
	return methods, configs, len(h.all)
}

// pluginAtHalf is a Rollout in whose update a plugin sends half of the requests to the canary.
func pluginAtHalf(t *testing.T, ns *playtest.Namespace, entry string) (script *plugintest.Script, asked *heard, flags []string) {
	t.Helper()
	asked = &heard{}
	script = plugintest.NewScript(t, asked.answer)
	createServices(t, ns, "web-canary", "web-stable")
	createObject(t, ns, sim.HTTPRoute("another", "web-stable"))
	flags = startWithPlugins(t, ns, map[string]string{"trafficRouterPlugins": fmt.Sprintf("[{name: test/scripted, location: SAMPLES/scripted, args: [%q]%s}]", script.URL, entry)}, "--gateway-status-timeout=0")
	ns.CreateRollout(routed(2, `{plugins: {test/scripted: {edge: eu}}, managedRoutes: [{name: beta}]}`, `[{setWeight: 50}, {setHeaderRoute: {name: beta, match: [{headerName: tester, headerValue: {exact: beta}}]}}, {pause: {}}]`, "scaleDownDelaySeconds: 1, abortScaleDownDelaySeconds: 1"))
	ns.WaitForRollout("web", "to be Healthy", settledOn("1", 2))
	ns.SetImage("web", "nginx:2")
	ns.WaitForRollout("web", "to pause", both(playtest.Paused, weightIs(50), playtest.AtStep(2)))
	return script, asked, flags
}

// leaving are the ways in which a Rollout is without its plugin.
var leaving = map[string]func(*playtest.Namespace){
	"deleted": func(ns *playtest.Namespace) { ns.DeleteRollout("web") },
	"removed": func(ns *playtest.Namespace) {
		ns.Patch("web", `{"spec":{"strategy":{"canary":{"steps":[{"setWeight":50},{"pause":{}}],"trafficRouting":null,"scaleDownDelaySeconds":null,"abortScaleDownDelaySeconds":null}}}}`)
	},
	"replaced": func(ns *playtest.Namespace) {
		ns.Patch("web", `{"spec":{"strategy":{"canary":{"trafficRouting":{"plugins":null,"gatewayAPI":{"httpRoute":"another"}}}}}}`)
	},
}

// A plugin that its Rollout no longer names removes its routes and sends everything to the stable version, with the settings that it had. Its process
// is killed while it does that, and where the Rollout is still there, so is the controller. Until the plugin has answered, no pods are removed, not
// even by an abort.
func TestPluginsReturnTheTraffic(t *testing.T) {
	t.Parallel()
	for end, leave := range leaving {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			ns := playtest.New(t)
			script, asked, flags := pluginAtHalf(t, ns, "")
			_, _, first := asked.since(0)
			script.Hold(isQuestion("SetWeight", 0))
			leave(ns)
			waitForHeld(t, script, "at first")
			killPlugin(t, flags[1], "scripted")
			waitForHeld(t, script, "after the plugin was killed")
			if end != "deleted" {
				ns.StopController(syscall.SIGKILL)
				ns.StartController(flags...)
				waitForHeld(t, script, "by another controller")
				ns.PatchStatus("web", `{"status":{"abort":true}}`)
				ns.WaitForRollout("web", "to say what it waits for", func(ro *v1alpha1.Rollout) bool {
					return strings.Contains(ro.Status.Message, `waiting for plugin "test/scripted" to split traffic`)
				})
				for _, set := range ns.ReplicaSets() {
					if *set.Spec.Replicas == 0 {
						t.Errorf("%s has lost its pods though the plugin has not answered", set.Name)
					}
				}
			}
			script.LetGo()
			ns.WaitUntil("the plugin has returned the traffic", func() error {
				methods, configs, _ := asked.since(first)
				for _, want := range []string{"RemoveManagedRoutes", "UpdateHash", "SetWeight 0", "VerifyWeight 0"} {
					if !slices.Contains(methods, want) {
						return fmt.Errorf("it was asked for %q", methods)
					}
				}
				if len(configs) != 1 || !configs[`{"edge":"eu"}`] {
					return fmt.Errorf("its settings were %v", configs)
				}
				return nil
			})
			if end == "deleted" {
				return
			}
			ns.WaitForRollout("web", "to have nothing of the plugin", func(ro *v1alpha1.Rollout) bool {
				return ro.Annotations[v1alpha1.PluginRoutesAnnotation] == "" && ro.Status.Replicas == 2 && ro.Status.Phase == v1alpha1.RolloutPhaseDegraded
			})
		})
	}
}

// A Rollout that is deleted is gone at once, though its plugin does not answer; and one of the same name asks for what it needs itself.
func TestAPluginThatHangsDoesNotHoldUpADeletion(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	script, asked, _ := pluginAtHalf(t, ns, ", timeout: 2s")
	script.Hold(isQuestion("SetWeight", 0))
	ns.DeleteRollout("web")
	waitForHeld(t, script, "when the Rollout is gone")
	for _, name := range []string{"web-stable", "web-canary"} {
		ns.WaitForService(name, "to be released", func(s *corev1.Service) bool { return s.Spec.Selector[v1alpha1.PodTemplateHashLabel] == "" })
	}
	script.LetGo()
	_, _, first := asked.since(0)
	ns.CreateRollout(routed(2, `{plugins: {test/scripted: {edge: us}}}`, `[{setWeight: 50}, {pause: {}}]`, ""))
	ns.WaitForRollout("web", "to be Healthy", settledOn("1", 2))
	if _, configs, _ := asked.since(first); !configs[`{"edge":"us"}`] {
		t.Errorf("the settings were %v", configs)
	}
}
