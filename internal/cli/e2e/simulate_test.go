package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-delivery/sluice/internal/playtest"
)

// routedAndJudged is a Rollout with a router and two analyses, and all that it names.
const routedAndJudged = `
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec:
      containers: [{name: nginx, image: "nginx:1"}]
  strategy:
    canary:
      stableService: shop-stable
      canaryService: shop-canary
      trafficRouting: {gatewayAPI: {httpRoute: shop}}
      steps:
        - setWeight: 50
        - pause: {}
        - analysis: {templates: [{templateName: smoke}, {templateName: load, clusterScope: true}]}
---
apiVersion: argoproj.io/v1alpha1
kind: AnalysisTemplate
metadata: {name: smoke}
spec:
  metrics: [{name: smoke-test, interval: 10s, count: 3, provider: {web: {url: "http://shop"}}, successCondition: result == 1}]
---
apiVersion: argoproj.io/v1alpha1
kind: ClusterAnalysisTemplate
metadata: {name: load}
spec:
  metrics: [{name: load-test, provider: {web: {url: "http://shop"}}, successCondition: result == 1}]
---
apiVersion: v1
kind: Service
metadata: {name: shop-stable}
spec: {selector: {app: shop}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: shop-canary}
spec: {selector: {app: shop}, ports: [{port: 80}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: shop}
spec:
  parentRefs: [{name: edge}]
  rules: [{backendRefs: [{name: shop-stable, port: 80}, {name: shop-canary, port: 80, weight: 0}]}]
`

// Updates of a Rollout of the cluster, before and during a real one, and nothing of it is written.
func TestSimulateWhatTheClusterHas(t *testing.T) {
	ns := playtest.New(t)
	ns.StartController()
	p := newPlugin(t, ns)
	ns.Apply(manifest(t, routedAndJudged))
	ns.WaitForRollout("shop", "to be Healthy", playtest.Healthy)
	before := ns.Versions()

	out, _ := p.run(0, "simulate", "shop", "--image", "nginx=nginx:2", "--expect", "promoted", "--expect", "min-capacity>=2")
	contains(t, out, "shop: canary\n", "send 50 % to the canary: step 1 of 3", "metric load-test is Successful",
		"30s       step 3/3  new 50 %", "promoted after") // measured at 10, 20 and 30 s for the smoke-test
	if strings.Contains(out, "under way") {
		t.Errorf("nothing is under way:\n%s", out)
	}
	bad := filepath.Join(t.TempDir(), "bad.txt")
	if err := os.WriteFile(bad, []byte("at 0s fail metric load-test\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _ = p.run(0, "simulate", "shop", "--image", "nginx=nginx:2", "--scenario", bad, "--expect", "aborted")
	contains(t, out, "load-test")
	_, talk := p.run(2, "simulate", "shop", "--image", "nginx=nginx:2", "--scenario", bad, "--expect", "promoted")
	contains(t, talk, "promoted")

	for _, mistake := range []struct {
		args []string
		says string
	}{
		{[]string{"shpo", "--image", "nginx=nginx:2"}, "error: there is no rollout 'shpo' in namespace '" + ns.Name + "'; did you mean 'shop'?\n"},
		{[]string{"shop", "--image", "ngnix=nginx:2"}, `there is no container "ngnix": did you mean "nginx"?`},
		{[]string{"shop"}, "update shop to what? Give --image CONTAINER=IMAGE"},
	} {
		out, talk := p.run(1, append([]string{"simulate"}, mistake.args...)...)
		contains(t, talk, mistake.says)
		if out != "" {
			t.Errorf("%q: played all the same:\n%s", mistake.args, out)
		}
	}
	if diff := cmp.Diff(before, ns.Versions()); diff != "" {
		t.Errorf("resourceVersions before and after what was only played:\n%s", diff)
	}

	p.run(0, "set", "image", "shop", "nginx=nginx:2")
	ns.WaitForRollout("shop", "to pause", playtest.Paused)
	before = ns.Versions()
	for _, image := range []string{"nginx:2", "nginx:3"} {
		out, _ = p.run(0, "simulate", "shop", "--image", "nginx="+image, "--expect", "promoted", "--expect", "min-capacity>=2")
		contains(t, out, "0s        step 1/3", "send 50 % to the canary: step 1 of 3",
			"warning: an update is in progress: the simulation starts from the stable version")
	}
	if diff := cmp.Diff(before, ns.Versions()); diff != "" {
		t.Errorf("resourceVersions before and after what was only played:\n%s", diff)
	}

	p.run(0, "abort", "shop")
	ns.WaitForRollout("shop", "to be Degraded", playtest.Degraded)
	out, _ = p.run(0, "simulate", "shop", "--image", "nginx=nginx:3", "--expect", "promoted")
	contains(t, out, "warning: the previous update was aborted: the simulation starts from the stable version alone")

	load := filepath.Join(t.TempDir(), "load.txt")
	if err := os.WriteFile(load, []byte("at 5s load 4\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, talk = p.run(1, "simulate", "shop", "--image", "nginx=nginx:3", "--scenario", load)
	contains(t, talk, `none in namespace "`+ns.Name+`" scales Rollout "shop"`)
	ns.Apply(manifest(t, autoscaled))
	out, _ = p.run(0, "simulate", "shop", "--image", "nginx=nginx:3", "--scenario", load)
	contains(t, out, "the autoscaler scales from 2 to 4")
}

const autoscaled = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: shop}
spec:
  scaleTargetRef: {apiVersion: argoproj.io/v1alpha1, kind: Rollout, name: shop}
  minReplicas: 1
  maxReplicas: 5
  metrics: [{type: Resource, resource: {name: cpu, target: {type: AverageValue, averageValue: "1"}}}]
`
