package custom_test

import (
	"testing"

	"github.com/sluice-delivery/sluice/internal/traffic/conformance"
	"github.com/sluice-delivery/sluice/internal/traffic/conformance/subjects"
)

func FuzzRenderContour(f *testing.F) { fuzz(f, "contour") }
func FuzzRenderGloo(f *testing.F)    { fuzz(f, "gloo") }
func FuzzRenderKuma(f *testing.F)    { fuzz(f, "kuma") }
func FuzzRenderSkipper(f *testing.F) { fuzz(f, "skipper") }

// fuzz changes the object of an example.
func fuzz(f *testing.F, example string) {
	f.Add([]byte(`{"spec":{"routes":[null,7,{"services":[null,{"name":3,"weight":"x"},{"name":"web-stable","weight":1.5},{"name":"web-canary"}]}],"to":[{"rules":[{"default":{"backendRefs":7}}]}]}}`), int32(7))
	objects := subjects.Routing(f, example, "shop")
	conformance.FuzzObjects(f, objects, subjects.Custom(f, subjects.Rollout("shop"), example, nil, 0).Router)
}
