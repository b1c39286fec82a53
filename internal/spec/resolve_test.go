package spec

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// rollout is one that is right, changed.
func rollout(changes ...func(*v1alpha1.RolloutSpec)) *v1alpha1.Rollout {
	labels := map[string]string{"app": "web"}
	ro := &v1alpha1.Rollout{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"},
		Spec: v1alpha1.RolloutSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}},
			Strategy: v1alpha1.RolloutStrategy{Canary: &v1alpha1.CanaryStrategy{}},
		},
	}
	for _, change := range changes {
		change(&ro.Spec)
	}
	return ro
}

// routed is a canary with a router and all that this asks for.
func routed(edit func(*v1alpha1.CanaryStrategy)) func(*v1alpha1.RolloutSpec) {
	return canary(func(c *v1alpha1.CanaryStrategy) {
		c.CanaryService, c.StableService = "web-canary", "web-stable"
		c.TrafficRouting = &v1alpha1.RolloutTrafficRouting{
			GatewayAPI:    &v1alpha1.GatewayAPITrafficRouting{HTTPRoute: "web"},
			ManagedRoutes: []v1alpha1.ManagedRoute{{Name: "mine"}},
		}
		edit(c)
	})
}

func canary(change func(*v1alpha1.CanaryStrategy)) func(*v1alpha1.RolloutSpec) {
	return func(s *v1alpha1.RolloutSpec) { change(s.Strategy.Canary) }
}

func steps(steps ...v1alpha1.CanaryStep) func(*v1alpha1.RolloutSpec) {
	return canary(func(c *v1alpha1.CanaryStrategy) { c.Steps = steps })
}

func limits(surge, unavailable string) func(*v1alpha1.RolloutSpec) {
	return canary(func(c *v1alpha1.CanaryStrategy) {
		a, b := intstr.Parse(surge), intstr.Parse(unavailable)
		c.MaxSurge, c.MaxUnavailable = &a, &b
	})
}

func weight(n int32) v1alpha1.CanaryStep { return v1alpha1.CanaryStep{SetWeight: &n} }

func pause(d intstr.IntOrString) v1alpha1.CanaryStep {
	return v1alpha1.CanaryStep{Pause: &v1alpha1.RolloutPause{Duration: &d}}
}

func number(n int32) *int32 { return &n }

