package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/internal/cli/act"
)

const noFiles = cobra.ShellCompDirectiveNoFileComp

// completion completes arguments.
type completion = func(cmd *cobra.Command, given []string, begun string) ([]string, cobra.ShellCompDirective)

// completeSome completes names of objects, as many as one likes.
func (a *app) completeSome(k kind) completion {
	return func(cmd *cobra.Command, given []string, begun string) ([]string, cobra.ShellCompDirective) {
		c, err := a.connect()
		if err != nil {
			return nil, noFiles
		}
		all, err := c.Names(cmd.Context(), k.resource)
		if err != nil {
			return nil, noFiles
		}
		var names []string
		for _, name := range all {
			if strings.HasPrefix(name, begun) && !slices.Contains(given, name) {
				names = append(names, name)
			}
		}
		return names, noFiles
	}
}

// completeOne completes the one name that a command takes.
func (a *app) completeOne(k kind) completion {
	return func(cmd *cobra.Command, given []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(given) > 0 {
			return nil, noFiles
		}
		return a.completeSome(k)(cmd, given, begun)
	}
}

// completeContainers completes the name of a Rollout, then those of its containers up to the equals sign, then images.
func (a *app) completeContainers(cmd *cobra.Command, given []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(given) == 0 {
		return a.completeSome(rollouts)(cmd, nil, begun)
	}
	if strings.Contains(begun, "=") {
		return a.completeImages(cmd, given, begun)
	}
	c, err := a.connect()
	if err != nil {
		return nil, noFiles
	}
	holder, err := act.HolderOf(cmd.Context(), c, given[0])
	if err != nil {
		return nil, noFiles
	}
	var names []string
	for _, list := range act.ContainerLists {
		containers, _, _ := unstructured.NestedSlice(holder.Object.Object, "spec", "template", "spec", list)
		for _, container := range containers {
			if name := act.ContainerName(container); strings.HasPrefix(name+"=", begun) {
				names = append(names, name+"=")
			}
		}
	}
	return names, noFiles | cobra.ShellCompDirectiveNoSpace
}

func join(words []string) string { return strings.Join(words, ", ") }
