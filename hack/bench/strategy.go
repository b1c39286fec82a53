//go:build linux

package main

import (
	"fmt"
	"strings"
)

// strategy is one row of the table: how rollouts are updated, what else they need, and what they may cost.
type strategy struct {
	name string
	// words describe it in the table.
	words string
	// spec is the Rollout's spec.strategy; objects are what it names. NAME is the rollout's name in both.
	spec, objects string
	// budget of one rollout's update and the rest after it.
	writes, eventless, reads, cpuMillis, seconds int
}

var strategies = []strategy{
	{
		name: "canary", words: "20 %, 1 s, 60 %, 1 s; maxSurge 1, maxUnavailable 0",
		writes: 30, eventless: 14, cpuMillis: 20, seconds: 8,
		spec: `{canary: {maxSurge: 1, maxUnavailable: 0, steps: [
			{setWeight: 20}, {pause: {duration: 1s}}, {setWeight: 60}, {pause: {duration: 1s}}]}}`,
	},
	{
		name: "nine-steps", words: "10 % to 90 % without pauses; maxSurge 1, maxUnavailable 0",
		writes: 30, cpuMillis: 20,
		spec: `{canary: {maxSurge: 1, maxUnavailable: 0, steps: [
			{setWeight: 10}, {setWeight: 20}, {setWeight: 30}, {setWeight: 40}, {setWeight: 50},
			{setWeight: 60}, {setWeight: 70}, {setWeight: 80}, {setWeight: 90}]}}`,
	},
	{
		name: "bluegreen", words: "scaleDownDelaySeconds 1",
		writes: 18, reads: 2, cpuMillis: 12,
		spec:    `{blueGreen: {activeService: NAME-active, scaleDownDelaySeconds: 1}}`,
		objects: service("NAME-active"),
	},
	{
		name: "nginx", words: "20 %, 1 s, 60 %, 1 s of the traffic, by a canary Ingress; scaleDownDelaySeconds 1",
		writes: 32, reads: 4, cpuMillis: 25,
		spec:    routed("nginx: {stableIngress: NAME}"),
		objects: service("NAME-stable") + service("NAME-canary") + ingress,
	},
	{
		name: "gateway-api", words: "20 %, 1 s, 60 %, 1 s of the traffic, by an HTTPRoute; scaleDownDelaySeconds 1",
		writes: 32, reads: 4, cpuMillis: 25,
		spec:    routed("gatewayAPI: {httpRoute: NAME}"),
		objects: service("NAME-stable") + service("NAME-canary") + httpRoute,
	},
	{
		name: "istio", words: "20 %, 1 s, 60 %, 1 s of the traffic, by a VirtualService; scaleDownDelaySeconds 1",
		writes: 32, reads: 4, cpuMillis: 25,
		spec:    routed("istio: {virtualService: {name: NAME}}"),
		objects: service("NAME-stable") + service("NAME-canary") + virtualService,
	},
	{
		name: "alb", words: "20 %, 1 s, 60 %, 1 s of the traffic, by an action of an Ingress; scaleDownDelaySeconds 1",
		writes: 32, reads: 4, cpuMillis: 25,
		spec:    routed("alb: {ingress: NAME, servicePort: 80}"),
		objects: service("NAME-stable") + service("NAME-canary") + albIngress,
	},
}

func strategyNames() []string {
	var names []string
	for _, s := range strategies {
		names = append(names, s.name)
	}
	return names
}

func service(name string) string {
	return fmt.Sprintf(`---
apiVersion: v1
kind: Service
metadata: {name: %s}
spec:
  selector: {app: NAME}
  ports: [{port: 80}]
`, name)
}

// routed is a canary whose traffic a router splits.
func routed(router string) string {
	return `{canary: {stableService: NAME-stable, canaryService: NAME-canary, scaleDownDelaySeconds: 1, trafficRouting: {` + router + `}, steps: [
		{setWeight: 20}, {pause: {duration: 1s}}, {setWeight: 60}, {pause: {duration: 1s}}]}}`
}

const ingress = `---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: NAME}
spec:
  ingressClassName: nginx
  rules:
  - host: NAME.example.org
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: NAME-stable, port: {number: 80}}}}
`

const httpRoute = `---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: NAME}
spec:
  parentRefs: [{name: gateway}]
  rules:
  - backendRefs: [{name: NAME-stable, port: 80}, {name: NAME-canary, port: 80}]
`

const virtualService = `---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: NAME}
spec:
  hosts: [NAME.example.org]
  http:
  - route:
    - {destination: {host: NAME-stable}, weight: 100}
    - {destination: {host: NAME-canary}, weight: 0}
`

const albIngress = `---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: NAME}
spec:
  ingressClassName: alb
  rules:
  - host: NAME.example.org
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: NAME-stable, port: {name: use-annotation}}}}
`

// manifests are one rollout of this strategy and what it names.
func (s strategy) manifests(name string, replicas int) string {
	return strings.ReplaceAll(s.objects, "NAME", name) + "---\n" + s.rollout(name, replicas)
}

// rollout is the Rollout alone.
func (s strategy) rollout(name string, replicas int) string {
	spec := strings.ReplaceAll(strings.ReplaceAll(s.spec, "\t", ""), "\n", " ")
	return strings.ReplaceAll(`
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: NAME}
spec:
  replicas: `+fmt.Sprint(replicas)+`
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: web, image: "web:1"}]
  strategy: `+spec+"\n", "NAME", name)
}
