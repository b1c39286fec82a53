package plugintest

import (
	"fmt"
	"os"
	"os/exec"
	"sync"

	"github.com/sluice-delivery/sluice/internal/manifests"
)

// Samples builds the plugins of examples/plugins and the scripted one, once for all tests, and returns their folder.
var Samples = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "sluice-samples-")
	if err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-o", dir, "./examples/plugins/...", "./internal/plugin/plugintest/scripted")
	build.Dir = manifests.Root()
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the samples: %w\n%s", err, out)
	}
	return dir, nil
})
