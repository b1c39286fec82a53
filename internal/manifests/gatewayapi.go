package manifests

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
)

// GatewayAPI returns the files with the CRDs of the routes and ReferenceGrants of the Gateway API, of its experimental channel, which has all of them in all
// versions that are served anywhere. They come from the Go module that hack/gatewayapi pins, which is downloaded if need be.
func GatewayAPI() ([]string, error) {
	const module = "sigs.k8s.io/gateway-api"
	download := exec.Command("go", "mod", "download", "-json", module)
	download.Dir = filepath.Join(Root(), "hack", "gatewayapi")
	out, err := download.Output()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		return nil, fmt.Errorf("run go: %w", err)
	}
	var found struct{ Dir, Error string }
	if err := json.Unmarshal(out, &found); err != nil {
		return nil, fmt.Errorf("read what go mod download says of %s: %w", module, err)
	}
	if found.Error != "" || found.Dir == "" {
		return nil, fmt.Errorf("download %s: %s", module, found.Error)
	}
	folder := filepath.Join(found.Dir, "config", "crd", "experimental")
	files, err := filepath.Glob(filepath.Join(folder, "gateway.networking.k8s.io_*routes.yaml"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("no CRDs of routes in %s", found.Dir)
	}
	return append(files, filepath.Join(folder, "gateway.networking.k8s.io_referencegrants.yaml")), err
}
