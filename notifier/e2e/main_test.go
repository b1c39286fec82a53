package e2e

import (
	"testing"

	"github.com/sluice-delivery/sluice/internal/playtest"
)

func TestMain(m *testing.M) { playtest.Main(m) }
