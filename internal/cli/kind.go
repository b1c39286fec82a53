package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/sluice-delivery/sluice/internal/cli/live"
)

// kind is a sort of object that commands are given by name.
type kind struct {
	resource schema.GroupVersionResource
	// noun is what messages call one of them, and the word for it in a command.
	noun string
	// aliases are other words for it in a command.
	aliases []string
}

// kinds are those that commands are given by name.
var (
	rollouts     = kind{live.Rollouts, "rollout", []string{"ro", "rollouts"}}
	experiments  = kind{live.Experiments, "experiment", []string{"exp", "experiments"}}
	analysisRuns = kind{live.AnalysisRuns, "analysisrun", []string{"ar", "analysisruns"}}
)

// kindOf is the kind that the API server calls by the name of its resource.
func kindOf(resource string) (kind, bool) {
	for _, k := range []kind{rollouts, experiments, analysisRuns} {
		if k.resource.Resource == resource {
			return k, true
		}
	}
	return kind{}, false
}

// in are the objects of this kind in the client's namespace.
func (k kind) in(c live.Client) dynamic.ResourceInterface {
	return c.Resource(k.resource).Namespace(c.Namespace)
}

// one checks that a command was given exactly one name.
func (k kind) one(cmd *cobra.Command, args []string) error {
	if err := k.some(cmd, args); err != nil {
		return err
	}
	if len(args) > 1 {
		return fmt.Errorf("%s takes one name, not %q", cmd.CommandPath(), args)
	}
	return nil
}

// some checks that a command was given at least one name.
func (k kind) some(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("which %s? Give its name: %s NAME", k.noun, cmd.CommandPath())
	}
	return nil
}
