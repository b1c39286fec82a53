//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// example is what the demo needs to know of the Rollout that it applies.
type example struct {
	path                      string
	rollout, container, image string
	isBlueGreen               bool
	// isJudged: an analysis decides, and no person.
	isJudged bool
}

// readExample finds the Rollout in the example of a strategy: canary, bluegreen or analysis.
func readExample(strategy string) (example, error) {
	e := example{path: "examples/" + strategy + ".yaml"}
	text, err := os.ReadFile(e.path)
	if errors.Is(err, os.ErrNotExist) {
		return example{}, fmt.Errorf("there is no %s: STRATEGY is canary, bluegreen, analysis, or traffic, and the demo is run from the root of the repository", e.path)
	}
	if err != nil {
		return example{}, err
	}
	objects := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		var ro v1alpha1.Rollout
		switch err := objects.Decode(&ro); {
		case errors.Is(err, io.EOF):
			return example{}, fmt.Errorf("%s has no Rollout with containers", e.path)
		case err != nil:
			return example{}, fmt.Errorf("%s: %w", e.path, err)
		case ro.Kind == v1alpha1.KindRollout && len(ro.Spec.Template.Spec.Containers) > 0:
			c := ro.Spec.Template.Spec.Containers[0]
			e.rollout, e.container, e.image = ro.Name, c.Name, c.Image
			e.isBlueGreen = ro.Spec.Strategy.BlueGreen != nil
			e.isJudged = ro.Spec.Strategy.Canary != nil && ro.Spec.Strategy.Canary.Analysis != nil
			return e, nil
		}
	}
}

// faultyImage is a version whose pods answer with errors.
func (e example) faultyImage() string {
	name, _, _ := strings.Cut(e.image, ":")
	return name + ":" + faultyTag
}

// newImage is the same image in another version; nothing is ever pulled.
func (e example) newImage() string {
	name, tag, _ := strings.Cut(e.image, ":")
	if tag == "blue" {
		return name + ":green"
	}
	return name + ":1.16.1"
}