// Every problem names the field, the value where there is one, and what to write instead.
func TestProblems(t *testing.T) {
	const needsRouter = " needs trafficRouting; remove it: without a router "
	const share = "the share of the pods is the share of the traffic"

	for name, c := range map[string]struct {
		change func(*v1alpha1.RolloutSpec)
		want   []string
	}{
		"fewer than no pods": {
			func(s *v1alpha1.RolloutSpec) { s.Replicas = number(-1) },
			[]string{"spec.replicas: -1 is negative: write 0 or more"},
		},
		"ready before it is there": {
			func(s *v1alpha1.RolloutSpec) { s.MinReadySeconds = -5 },
			[]string{"spec.minReadySeconds: -5 is negative: write 0 or more"},
		},
		"less than no history": {
			func(s *v1alpha1.RolloutSpec) { s.RevisionHistoryLimit = number(-2) },
			[]string{"spec.revisionHistoryLimit: -2 is negative: write 0 or more"},
		},
		"a deadline before a pod can be ready": {
			func(s *v1alpha1.RolloutSpec) { s.MinReadySeconds, s.ProgressDeadlineSeconds = 60, number(60) },
			[]string{"spec.progressDeadlineSeconds: progressDeadlineSeconds (600 unless set) must be greater than minReadySeconds, or no pod could become available in time: they are 60 and 60"},
		},
		"no selector": {
			func(s *v1alpha1.RolloutSpec) { s.Selector = nil },
			[]string{"spec.selector: Rollout has missing field '.spec.selector': repeat some of template.metadata.labels under selector.matchLabels"},
		},
		"an empty selector": {
			func(s *v1alpha1.RolloutSpec) { s.Selector = &metav1.LabelSelector{} },
			[]string{"spec.selector: empty selector is invalid for deployment: it would select every pod in the namespace: repeat some of template.metadata.labels under matchLabels"},
		},
		"a selector for other pods": {
			func(s *v1alpha1.RolloutSpec) { s.Template.Labels = map[string]string{"app": "other"} },
			[]string{`spec.template.metadata.labels: template.metadata.labels must have every label of selector.matchLabels, with the same value, or the Rollout would not find its own pods: they are "app=other", and the selector is "app=web"`},
		},
		"no strategy": {
			func(s *v1alpha1.RolloutSpec) { s.Strategy = v1alpha1.RolloutStrategy{} },
			[]string{"spec.strategy: Rollout has missing field '.spec.strategy.canary or .spec.strategy.blueGreen': set canary or blueGreen: canary moves traffic a part at a time (canary: {} is a rolling update), blueGreen all at once"},
		},
		"two strategies": {
			func(s *v1alpha1.RolloutSpec) { s.Strategy.BlueGreen = &v1alpha1.BlueGreenStrategy{ActiveService: "a"} },
			[]string{"spec.strategy: Multiple Strategies can not be listed: set only one of canary and blueGreen: remove the other"},
		},
		"nothing may move": {
			limits("0", "0%"),
			[]string{"spec.strategy.canary.maxSurge: MaxSurge and MaxUnavailable both can not be zero: no pod could ever be replaced: set one of them to at least 1"},
		},
		"a surge of words": {
			limits("many", "1"),
			[]string{`spec.strategy.canary.maxSurge: "many" must be a number of pods such as 1, or a percentage such as 25%; neither can be negative`},
		},
		"fewer than none unavailable": {
			limits("1", "-1"),
			[]string{`spec.strategy.canary.maxUnavailable: "-1" must be a number of pods such as 1, or a percentage such as 25%; neither can be negative`},
		},
		"an empty share": {
			canary(func(c *v1alpha1.CanaryStrategy) { c.MaxSurge = &intstr.IntOrString{Type: intstr.String} }),
			[]string{`spec.strategy.canary.maxSurge: "" must be a number of pods such as 1, or a percentage such as 25%; neither can be negative`},
		},
		"a step that does nothing": {
			steps(weight(10), v1alpha1.CanaryStep{}),
			[]string{`spec.strategy.canary.steps[1]: a step must have exactly one of setWeight, pause, experiment, analysis, setCanaryScale, setHeaderRoute, setMirrorRoute and plugin; begin each with its own "- "`},
		},
		"a step that does two things": {
			steps(v1alpha1.CanaryStep{SetWeight: number(10), Pause: &v1alpha1.RolloutPause{}}),
			[]string{`spec.strategy.canary.steps[0]: a step must have exactly one of setWeight, pause, experiment, analysis, setCanaryScale, setHeaderRoute, setMirrorRoute and plugin; begin each with its own "- ": this one has setWeight and pause`},
		},
		"more than all": {
			steps(weight(101)),
			[]string{"spec.strategy.canary.steps[0].setWeight: SetWeight needs to be between 0 and 100, and is 101"},
		},
		"a pause in words": {
			steps(pause(intstr.FromString("soon"))),
			[]string{`spec.strategy.canary.steps[0].pause.duration: "soon" must be seconds such as 30, or a length of time with units h, m, s and ms such as 30s, 10m or 1h30m (a day is 24h), and not negative; leave duration out to wait for a promotion`},
		},
		"a pause backwards": {
			steps(pause(intstr.FromInt32(-1))),
			[]string{`spec.strategy.canary.steps[0].pause.duration: "-1" must be seconds such as 30, or a length of time with units h, m, s and ms such as 30s, 10m or 1h30m (a day is 24h), and not negative; leave duration out to wait for a promotion`},
		},
		"a threshold above all": {
			canary(func(c *v1alpha1.CanaryStrategy) {
				c.ReplicaProgressThreshold = &v1alpha1.ReplicaProgressThreshold{Type: v1alpha1.ProgressThresholdPercent, Value: 101}
			}),
			[]string{"spec.strategy.canary.replicaProgressThreshold.value: 101 percent of the pods are never available: write 100 or less"},
		},
		"what needs a router": {
			canary(func(c *v1alpha1.CanaryStrategy) {
				c.DynamicStableScale, c.EnforceMaxSurge = true, true
				c.ScaleDownDelaySeconds, c.MinPodsPerReplicaSet = number(30), number(2)
				c.Steps = []v1alpha1.CanaryStep{{SetCanaryScale: &v1alpha1.SetCanaryScale{Replicas: number(1)}}, {SetHeaderRoute: &v1alpha1.SetHeaderRoute{Name: "h"}}}
			}),
			[]string{
				"spec.strategy.canary.scaleDownDelaySeconds: scaleDownDelaySeconds" + needsRouter + share + ", and old pods go as new ones come",
				"spec.strategy.canary.dynamicStableScale: dynamicStableScale" + needsRouter + "the stable version shrinks anyway",
				"spec.strategy.canary.minPodsPerReplicaSet: minPodsPerReplicaSet" + needsRouter + share,
				"spec.strategy.canary.enforceMaxSurge: enforceMaxSurge" + needsRouter + share,
				"spec.strategy.canary.steps[0].setCanaryScale: setCanaryScale needs trafficRouting: without a router the share of the pods is the share of the traffic, so use setWeight",
				"spec.strategy.canary.steps[1].setHeaderRoute: needs trafficRouting: only a router can distinguish requests",
			},
		},
		"two Services that are one": {
			canary(func(c *v1alpha1.CanaryStrategy) { c.CanaryService, c.StableService = "web", "web" }),
			[]string{`spec.strategy.canary.canaryService: canaryService and stableService must be two different Services: each is pointed at one version only, and both are "web"`},
		},
		"a router without Services": {
			routed(func(c *v1alpha1.CanaryStrategy) { c.StableService = "" }),
			[]string{"spec.strategy.canary.canaryService: Canary service and Stable service must to be set to use Traffic Routing: it tells the versions apart by them"},
		},
		"a router and what contradicts itself": {
			routed(func(c *v1alpha1.CanaryStrategy) {
				c.DynamicStableScale, c.ScaleDownDelaySeconds, c.ScaleDownDelayRevisionLimit = true, number(5), number(11)
				c.AbortScaleDownDelaySeconds, c.MinPodsPerReplicaSet = number(-1), number(-2)
				c.TrafficRouting.MaxTrafficWeight = number(1000)
			}),
			[]string{
				"spec.strategy.canary.scaleDownDelaySeconds: scaleDownDelaySeconds cannot be combined with dynamicStableScale, which scales the old version down with its traffic: remove one of the two",
				"spec.strategy.canary.scaleDownDelayRevisionLimit: scaleDownDelayRevisionLimit must not exceed revisionHistoryLimit (10 unless set): lower the one or raise the other: they are 11 and 10",
				"spec.strategy.canary.abortScaleDownDelaySeconds: -1 is negative: write 0 or more",
				"spec.strategy.canary.minPodsPerReplicaSet: -2 is negative: write 0 or more",
				"spec.strategy.canary.trafficRouting.maxTrafficWeight: works with nginx and plugins only: remove it, and give setWeight in percent",
			},
		},
		"more weight than routers can count to": {
			routed(func(c *v1alpha1.CanaryStrategy) { c.TrafficRouting.MaxTrafficWeight = number(1_000_001) }),
			[]string{"spec.strategy.canary.trafficRouting.maxTrafficWeight: 1000001 is more than routers can count to: write 1000000 or less"},
		},
		"a limit of pods that nothing keeps to": {
			routed(func(c *v1alpha1.CanaryStrategy) { c.EnforceMaxSurge = true }),
			[]string{"spec.strategy.canary.enforceMaxSurge: enforceMaxSurge needs dynamicStableScale: while the stable version keeps all its pods, the new one cannot have as many"},
		},
		"turns taken wrongly": {
			routed(func(c *v1alpha1.CanaryStrategy) {
				c.PingPong = &v1alpha1.PingPongSpec{PingService: "ping", PongService: "ping"}
			}),
			[]string{
				`spec.strategy.canary.pingPong.pongService: pingService and pongService must be two different Services: both are "ping"`,
				"spec.strategy.canary.pingPong: takes the place of canaryService and stableService: remove those two",
			},
		},
		"turns with nginx": {
			routed(func(c *v1alpha1.CanaryStrategy) {
				c.CanaryService, c.StableService = "", ""
				c.PingPong = &v1alpha1.PingPongSpec{PingService: "ping", PongService: "pong"}
				c.TrafficRouting = &v1alpha1.RolloutTrafficRouting{Nginx: &v1alpha1.NginxTrafficRouting{StableIngress: "web"}}
			}),
			[]string{"spec.strategy.canary.pingPong: does not work with nginx, whose objects name one stable Service: use canaryService and stableService"},
		},
		"turns with a router whose object lists Services": {
			routed(func(c *v1alpha1.CanaryStrategy) {
				c.CanaryService, c.StableService = "", ""
				c.PingPong = &v1alpha1.PingPongSpec{PingService: "ping", PongService: "pong"}
				c.TrafficRouting = &v1alpha1.RolloutTrafficRouting{Traefik: &v1alpha1.TraefikTrafficRouting{WeightedTraefikServiceName: "web"}}
			}),
			[]string{"spec.strategy.canary.pingPong: does not work with traefik, whose objects name one stable Service: use canaryService and stableService"},
		},
		"an ALB that cannot do what the steps and the names ask": {
			routed(func(c *v1alpha1.CanaryStrategy) {
				long := "a-name-of-a-route-that-is-longer-than-what-keys-of-annotations"
				c.TrafficRouting = &v1alpha1.RolloutTrafficRouting{
					ALB:           &v1alpha1.ALBTrafficRouting{Ingress: "web", ServicePort: 80, RootService: "root"},
					ManagedRoutes: []v1alpha1.ManagedRoute{{Name: "root"}, {Name: "a.b"}, {Name: long}},
				}
				c.Steps = []v1alpha1.CanaryStep{{SetMirrorRoute: &v1alpha1.SetMirrorRoute{Name: "a.b"}}, {SetHeaderRoute: &v1alpha1.SetHeaderRoute{Name: "a.b", Match: []v1alpha1.HeaderRoutingMatch{
					{HeaderName: "H", HeaderValue: &v1alpha1.StringMatch{Prefix: "v"}},
				}}}}
			}),
			[]string{
				`spec.strategy.canary.trafficRouting.managedRoutes[0].name: "root" is the rootService of spec.strategy.canary.trafficRouting.alb too, and an action can have one meaning only: choose another name`,
				`spec.strategy.canary.trafficRouting.managedRoutes[1].name: "a.b" cannot be the name of an action of the load balancer: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`,
				`spec.strategy.canary.trafficRouting.managedRoutes[2].name: "a-name-of-a-route-that-is-longer-than-what-keys-of-annotations" is too long for the key of an annotation: shorten it to 52 letters`,
				"spec.strategy.canary.steps[0].setMirrorRoute: alb cannot mirror requests: remove the step, or use a router that can",
				"spec.strategy.canary.steps[1].setHeaderRoute.match[0].headerValue: SetHeaderRoute match value invalid. ALB supports 'exact' value only: give an exact value",
			},
		},
		"turns with an ALB that knows one Service": {
			routed(func(c *v1alpha1.CanaryStrategy) {
				c.CanaryService, c.StableService = "", ""
				c.PingPong = &v1alpha1.PingPongSpec{PingService: "ping", PongService: "pong"}
				c.TrafficRouting = &v1alpha1.RolloutTrafficRouting{ALB: &v1alpha1.ALBTrafficRouting{Ingress: "web", ServicePort: 80}}
			}),
			[]string{"spec.strategy.canary.trafficRouting.alb.rootService: Root service field is required for the configuration with ALB and ping-pong feature enabled: name the Service in the rules of the Ingress"},
		},
		"weights finer than percent with an ALB": {
			routed(func(c *v1alpha1.CanaryStrategy) {
				c.TrafficRouting = &v1alpha1.RolloutTrafficRouting{
					ALB: &v1alpha1.ALBTrafficRouting{Ingress: "web", ServicePort: 80}, Nginx: &v1alpha1.NginxTrafficRouting{StableIngress: "web"}, MaxTrafficWeight: number(1000),
				}
			}),
			[]string{"spec.strategy.canary.trafficRouting.maxTrafficWeight: does not work with alb and ambassador, which count in percent: remove it, and give setWeight in percent"},
		},
		"weights finer than percent with a field of an object that is in percent": {
			routed(func(c *v1alpha1.CanaryStrategy) {
				c.TrafficRouting = &v1alpha1.RolloutTrafficRouting{Nginx: &v1alpha1.NginxTrafficRouting{StableIngress: "web"}, MaxTrafficWeight: number(1000)}
				c.TrafficRouting.Custom = []v1alpha1.CustomTrafficRouting{{
					APIVersion: "example.com/v1", Kind: "Split", Name: "web",
					Weights: []v1alpha1.CustomWeights{{CanaryWeight: "spec.canary", StableWeight: "spec.stable"}, {CanaryWeight: "spec.percent"}},
				}}
			}),
			[]string{"spec.strategy.canary.trafficRouting.maxTrafficWeight: does not work with trafficRouting.custom[0].weights[1].canaryWeight, which is in percent where stableWeight is missing: remove maxTrafficWeight, and give setWeight in percent, or set stableWeight"},
		},
		"steps that Traefik cannot do": {
			routed(func(c *v1alpha1.CanaryStrategy) {
				c.TrafficRouting = &v1alpha1.RolloutTrafficRouting{
					Traefik: &v1alpha1.TraefikTrafficRouting{WeightedTraefikServiceName: "web"}, ManagedRoutes: []v1alpha1.ManagedRoute{{Name: "mine"}},
				}
				c.Steps = []v1alpha1.CanaryStep{{SetHeaderRoute: &v1alpha1.SetHeaderRoute{Name: "mine"}}, {SetMirrorRoute: &v1alpha1.SetMirrorRoute{Name: "mine"}}}
			}),
			[]string{
				"spec.strategy.canary.steps[0].setHeaderRoute: traefik cannot route by header: remove the step, or use a router that can",
				"spec.strategy.canary.steps[1].setMirrorRoute: traefik cannot mirror requests: name a TraefikService with spec.mirroring in trafficRouting.traefik.mirroringTraefikServiceName, or remove the step",
			},
		},
		"copies of some requests with Traefik": {
			routed(func(c *v1alpha1.CanaryStrategy) {
				c.TrafficRouting = &v1alpha1.RolloutTrafficRouting{
					Traefik:       &v1alpha1.TraefikTrafficRouting{WeightedTraefikServiceName: "web", MirroringTraefikServiceName: "copies"},
					ManagedRoutes: []v1alpha1.ManagedRoute{{Name: "mine"}},
				}
				all, get := &v1alpha1.StringMatch{Prefix: "/"}, &v1alpha1.StringMatch{Exact: "GET"}
				for _, match := range [][]v1alpha1.RouteMatch{
					nil,
					{{Path: all}},
					{{Path: all}, {Method: get}}, // which the first one includes
					{{Path: all, Method: get}},
					{{Path: all, Headers: map[string]v1alpha1.StringMatch{"a": {Exact: "b"}}}},
					{{Path: &v1alpha1.StringMatch{Prefix: "/cart"}}},
					{{Path: &v1alpha1.StringMatch{Exact: "/"}}},
				} {
					c.Steps = append(c.Steps, v1alpha1.CanaryStep{SetMirrorRoute: &v1alpha1.SetMirrorRoute{Name: "mine", Match: match}})
				}
				c.Steps = append(c.Steps, v1alpha1.CanaryStep{SetHeaderRoute: &v1alpha1.SetHeaderRoute{Name: "mine"}})
			}),
			func() (all []string) {
				for step := 3; step <= 6; step++ {
					all = append(all, fmt.Sprintf("spec.strategy.canary.steps[%d].setMirrorRoute.match: traefik cannot select the requests to copy: write match: [{path: {prefix: /}}], and send only these to the mirroring TraefikService, by an IngressRoute of your own", step))
				}
				return append(all, "spec.strategy.canary.steps[7].setHeaderRoute: traefik cannot route by header: remove the step, or use a router that can")
			}(),
		},
		"routes that the controller was not given": {
			routed(func(c *v1alpha1.CanaryStrategy) {
				c.Steps = []v1alpha1.CanaryStep{
					{SetHeaderRoute: &v1alpha1.SetHeaderRoute{Name: "other", Match: []v1alpha1.HeaderRoutingMatch{{HeaderName: "", HeaderValue: &v1alpha1.StringMatch{}}}}},
					{SetMirrorRoute: &v1alpha1.SetMirrorRoute{Name: "mine", Percentage: number(101), Match: []v1alpha1.RouteMatch{{}, {
						Path:    &v1alpha1.StringMatch{Exact: "/", Prefix: "/"},
						Headers: map[string]v1alpha1.StringMatch{"c": {}, "a": {}, "b": {}},
					}}}},
				}
			}),
			[]string{
				`spec.strategy.canary.steps[0].setHeaderRoute.name: the name of every setHeaderRoute must be listed in trafficRouting.managedRoutes, as "- name: <route>": "other" is not`,
				"spec.strategy.canary.steps[0].setHeaderRoute.match[0].headerName: is empty: name a header",
				"spec.strategy.canary.steps[0].setHeaderRoute.match[0].headerValue: set exactly one of exact, regex and prefix",
				"spec.strategy.canary.steps[1].setMirrorRoute.match[0]: set at least one of method, path and headers; to mirror all requests, give path with prefix: /",
				"spec.strategy.canary.steps[1].setMirrorRoute.match[1].path: set exactly one of exact, regex and prefix",
				"spec.strategy.canary.steps[1].setMirrorRoute.match[1].headers[a]: set exactly one of exact, regex and prefix",
				"spec.strategy.canary.steps[1].setMirrorRoute.match[1].headers[b]: set exactly one of exact, regex and prefix",
				"spec.strategy.canary.steps[1].setMirrorRoute.match[1].headers[c]: set exactly one of exact, regex and prefix",
				"spec.strategy.canary.steps[1].setMirrorRoute.percentage: 101 is not a percentage: write 0 to 100",
			},
		},
		"a header with a router that knows none": {
			routed(func(c *v1alpha1.CanaryStrategy) {
				c.TrafficRouting.GatewayAPI, c.TrafficRouting.Nginx = nil, &v1alpha1.NginxTrafficRouting{StableIngress: "web"}
				c.Steps = []v1alpha1.CanaryStep{
					{SetHeaderRoute: &v1alpha1.SetHeaderRoute{Name: "mine"}},
					{SetMirrorRoute: &v1alpha1.SetMirrorRoute{Name: "mine"}},
				}
			}),
			[]string{
				"spec.strategy.canary.steps[0].setHeaderRoute: nginx cannot route by header: remove the step, or use a router that can",
				"spec.strategy.canary.steps[1].setMirrorRoute: nginx cannot mirror requests: remove the step, or use a router that can",
			},
		},
		"a size in two ways, and negative": {
			routed(func(c *v1alpha1.CanaryStrategy) {
				c.Steps = []v1alpha1.CanaryStep{{SetCanaryScale: &v1alpha1.SetCanaryScale{Replicas: number(-1), Weight: number(-5)}}}
			}),
			[]string{
				"spec.strategy.canary.steps[0].setCanaryScale: set only one of weight, replicas and matchTrafficWeight: true",
				"spec.strategy.canary.steps[0].setCanaryScale.replicas: -1 is negative: write 0 or more",
				"spec.strategy.canary.steps[0].setCanaryScale.weight: -5 is negative: write 0 or more",
			},
		},
		"a window into the future": {
			func(s *v1alpha1.RolloutSpec) { s.RollbackWindow = &v1alpha1.RollbackWindowSpec{Revisions: -1} },
			[]string{"spec.rollbackWindow.revisions: -1 is negative: write 0 or more"},
		},
		"a plugin without a name": {
			steps(v1alpha1.CanaryStep{Plugin: &v1alpha1.PluginStep{}}),
			[]string{"spec.strategy.canary.steps[0].plugin.name: is empty: name a plugin that the administrator lists under stepPlugins in the ConfigMap argo-rollouts-config"},
		},
		"an experiment of nothing": {
			steps(v1alpha1.CanaryStep{Experiment: &v1alpha1.RolloutExperimentStep{}}),
			[]string{"spec.strategy.canary.steps[0].experiment.templates: is empty: list at least one template"},
		},
		"everything at once, in the order of the spec": {
			func(s *v1alpha1.RolloutSpec) {
				s.Replicas, s.Selector = number(-1), nil
				s.Strategy.Canary.Steps = []v1alpha1.CanaryStep{weight(-1), pause(intstr.FromString("x"))}
			},
			[]string{
				"spec.replicas: -1 is negative: write 0 or more",
				"spec.selector: Rollout has missing field '.spec.selector': repeat some of template.metadata.labels under selector.matchLabels",
				"spec.strategy.canary.steps[0].setWeight: SetWeight needs to be between 0 and 100, and is -1",
				`spec.strategy.canary.steps[1].pause.duration: "x" must be seconds such as 30, or a length of time with units h, m, s and ms such as 30s, 10m or 1h30m (a day is 24h), and not negative; leave duration out to wait for a promotion`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := Resolve(rollout(c.change))
			var got []string
			for _, p := range problems {
				got = append(got, p.String())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	r, problems := Resolve(rollout())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if r.Replicas != 1 || !r.ReplicasUnset || r.RevisionHistoryLimit != 10 || r.ProgressDeadline != 10*time.Minute {
		t.Errorf("got %+v", r)
	}
	want := Canary{
		CanaryService: Reference{Field: "spec.strategy.canary.canaryService"}, StableService: Reference{Field: "spec.strategy.canary.stableService"},
		MaxSurge: 1, MaxUnavailable: 0, MaxWeight: 100, Threshold: AllPods,
	}
	if diff := cmp.Diff(Strategy(want), r.Strategy); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// The seeds say what each strategy does where a field is left out.
func TestDefaultsOfTheSeeds(t *testing.T) {
	for name, c := range map[string]struct {
		strategy v1alpha1.RolloutStrategy
		want     Strategy
	}{
		"canary: 25 % of ten": {
			v1alpha1.RolloutStrategy{Canary: &v1alpha1.CanaryStrategy{}},
			Canary{
				CanaryService: Reference{Field: "spec.strategy.canary.canaryService"}, StableService: Reference{Field: "spec.strategy.canary.stableService"},
				MaxSurge: 3, MaxUnavailable: 2, MaxWeight: 100, Threshold: AllPods,
			},
		},
		"blue-green: no gate, nobody missing, 30 seconds, every old stack": {
			v1alpha1.RolloutStrategy{BlueGreen: &v1alpha1.BlueGreenStrategy{ActiveService: "web"}},
			BlueGreen{
				ActiveService: "web", PreviewReplicas: 10, ScaleDownDelay: 30 * time.Second, ScaleDownDelayRevisionLimit: math.MaxInt32,
				AbortScaleDownDelay: 30 * time.Second, AbortScaleDown: true,
			},
		},
		"blue-green: autoPromotionEnabled": {
			v1alpha1.RolloutStrategy{BlueGreen: &v1alpha1.BlueGreenStrategy{ActiveService: "web", AutoPromotionEnabled: new(true)}},
			BlueGreen{
				ActiveService: "web", PreviewReplicas: 10, ScaleDownDelay: 30 * time.Second, ScaleDownDelayRevisionLimit: math.MaxInt32,
				AbortScaleDownDelay: 30 * time.Second, AbortScaleDown: true,
			},
		},
		"blue-green: a share of the pods may be missing": {
			v1alpha1.RolloutStrategy{BlueGreen: &v1alpha1.BlueGreenStrategy{ActiveService: "web", MaxUnavailable: new(intstr.FromString("10%"))}},
			BlueGreen{
				ActiveService: "web", PreviewReplicas: 10, ScaleDownDelay: 30 * time.Second, ScaleDownDelayRevisionLimit: math.MaxInt32,
				AbortScaleDownDelay: 30 * time.Second, AbortScaleDown: true, MaxUnavailable: 1,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, problems := Resolve(rollout(func(s *v1alpha1.RolloutSpec) { s.Replicas, s.Strategy = number(10), c.strategy }))
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			if diff := cmp.Diff(c.want, r.Strategy); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	for name, c := range map[string]struct {
		replicas           int32
		surge, unavailable string
		want               [2]int32
	}{
		"numbers":                            {10, "2", "3", [2]int32{2, 3}},
		"shares: surge up, unavailable down": {10, "25%", "25%", [2]int32{3, 2}},
		"a text of digits is a share":        {10, "30", "30", [2]int32{3, 3}},
		"no more missing than there are":     {3, "0", "5", [2]int32{0, 3}},
		"both round to nothing: one less":    {3, "0", "10%", [2]int32{0, 1}},
		"nothing of nothing":                 {0, "25%", "25%", [2]int32{0, 0}},
		"none of none":                       {0, "1", "1", [2]int32{1, 0}},
		"one pod":                            {1, "25%", "25%", [2]int32{1, 0}},
		"more than can be counted":           {10, "2147483647", "0", [2]int32{math.MaxInt32 - 10, 0}},
		"a share that cannot be counted":     {10, "99999999999%", "0", [2]int32{math.MaxInt32 - 10, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			ro := rollout(func(s *v1alpha1.RolloutSpec) { s.Replicas = &c.replicas }, limits(c.surge, c.unavailable))
			if name == "a text of digits is a share" {
				*ro.Spec.Strategy.Canary.MaxSurge, *ro.Spec.Strategy.Canary.MaxUnavailable = intstr.FromString("30"), intstr.FromString("30")
			}
			r, problems := Resolve(ro)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			got := r.Strategy.(Canary)
			if diff := cmp.Diff(c.want, [2]int32{got.MaxSurge, got.MaxUnavailable}); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func FuzzResolve(f *testing.F) {
	f.Add(int32(10), int32(0), int32(600), "25%", "25%", int32(10), "1h", int32(90), true)
	f.Add(int32(1), int32(5), int32(5), "0", "0", int32(101), "-3", int32(-1), false)
	f.Add(int32(math.MaxInt32), int32(0), int32(1), "2147483647", "999999999999999999999%", int32(100), "", int32(200), true)
	f.Fuzz(func(t *testing.T, replicas, minReady, deadline int32, surge, unavailable string, w int32, duration string, threshold int32, percent bool) {
		ro := rollout(func(s *v1alpha1.RolloutSpec) {
			s.Replicas, s.MinReadySeconds, s.ProgressDeadlineSeconds = &replicas, minReady, &deadline
			kind := v1alpha1.ProgressThresholdPods
			if percent {
				kind = v1alpha1.ProgressThresholdPercent
			}
			s.Strategy.Canary.ReplicaProgressThreshold = &v1alpha1.ReplicaProgressThreshold{Type: kind, Value: threshold}
		}, limits(surge, unavailable), steps(weight(w), pause(intstr.Parse(duration)), weight(100)))

		r, problems := Resolve(ro)
		for _, p := range problems {
			if !strings.HasPrefix(p.Field, "spec.") || p.Text == "" {
				t.Errorf("a problem does not say where or what: %q", p)
			}
		}
		if len(problems) > 0 {
			return
		}
		c := r.Strategy.(Canary)
		if len(c.Steps) != 3 {
			t.Errorf("%d steps of 3", len(c.Steps))
		}
		if c.MaxSurge < 0 || c.MaxUnavailable < 0 || c.MaxUnavailable > r.Replicas || r.Replicas < 0 || r.Replicas+c.MaxSurge < 0 {
			t.Errorf("%d pods, %d more, %d less", r.Replicas, c.MaxSurge, c.MaxUnavailable)
		}
		if r.Replicas > 0 && c.MaxSurge == 0 && c.MaxUnavailable == 0 && r.Replicas < math.MaxInt32 {
			t.Error("nothing may ever move")
		}
		if !c.Threshold.Met(r.Replicas, r.Replicas) {
			t.Errorf("all pods are not enough for %+v", c.Threshold)
		}
	})
}
