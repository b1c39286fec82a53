package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const noFiles = cobra.ShellCompDirectiveNoFileComp

// completeRollouts completes names of Rollouts, as many as one likes.
func (a *app) completeRollouts(cmd *cobra.Command, given []string, begun string) ([]string, cobra.ShellCompDirective) {
	c, err := a.connect()
	if err != nil {
		return nil, noFiles
	}
	rollouts, err := c.RolloutList(cmd.Context())
	if err != nil {
		return nil, noFiles
	}
	var names []string
	for _, ro := range rollouts {
		if strings.HasPrefix(ro.Name, begun) && !slices.Contains(given, ro.Name) {
			names = append(names, ro.Name)
		}
	}
	return names, noFiles
}

// completeRollout completes the one name that a command takes.
func (a *app) completeRollout(cmd *cobra.Command, given []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(given) > 0 {
		return nil, noFiles
	}
	return a.completeRollouts(cmd, given, begun)
}

// completeContainers completes the name of a Rollout and then those of its containers, up to the equals sign.
func (a *app) completeContainers(cmd *cobra.Command, given []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(given) == 0 {
		return a.completeRollouts(cmd, nil, begun)
	}
	c, err := a.connect()
	if err != nil {
		return nil, noFiles
	}
	holder, err := holderOf(cmd.Context(), c, given[0])
	if err != nil {
		return nil, noFiles
	}
	var names []string
	for _, list := range containerLists {
		containers, _, _ := unstructured.NestedSlice(holder.object.Object, "spec", "template", "spec", list)
		for _, container := range containers {
			if name := containerName(container); strings.HasPrefix(name+"=", begun) {
				names = append(names, name+"=")
			}
		}
	}
	return names, noFiles | cobra.ShellCompDirectiveNoSpace
}

func join(words []string) string { return strings.Join(words, ", ") }
