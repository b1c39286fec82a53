package gatewayapi_test

import (
	"testing"

	"github.com/sluice-delivery/sluice/internal/traffic/conformance"
	"github.com/sluice-delivery/sluice/internal/traffic/conformance/subjects"
)

func FuzzRenderSessions(f *testing.F) {
	f.Add([]byte(`{"spec":{"rules":[{"matches":[null,7,{"headers":3}],"backendRefs":[{"name":"web-stable","filters":7},{"name":"web-canary","filters":[null,{"type":"ResponseHeaderModifier","responseHeaderModifier":{"add":7}}]}]}]}}`), int32(7))
	f.Add([]byte(`{"metadata":{"annotations":{"rollouts.argoproj.io/gatewayapi-notes":"{\"shop/web\":{\"sessions\":[\"1\",\"1\"],\"cookie\":\"\"}}"}},"spec":{"rules":[{"name":"sluice.shop.web.session.canary"},{"name":"sluice.shop.web.session.stable.x"},{"backendRefs":[{"name":"web-stable","filters":[{"type":"ResponseHeaderModifier","responseHeaderModifier":{"add":[{"name":"Set-Cookie","value":"=a; Path=/; Max-Age=1; HttpOnly; SameSite=Lax"}],"remove":["set-cookie"]}}]}]}]}}`), int32(7))
	conformance.Fuzz(f, subjects.Routes, subjects.GatewaySessions(subjects.Rollout("shop"), nil, 0).Router)
}

func FuzzRender(f *testing.F) {
	conformance.Fuzz(f, subjects.Routes, subjects.GatewayAPI(subjects.Rollout("shop"), nil, 0).Router)
}
