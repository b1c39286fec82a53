package nginx_test

import (
	"testing"

	"github.com/sluice-delivery/sluice/internal/traffic/conformance"
	"github.com/sluice-delivery/sluice/internal/traffic/conformance/subjects"
)

func FuzzRender(f *testing.F) {
	conformance.Fuzz(f, subjects.Ingresses, subjects.Nginx(subjects.Rollout("shop"), nil, 0).Router)
}
