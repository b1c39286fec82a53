//go:build unix

package main

import (
	"fmt"
	"os"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

const examplePath = "examples/canary.yaml"

// example is what the demo needs to know of the Rollout that it applies.
type example struct {
	rollout, container, image string
}

func readExample() (example, error) {
	text, err := os.ReadFile(examplePath)
	if err != nil {
		return example{}, fmt.Errorf("%w (run this from the root of the repository)", err)
	}
	var ro v1alpha1.Rollout
	if err := yaml.Unmarshal(text, &ro); err != nil {
		return example{}, fmt.Errorf("%s: %w", examplePath, err)
	}
	if len(ro.Spec.Template.Spec.Containers) == 0 {
		return example{}, fmt.Errorf("%s has no containers", examplePath)
	}
	c := ro.Spec.Template.Spec.Containers[0]
	return example{rollout: ro.Name, container: c.Name, image: c.Image}, nil
}

// newImage is the same image in a newer version; nothing is ever pulled.
func (e example) newImage() string {
	name, _, _ := strings.Cut(e.image, ":")
	return name + ":1.16.1"
}
