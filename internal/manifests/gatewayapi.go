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
	dir, err := moduleDir("gatewayapi", "sigs.k8s.io/gateway-api")
	if err != nil {
		return nil, err
	}
	folder := filepath.Join(dir, "config", "crd", "experimental")
	files, err := filepath.Glob(filepath.Join(folder, "gateway.networking.k8s.io_*routes.yaml"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("no CRDs of routes in %s", dir)
	}
	return append(files, filepath.Join(folder, "gateway.networking.k8s.io_referencegrants.yaml")), err
}

// Istio returns the file with Istio's CRDs, from the Go module that hack/istio pins.
func Istio() (string, error) {
	dir, err := moduleDir("istio", "istio.io/api")
	return filepath.Join(dir, "kubernetes", "customresourcedefinitions.gen.yaml"), err
}

// moduleDir is where the module is that a folder of hack pins. It is downloaded if need be.
func moduleDir(folder, module string) (string, error) {
	download := exec.Command("go", "mod", "download", "-json", module)
	download.Dir = filepath.Join(Root(), "hack", folder)
	out, err := download.Output()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		return "", fmt.Errorf("run go: %w", err)
	}
	var found struct{ Dir, Error string }
	if err := json.Unmarshal(out, &found); err != nil {
		return "", fmt.Errorf("read what go mod download says of %s: %w", module, err)
	}
	if found.Error != "" || found.Dir == "" {
		return "", fmt.Errorf("download %s: %s", module, found.Error)
	}
	return found.Dir, nil
}
