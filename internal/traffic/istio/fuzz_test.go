package istio_test

import (
	"testing"

	"github.com/sluice-delivery/sluice/internal/traffic/conformance"
	"github.com/sluice-delivery/sluice/internal/traffic/conformance/subjects"
)

func FuzzRender(f *testing.F) {
	f.Add([]byte(`{"metadata":{"annotations":{"rollouts.argoproj.io/istio-notes":"{\"shop/web\":{\"added\":[\"x\"]},\"a\":3}"}},"spec":{"http":[null,7,{"route":[null,{"weight":"x"},{"destination":{"host":"web-stable"},"weight":1.5},{"destination":{"host":"web-canary"}}]}]}}`), int32(7))
	conformance.Fuzz(f, subjects.Services, subjects.Istio(subjects.Rollout("shop"), nil, 0).Router)
}

func FuzzRenderSubsets(f *testing.F) {
	f.Add([]byte(`{"spec":{"host":3,"subsets":[null,{"name":"canary","labels":7},{"name":"stable","labels":{}},{"name":"stable"}],"http":[{"route":[{"destination":{"subset":"canary"}},{"destination":{"subset":"stable"},"weight":-1}]}]}}`), int32(7))
	conformance.Fuzz(f, subjects.Services, subjects.IstioSubsets(subjects.Rollout("shop"), nil, 0).Router)
}

func FuzzRenderSessions(f *testing.F) {
	f.Add([]byte(`{"spec":{"http":[{"match":[null,7,{"headers":3}],"route":[{"destination":{"host":"web-stable"},"headers":7},{"destination":{"host":"web-canary"},"headers":{"response":null}}]}]}}`), int32(7))
	conformance.Fuzz(f, subjects.Services, subjects.IstioSessions(subjects.Rollout("shop"), nil, 0).Router)
}
