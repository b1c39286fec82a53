package hazard_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/hazard"
)

const probed = `
  template: {spec: {containers: [{name: web, image: "registry:5000/web:1", readinessProbe: {}}]}}
`

func TestOf(t *testing.T) {
	for name, tt := range map[string]struct {
		spec string
		want []string
	}{
		"the seed's 90 % of traffic on 10 % of pods": {
			probed + "  replicas: 10\n  strategy: {canary: {trafficRouting: {nginx: {}}, steps: [{setCanaryScale: {weight: 10}}, {setWeight: 90}, {pause: {}}]}}",
			[]string{"CanaryOverload spec.strategy.canary.steps[1]: 90 % of the traffic goes to 1 pod (10 % of spec.replicas), so each of them " +
				"gets 9.0 times the traffic that a pod normally gets; setCanaryScale stays in effect for later setWeight steps: set more pods, " +
				"such as \"setCanaryScale: {weight: 90}\" before"},
		},
		"the worst of several steps is told": {
			probed + "  replicas: 10\n  strategy: {canary: {trafficRouting: {nginx: {}, maxTrafficWeight: 1000}, " +
				"steps: [{setCanaryScale: {replicas: 2}}, {setWeight: 400}, {setWeight: 800}, {setWeight: 500}]}}",
			[]string{"CanaryOverload spec.strategy.canary.steps[2]: 80 % of the traffic goes to 2 pods (20 % of spec.replicas), so each of them " +
				"gets 4.0 times the traffic that a pod normally gets; setCanaryScale stays in effect for later setWeight steps: set more pods, " +
				"or write \"setCanaryScale: {matchTrafficWeight: true}\" before"},
		},
		"scaled to nothing under traffic": {
			probed + "  replicas: 10\n  strategy: {canary: {trafficRouting: {nginx: {}}, steps: [{setWeight: 20}, {setCanaryScale: {replicas: 0}}]}}",
			[]string{"CanaryOverload spec.strategy.canary.steps[1]: 20 % of the traffic would go to a canary without pods; " +
				"setCanaryScale stays in effect for later setWeight steps: set more pods, or write \"setCanaryScale: {matchTrafficWeight: true}\" in its place"},
		},
		"the scale follows the weight again": {
			probed + "  replicas: 10\n  strategy: {canary: {trafficRouting: {nginx: {}}, " +
				"steps: [{setWeight: 10}, {setCanaryScale: {weight: 10}}, {setCanaryScale: {matchTrafficWeight: true}}, {setWeight: 90}]}}",
			nil,
		},
		"more pods than their share, and a little less": {
			probed + "  replicas: 10\n  strategy: {canary: {trafficRouting: {nginx: {}}, " +
				"steps: [{setCanaryScale: {replicas: 3}}, {setWeight: 5}, {setWeight: 40}]}}",
			nil,
		},
		"pods that go and come back": {
			probed + "  replicas: 4\n  strategy: {canary: {trafficRouting: {nginx: {}}, " +
				"steps: [{setCanaryScale: {replicas: 1}}, {setCanaryScale: {matchTrafficWeight: true}}, {setWeight: 20}]}}",
			[]string{"EmptiedCanary spec.strategy.canary.steps[1]: deletes the canary's 1 pod, which a later step creates again: " +
				"put setWeight before \"setCanaryScale: {matchTrafficWeight: true}\""},
		},
		"pods that go, and too few for what comes": {
			probed + "  replicas: 10\n  strategy: {canary: {trafficRouting: {nginx: {}}, " +
				"steps: [{setCanaryScale: {replicas: 1}}, {setCanaryScale: {matchTrafficWeight: true}}, {setWeight: 90}]}}",
			[]string{"EmptiedCanary spec.strategy.canary.steps[1]: deletes the canary's 1 pod, which a later step creates again: " +
				"write \"setCanaryScale: {weight: 90}\" in its place"},
		},
		"pods that go until a later step sets them": {
			probed + "  replicas: 10\n  strategy: {canary: {trafficRouting: {nginx: {}}, " +
				"steps: [{setCanaryScale: {replicas: 1}}, {setCanaryScale: {matchTrafficWeight: true}}, {setCanaryScale: {replicas: 3}}, {setWeight: 20}]}}",
			[]string{"EmptiedCanary spec.strategy.canary.steps[1]: deletes the canary's 1 pod, which a later step creates again: leave it out"},
		},
		"pods that stay": {
			probed + "  replicas: 4\n  strategy: {canary: {trafficRouting: {nginx: {}}, " +
				"steps: [{setCanaryScale: {replicas: 1}}, {setWeight: 20}, {setCanaryScale: {matchTrafficWeight: true}}]}}",
			nil,
		},
		"an analysis that never begins": {
			probed + "  replicas: 10\n  strategy: {canary: {steps: [{setWeight: 50}, {pause: {}}], analysis: {startingStep: 2, templates: [{templateName: ok}]}}}",
			[]string{"NoEffect spec.strategy.canary.analysis.startingStep: 2 is beyond the last step, so the analysis never runs: " +
				"steps count from 0, and there are 2: set 1 or less"},
		},
		"a scale that says nothing": {
			probed + "  replicas: 10\n  strategy: {canary: {trafficRouting: {nginx: {}}, steps: [{setCanaryScale: {matchTrafficWeight: false}}]}}",
			[]string{"NoEffect spec.strategy.canary.steps[0].setCanaryScale: matchTrafficWeight: false alone does not set a number of pods, " +
				"so the canary follows its traffic: set replicas or weight, or write matchTrafficWeight: true"},
		},
		"no traffic yet": {
			probed + "  replicas: 10\n  strategy: {canary: {trafficRouting: {nginx: {}}, steps: [{setCanaryScale: {replicas: 0}}, {setWeight: 0}]}}",
			nil,
		},
		"five percent of two pods": {
			probed + "  replicas: 2\n  strategy: {canary: {steps: [{setWeight: 50}, {setWeight: 5}]}}",
			[]string{"CoarseWeight spec.strategy.canary.steps[1].setWeight: 5 % of 2 pods is not possible without trafficRouting: the canary gets about 50 % of the traffic; " +
				"use more replicas, or a router"},
		},
		"one replica that nobody set": {
			probed + "  strategy: {canary: {steps: [{setWeight: 20}]}}",
			[]string{"CoarseWeight spec.strategy.canary.steps[0].setWeight: 20 % of 1 pod is not possible without trafficRouting: the canary gets about 50 % of the traffic; " +
				"use more replicas, or a router"},
		},
		"weights that pods can follow": {probed + "  replicas: 10\n  strategy: {canary: {steps: [{setWeight: 5}, {setWeight: 41}, {setWeight: 100}]}}", nil},
		"a delay that nothing waits for": {
			probed + "  replicas: 10\n  strategy: {canary: {abortScaleDownDelaySeconds: 30}}",
			[]string{"NoEffect spec.strategy.canary.abortScaleDownDelaySeconds: has no effect without trafficRouting, because old pods are deleted as new ones become available: " +
				"remove it, or add a router"},
		},
		"all pods may be missing": {
			probed + "  replicas: 3\n  strategy: {canary: {maxUnavailable: 100%}}",
			[]string{"AllUnavailable spec.strategy.canary.maxUnavailable: with 100% of 3 pods, all of them may be unavailable at the same time during an update or a restart: allow fewer"},
		},
		"more pods than there are may be missing": {
			probed + "  replicas: 3\n  strategy: {blueGreen: {activeService: a, maxUnavailable: 200%}}",
			[]string{"AllUnavailable spec.strategy.blueGreen.maxUnavailable: with 200% of 3 pods, all of them may be unavailable at the same time during an update or a restart: allow fewer"},
		},
		"a preview that is larger than what serves": {
			probed + "  replicas: 3\n  strategy: {blueGreen: {activeService: a, previewReplicaCount: 4}}",
			[]string{"LargePreview spec.strategy.blueGreen.previewReplicaCount: 4 pods for the preview is more than spec.replicas, which is 3: " +
				"the new version is scaled down to that before traffic moves; set 3 or less"},
		},
		"a preview of all pods": {probed + "  replicas: 3\n  strategy: {blueGreen: {activeService: a, previewReplicaCount: 3}}", nil},
		"a timer that nothing waits for": {
			probed + "  strategy: {blueGreen: {activeService: a, autoPromotionEnabled: false, autoPromotionSeconds: 60}}",
			[]string{"NoEffect spec.strategy.blueGreen.autoPromotionSeconds: has no effect with autoPromotionEnabled: false, which waits for a user to promote: remove one of the two"},
		},
		"a timer": {probed + "  strategy: {blueGreen: {activeService: a, autoPromotionEnabled: true, autoPromotionSeconds: 60}}", nil},
		"blue-green without delays, and no way back": {
			probed + "  revisionHistoryLimit: 0\n  strategy: {blueGreen: {activeService: a, scaleDownDelaySeconds: 0, abortScaleDownDelaySeconds: 0}}",
			[]string{
				"NoHistory spec.revisionHistoryLimit: with 0, no earlier version is kept and undo is impossible: set at least 1",
				"ShortDelay spec.strategy.blueGreen.scaleDownDelaySeconds: the old pods are deleted 0 s after the switch, " +
					"while nodes and load balancers may still send them traffic: set 30 or more",
				"KeptForever spec.strategy.blueGreen.abortScaleDownDelaySeconds: with 0, the pods of an aborted update are kept until the next update: " +
					"set 1 or more to have them deleted",
			},
		},
		"images that move, and nothing that tells when pods serve": {
			`  template: {spec: {containers: [{name: a, image: "registry:5000/web"}, {name: b, image: "web:latest"}, {name: c, image: "web@sha256:0"}]}}
  strategy: {canary: {}}`,
			[]string{
				`MovingImage spec.template.spec.containers[0].image: "registry:5000/web" may refer to another image tomorrow: pods of one version could differ, ` +
					`and an update to it would change nothing; use a tag for each version, or a digest`,
				`MovingImage spec.template.spec.containers[1].image: "web:latest" may refer to another image tomorrow: pods of one version could differ, ` +
					`and an update to it would change nothing; use a tag for each version, or a digest`,
				"NoReadiness spec.template.spec.containers: no container has a readinessProbe, so a pod counts as available and receives " +
					"traffic as soon as it runs: add one, or set minReadySeconds",
			},
		},
		"a port that closes at once": {
			"  template: {spec: {containers: [{name: a, image: \"web:1\", ports: [{containerPort: 80}], readinessProbe: {}}]}}\n  strategy: {canary: {}}",
			[]string{
				"NoPreStop spec.template.spec.containers: no container has a preStop hook, so a pod that is deleted may close its port while proxies " +
					"still send it requests: add lifecycle.preStop with a sleep of 5 to 15 seconds",
			},
		},
		"a port that another container keeps open": {
			"  template: {spec: {containers: [{name: a, image: \"web:1\", ports: [{containerPort: 80}], readinessProbe: {}}, " +
				"{name: proxy, image: \"proxy:1\", lifecycle: {preStop: {sleep: {seconds: 5}}}}]}}\n  strategy: {canary: {}}",
			nil,
		},
		"ready after a while": {"  minReadySeconds: 5\n  template: {spec: {containers: [{name: a, image: \"web:1\"}]}}\n  strategy: {canary: {}}", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var ro v1alpha1.Rollout
			if err := yaml.UnmarshalStrict([]byte("spec:\n"+tt.spec), &ro); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, h := range hazard.Of(&ro) {
				got = append(got, string(h.Kind)+" "+h.String())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A user who follows the advice of one warning must not get another.
func TestAdviceIsNotAHazard(t *testing.T) {
	scale := func(s string) string { return "{setCanaryScale: {" + s + "}}" }
	for name, tt := range map[string]struct{ before, after string }{
		"too few pods for the first weight": {scale("weight: 10") + ", {setWeight: 90}", scale("weight: 10") + ", " + scale("weight: 90") + ", {setWeight: 90}"},
		"too few pods for a later weight": {
			scale("replicas: 2") + ", {setWeight: 20}, {setWeight: 80}",
			scale("replicas: 2") + ", {setWeight: 20}, " + scale("matchTrafficWeight: true") + ", {setWeight: 80}",
		},
		"too few pods under traffic": {"{setWeight: 80}, " + scale("replicas: 1"), "{setWeight: 80}, " + scale("matchTrafficWeight: true")},
		"pods that go and come back": {
			scale("replicas: 1") + ", " + scale("matchTrafficWeight: true") + ", {setWeight: 10}",
			scale("replicas: 1") + ", {setWeight: 10}, " + scale("matchTrafficWeight: true"),
		},
		"pods that go and come back for more": {
			scale("replicas: 1") + ", " + scale("matchTrafficWeight: true") + ", {setWeight: 90}",
			scale("replicas: 1") + ", " + scale("weight: 90") + ", {setWeight: 90}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if len(hazardsOf(t, tt.before)) != 1 {
				t.Errorf("before: %v", hazardsOf(t, tt.before))
			}
			if after := hazardsOf(t, tt.after); len(after) > 0 {
				t.Errorf("after: %v", after)
			}
		})
	}
}

func hazardsOf(t *testing.T, steps string) []hazard.Hazard {
	t.Helper()
	var ro v1alpha1.Rollout
	text := "spec:\n" + probed + "  replicas: 10\n  strategy: {canary: {trafficRouting: {nginx: {}}, steps: [" + steps + "]}}"
	if err := yaml.UnmarshalStrict([]byte(text), &ro); err != nil {
		t.Fatal(err)
	}
	return hazard.Of(&ro)
}
