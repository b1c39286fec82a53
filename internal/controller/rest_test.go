package controller_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
)

// configuration is a Rollout of two pods that pauses in the middle of an update.
type configuration struct {
	manifest string
	// halfway is how many pods there are at the pause.
	halfway int32
}

const halfTheWeight = `[{setWeight: 50}, {pause: {}}]`

// configurations are all the ways in which tests set up a Rollout.
var configurations = map[string]configuration{
	"GatewayAPI": {routed(2, routers["GatewayAPI"], halfTheWeight, "scaleDownDelaySeconds: 1"), 3},
	"GatewayAPI with managed routes": {routed(2, `{gatewayAPI: {httpRoute: web}, managedRoutes: [{name: beta}, {name: shadow}]}`,
		`[{setCanaryScale: {replicas: 1}}, {setHeaderRoute: {name: beta, match: [{headerName: x-beta, headerValue: {exact: "1"}}]}},
          {setMirrorRoute: {name: shadow, percentage: 10, match: [{path: {prefix: /}}]}}, {setWeight: 50}, {pause: {}}]`, "scaleDownDelaySeconds: 1"), 3},
	"GatewayAPI, dynamicStableScale": {routed(2, routers["GatewayAPI"], halfTheWeight, "dynamicStableScale: true"), 2},
	"GatewayAPI, enforceMaxSurge": {routed(2, routers["GatewayAPI"], halfTheWeight,
		"dynamicStableScale: true, enforceMaxSurge: true, maxSurge: 1"), 2},
	"GatewayAPI, pingPong": {canary(2, `{pingPong: {pingService: web-stable, pongService: web-canary}, trafficRouting: {gatewayAPI: {httpRoute: web}},
        scaleDownDelaySeconds: 1, steps: `+halfTheWeight+`}`), 3},
	"GatewayAPI, labels and anti-affinity": {routed(2, routers["GatewayAPI"], halfTheWeight, `scaleDownDelaySeconds: 1,
        canaryMetadata: {labels: {role: canary}}, stableMetadata: {labels: {role: stable}},
        antiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: {weight: 1}}`), 3},
	"the plugin's settings": {routed(2, routers["the Gateway API plugin's own settings"], halfTheWeight,
		"scaleDownDelaySeconds: 1, minPodsPerReplicaSet: 1"), 3},
	"Nginx": {routed(2, routers["Nginx"], halfTheWeight, "scaleDownDelaySeconds: 1"), 3},
	"Nginx with annotations": {routed(2, `{nginx: {stableIngress: web, additionalIngressAnnotations: {canary-by-header: x-beta}}}`,
		halfTheWeight, "scaleDownDelaySeconds: 1"), 3},
	"Nginx, maxTrafficWeight":   {routed(2, `{nginx: {stableIngress: web}, maxTrafficWeight: 1000}`, `[{setWeight: 500}, {pause: {}}]`, "scaleDownDelaySeconds: 1"), 3},
	"Nginx, dynamicStableScale": {routed(2, routers["Nginx"], halfTheWeight, "dynamicStableScale: true"), 2},
	"Nginx, enforceMaxSurge":    {routed(2, routers["Nginx"], halfTheWeight, "dynamicStableScale: true, enforceMaxSurge: true, maxSurge: 1"), 2},
	"both routers":              {routed(2, `{gatewayAPI: {httpRoute: web}, nginx: {stableIngress: web}}`, halfTheWeight, "scaleDownDelaySeconds: 1"), 3},
	"routed, of a Deployment": {referring("Deployment", "progressively", 2,
		`canary: {canaryService: web-canary, stableService: web-stable, trafficRouting: {gatewayAPI: {httpRoute: web}}, scaleDownDelaySeconds: 1, steps: `+halfTheWeight+`}`), 3},
	"routed, analysed": {routed(2, routers["GatewayAPI"], `[{setWeight: 50}, {analysis: `+smoked+`}, {pause: {}}]`, "scaleDownDelaySeconds: 1"), 3},
	"routed, with an experiment": {listening(routed(2, routers["GatewayAPI"], `[{setWeight: 50}, {experiment: {duration: 1s, scaleDownDelaySeconds: 1,
        templates: [{name: trial, specRef: canary, weight: 10}]}}, {pause: {}}]`, "scaleDownDelaySeconds: 1")), 3},
	"Services without a router": {canary(2, `{canaryService: web-canary, stableService: web-stable, steps: `+halfTheWeight+`}`), 2},
	"pods alone": {canary(2, `{steps: `+halfTheWeight+`, canaryMetadata: {labels: {role: canary}}, stableMetadata: {labels: {role: stable}},
        antiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {}}}`), 2},
	"pods alone, of a Deployment": {referring("Deployment", "onsuccess", 2, `canary: {steps: `+halfTheWeight+`}`), 2},
	"pods alone, analysed":        {canary(2, `{steps: [{setWeight: 50}, {analysis: `+smoked+`}, {pause: {}}]}`), 2},
	"blue-green": {blueGreen(2, `{activeService: web-stable, previewService: web-canary, autoPromotionEnabled: false, previewReplicaCount: 1,
        scaleDownDelaySeconds: 1, previewMetadata: {labels: {role: preview}}, activeMetadata: {labels: {role: active}}}`), 3},
	"blue-green, analysed": {blueGreen(2, `{activeService: web-stable, autoPromotionEnabled: false, scaleDownDelaySeconds: 1,
        prePromotionAnalysis: `+smoked+`, postPromotionAnalysis: `+smoked+`}`), 4},
}

