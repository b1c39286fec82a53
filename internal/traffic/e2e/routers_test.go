package e2e

import (
	"path/filepath"
	"testing"

	"github.com/sluice-delivery/sluice/internal/playtest"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/conformance"
	"github.com/sluice-delivery/sluice/internal/traffic/conformance/subjects"
)

func TestGatewayAPI(t *testing.T) {
	ns := playtest.New(t)
	conformance.Run(t, subjects.GatewayAPI(rollout(ns), world(ns, subjects.Routes), 30))
}

func TestIstio(t *testing.T) {
	ns := playtest.New(t)
	conformance.Run(t, subjects.Istio(rollout(ns), world(ns, subjects.Services), 30))
}

func TestGatewayAPISessions(t *testing.T) {
	ns := playtest.New(t)
	conformance.Run(t, subjects.GatewaySessions(rollout(ns), world(ns, subjects.Routes), 10))
}

func TestIstioSessions(t *testing.T) {
	ns := playtest.New(t)
	conformance.Run(t, subjects.IstioSessions(rollout(ns), world(ns, subjects.Services), 10))
}

func TestIstioSubsets(t *testing.T) {
	ns := playtest.New(t)
	conformance.Run(t, subjects.IstioSubsets(rollout(ns), world(ns, subjects.Services), 30))
}

func TestNginx(t *testing.T) {
	ns := playtest.New(t)
	conformance.Run(t, subjects.Nginx(rollout(ns), world(ns, subjects.Ingresses), 30))
}

func TestTraefik(t *testing.T) {
	ns := playtest.New(t)
	conformance.Run(t, subjects.Traefik(rollout(ns), world(ns, subjects.TraefikServices), 30))
}

func TestTraefikMirrors(t *testing.T) {
	ns := playtest.New(t)
	conformance.Run(t, subjects.TraefikMirrors(rollout(ns), world(ns, subjects.TraefikServices), 30))
}

func TestALB(t *testing.T) {
	ns := playtest.New(t)
	conformance.Run(t, subjects.ALB(rollout(ns), world(ns, subjects.ALBIngresses), 30))
}

func TestApisix(t *testing.T) {
	ns := playtest.New(t)
	conformance.Run(t, subjects.Apisix(rollout(ns), world(ns, subjects.ApisixRoutes), 30))
}

func TestSMI(t *testing.T) {
	ns := playtest.New(t)
	conformance.Run(t, subjects.SMI(rollout(ns), world(ns, subjects.TrafficSplits), 30))
}

func TestAmbassador(t *testing.T) {
	ns := playtest.New(t)
	conformance.Run(t, subjects.Ambassador(rollout(ns), world(ns, subjects.Mappings), 30))
}

func TestCustom(t *testing.T) {
	for _, example := range subjects.CustomExamples() {
		t.Run(example, func(t *testing.T) {
			ns := playtest.New(t)
			owner := rollout(ns)
			conformance.Run(t, subjects.Custom(t, owner, example, worldOf(ns, func(t testing.TB) traffic.Objects { return subjects.Routing(t, example, ns.Name) }), 10))
		})
	}
}

// The examples are taken as they are.
func TestExamples(t *testing.T) {
	for _, example := range []string{"canary-gatewayapi", "canary-sessions", "canary-istio", "canary-nginx", "canary-traefik", "canary-traefik-mirror", "canary-alb", "canary-apisix", "canary-smi", "canary-ambassador", "canary-contour", "canary-gloo", "canary-kuma", "canary-skipper"} {
		t.Run(example, func(t *testing.T) {
			playtest.New(t).Apply(filepath.Join(playtest.Root(), "examples", example+".yaml"))
		})
	}
}
