package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/hack/traffic/plane"
)

// cell is one update of one Rollout under load.
type cell struct {
	strategy strategy
	event    event
	lag      time.Duration
	// careless is a mistake in the pods' settings that loses requests, and why; nil in the matrix proper.
	careless *mistake
}

func (c cell) String() string {
	name := c.strategy.name + ", " + c.event.name + ", " + c.lag.String()
	if c.careless != nil {
		name += ", " + c.careless.name
	}
	return name
}

// judged reports whether an analysis judges the update.
func (c cell) judged() bool { return strings.Contains(c.strategy.objects, "AnalysisTemplate") }

// countsCopies reports whether the copies that the new version got are counted.
func (c cell) countsCopies() bool { return c.strategy.beta == betaMirrored && c.event.counted }

// lags of the data plane: kube-proxy and the gateway are equally late.
func (c cell) lags() plane.Lag { return plane.Lag{Services: c.lag, Gateway: c.lag} }

// strategy is how the Rollout is updated.
type strategy struct {
	name string
	// spec of the strategy.
	spec string
	// gateway: requests come through NGINX. Otherwise they come by the Service "web".
	gateway bool
	// objects that the strategy needs.
	objects string
	// beta is what happens first to requests with the betaHeader. Where something does, a quarter more requests have it.
	beta beta
}

// betaHeader is what requests for the beta version have.
const betaHeader = "X-Beta"

// beta is how the new version gets requests with the betaHeader before it gets any others.
type beta int

const (
	noBeta beta = iota
	// betaRouted: it answers them, and no others.
	betaRouted
	// betaMirrored: it gets copies of them, and answers nobody.
	betaMirrored
)

const pods = 4

var steps = `steps: [{setWeight: 25}, {pause: {duration: 6s}}, {setWeight: 50}, {pause: {duration: 6s}}]`

var strategies = []strategy{
	{name: "canary", spec: `{canary: {maxSurge: 1, maxUnavailable: 0, ` + steps + `}}`, objects: service("web")},
	{
		name: "blue-green", spec: `{blueGreen: {activeService: web, previewService: web-preview, scaleDownDelaySeconds: 10, abortScaleDownDelaySeconds: 10}}`,
		objects: service("web") + service("web-preview"),
	},
	{name: "NGINX", spec: routed(`nginx: {stableIngress: web}`, delays), gateway: true, objects: service("web-stable") + service("web-canary") + ingress},
	{
		name: "NGINX, dynamicStableScale", spec: routed(`nginx: {stableIngress: web}`, "dynamicStableScale: true, "), gateway: true,
		objects: service("web-stable") + service("web-canary") + ingress,
	},
	{name: "Gateway API", spec: routed(`gatewayAPI: {httpRoute: web}`, delays), gateway: true, objects: service("web-stable") + service("web-canary") + httpRoute},
	{
		name: "Gateway API, a header first", gateway: true, beta: betaRouted, objects: service("web-stable") + service("web-canary") + httpRoute,
		spec: `{canary: {canaryService: web-canary, stableService: web-stable, ` + delays + `trafficRouting: {managedRoutes: [{name: beta}], gatewayAPI: {httpRoute: web}}, ` +
			`steps: [{setCanaryScale: {replicas: 1}}, {setHeaderRoute: {name: beta, match: [{headerName: ` + betaHeader + `, headerValue: {exact: "1"}}]}}, ` +
			`{pause: {duration: 8s}}, {setCanaryScale: {matchTrafficWeight: true}}, {setWeight: 25}, {setWeight: 50}, {pause: {duration: 6s}}]}}`,
	},
	{
		name: "Gateway API, copies first", gateway: true, beta: betaMirrored, objects: service("web-stable") + service("web-canary") + httpRoute,
		spec: `{canary: {canaryService: web-canary, stableService: web-stable, ` + delays + `trafficRouting: {managedRoutes: [{name: copies}], gatewayAPI: {httpRoute: web}}, ` +
			`steps: [{setCanaryScale: {replicas: 1}}, {setMirrorRoute: {name: copies, match: [{headers: {` + betaHeader + `: {exact: "1"}}}]}}, ` +
			`{pause: {duration: 10s}}, {setMirrorRoute: {name: copies}}, {setWeight: 25}, {setCanaryScale: {matchTrafficWeight: true}}, {setWeight: 50}, {pause: {duration: 6s}}]}}`,
	},
}

// delays of pods that get no traffic any more: longer than the data plane is late.
const delays = "scaleDownDelaySeconds: 10, abortScaleDownDelaySeconds: 10, "

func routed(router, more string) string {
	return `{canary: {canaryService: web-canary, stableService: web-stable, ` + more +
		`trafficRouting: {` + router + `}, ` + steps + `}}`
}

func service(name string) string {
	return `
---
apiVersion: v1
kind: Service
metadata: {name: ` + name + `}
spec: {selector: {app: web}, ports: [{name: http, port: 80, targetPort: http}]}
`
}

// host is what requests through the gateway ask for.
const host = "web.example.org"

const ingress = `
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec:
  ingressClassName: nginx
  rules:
  - host: ` + host + `
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web-stable, port: {number: 80}}}}]}
`

const httpRoute = `
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web}
spec:
  parentRefs: [{name: gateway}]
  hostnames: [` + host + `]
  rules:
  - backendRefs:
    - {name: web-stable, port: 80}
    - {name: web-canary, port: 80}
`

// mistake is a setting that loses requests.
type mistake struct {
	name, why string
	// in what it is.
	preStop, probe bool
	// lag of the data plane with which it shows.
	lag time.Duration
}

var mistakes = []mistake{
	{name: "no preStop hook", why: "a pod closes its port as soon as it is deleted, and proxies send to it until they learn of that: a preStop hook that sleeps longer than they take", preStop: true, lag: 2 * time.Second},
	{name: "no readiness probe", why: "a pod gets requests before it listens: a readiness probe", probe: true},
}

// rollout is the Rollout of a cell with the first version, for a load of a number of requests per second.
func (c cell) rollout(namespace string, rate int) string {
	preStop, probe := `lifecycle: {preStop: {sleep: {seconds: `+strconv.Itoa(int(c.lag.Seconds())+5)+`}}}`, `readinessProbe: {httpGet: {path: /, port: http}}`
	if c.careless != nil && c.careless.preStop {
		preStop = ""
	}
	if c.careless != nil && c.careless.probe {
		probe = ""
	}
	instance := ""
	if c.event.standby {
		instance = v1alpha1.InstanceIDLabel + ": " + namespace
	}
	lines := slices.DeleteFunc([]string{probe, preStop}, func(s string) bool { return s == "" })
	return fmt.Sprintf(`
---
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web, labels: {%s}}
spec:
  replicas: %d
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 30
      containers:
      - name: app
        image: %s
        ports: [{name: http, containerPort: 8080}]
        resources: {requests: {cpu: %dm}}
        %s
  strategy: %s
`, instance, pods, image("v1"), cpu(rate), strings.Join(lines, "\n        "), c.strategy.spec)
}

// cpu is the processor time that a pod asks for, in thousandths: half of what its share of the requests costs, at a millisecond for each.
func cpu(rate int) int { return max(1, rate/pods/2) }

func image(tag string) string { return "sluice-playground/http:" + tag }