const smoked = `{templates: [{templateName: smoke}], args: [{name: hash, valueFrom: {podTemplateHashValue: Latest}}]}`

// TestC11AtRest: in every setup, a Rollout with nothing to do is not written for a minute, nor is anything that it uses, not even
// when the controller restarts.
func TestC11AtRest(t *testing.T) {
	t.Parallel()
	for name, c := range configurations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := playtest.NewEarly(t)
			createRoute(t, ns, c.manifest)
			createTemplate(t, ns, "smoke")
			ns.PassAnalysisRuns()
			deployed := strings.Contains(c.manifest, "workloadRef")
			if deployed {
				createDeployment(t, ns, 2)
			}
			ns.StartController()
			ns.CreateRollout(c.manifest)
			ns.WaitForRollout("web", "to be Healthy", both(playtest.Healthy, pods(2)))
			if deployed {
				setDeploymentImage(t, ns, "nginx:2")
			} else {
				ns.SetImage("web", "nginx:2")
			}
			ns.WaitForRollout("web", "to pause", both(playtest.Paused, pods(c.halfway)))
			waitForQuiet(t, ns)
			ns.RestartsQuietly(func() map[string]string { return writesOf(ns) })

			ns.PatchStatus("web", `{"status":{"promoteFull":true}}`)
			ns.WaitForRollout("web", "to be Healthy on the second version", both(playtest.Healthy, revision("2"), pods(2), unweighted))
			ns.WaitForPodsToGo()
			waitForQuiet(t, ns)
			before := writesOf(ns)
			if history := ns.Record(); !history.Quiet(time.Minute) {
				t.Errorf("something was written in the minute after all was settled:\n%s", history.Stop())
			}
			if diff := cmp.Diff(before, writesOf(ns)); diff != "" {
				t.Errorf("resourceVersions before and after the minute:\n%s", diff)
			}
			ns.RestartsQuietly(func() map[string]string { return writesOf(ns) })
		})
	}
}

// waitForQuiet waits until nothing moves: counts of pods are gathered for a moment before they are written, and experiments tell of theirs.
func waitForQuiet(t *testing.T, ns *playtest.Namespace) {
	t.Helper()
	for deadline := time.Now().Add(playtest.Patience); !ns.Record().Quiet(5 * time.Second); {
		if time.Now().After(deadline) {
			t.Fatalf("things still happen after %s", playtest.Patience)
		}
	}
}

// unweighted reports whether the canary gets no share, if there are shares.
func unweighted(ro *v1alpha1.Rollout) bool {
	return ro.Status.Canary.Weights == nil || ro.Status.Canary.Weights.Canary.Weight == 0
}
