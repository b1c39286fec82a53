package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/notifier/config"
)

// complete completes a name of the configuration, and after it that of a Rollout, or a file. Without names, the first argument is the Rollout.
func (s *source) complete(names func(*config.Config) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, begun string) ([]string, cobra.ShellCompDirective) {
		s.in = cmd.InOrStdin()
		var all []string
		directive := cobra.ShellCompDirectiveNoFileComp
		switch {
		case names != nil && len(given) == 0:
			c, err := s.config(cmd.Context())
			if err != nil {
				return nil, directive
			}
			all = names(c)
		case len(given) > 1 || names == nil && len(given) > 0 || strings.HasPrefix(cmd.Use, "get "):
			return nil, directive
		default:
			all, directive = s.rollouts(cmd), cobra.ShellCompDirectiveDefault
		}
		slices.Sort(all)
		return slices.DeleteFunc(all, func(name string) bool { return !strings.HasPrefix(name, begun) }), directive
	}
}

// rollouts are the names of those in the namespace. Without a cluster there are none.
func (s *source) rollouts(cmd *cobra.Command) []string {
	c, namespace, err := s.client()
	if err != nil {
		return nil
	}
	var list unstructured.UnstructuredList
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("RolloutList"))
	if c.List(cmd.Context(), &list, client.InNamespace(namespace)) != nil {
		return nil
	}
	var all []string
	for i := range list.Items {
		all = append(all, list.Items[i].GetName())
	}
	return all
}
