package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/cli/act"
	"github.com/sluice-delivery/sluice/internal/view"
)

// seen is what completion reads of the Rollout that is named before: the Rollout and its ReplicaSets, the newest first.
func (a *app) seen(cmd *cobra.Command, given []string) (*v1alpha1.Rollout, []*appsv1.ReplicaSet, bool) {
	if len(given) == 0 {
		return nil, nil, false
	}
	c, err := a.connect()
	if err != nil {
		return nil, nil, false
	}
	ro, err := c.Rollout(cmd.Context(), given[0])
	if err != nil {
		return nil, nil, false
	}
	sets, err := c.ReplicaSets(cmd.Context(), ro)
	if err != nil {
		return nil, nil, false
	}
	slices.SortFunc(sets, func(a, b *appsv1.ReplicaSet) int { return int(act.RevisionOf(b) - act.RevisionOf(a)) })
	return ro, sets, true
}

// completeRevisions completes numbers of revisions, with their images.
func (a *app) completeRevisions(cmd *cobra.Command, given []string, begun string) ([]string, cobra.ShellCompDirective) {
	_, sets, ok := a.seen(cmd, given)
	if !ok {
		return nil, noFiles
	}
	var revisions []string
	for _, rs := range sets {
		if number := strconv.FormatInt(act.RevisionOf(rs), 10); strings.HasPrefix(number, begun) {
			revisions = append(revisions, number+"\t"+templateImages(&rs.Spec.Template))
		}
	}
	return revisions, noFiles | cobra.ShellCompDirectiveKeepOrder
}

// completeImages completes CONTAINER=IMAGE with the images that revisions have or had.
func (a *app) completeImages(cmd *cobra.Command, given []string, begun string) ([]string, cobra.ShellCompDirective) {
	container, _, _ := strings.Cut(begun, "=")
	_, sets, ok := a.seen(cmd, given)
	if !ok {
		return nil, noFiles
	}
	var images []string
	for _, rs := range sets {
		pod := rs.Spec.Template.Spec
		for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
			if text := container + "=" + c.Image; c.Name == container && strings.HasPrefix(text, begun) && !slices.Contains(images, text) {
				images = append(images, text)
			}
		}
	}
	return images, noFiles | cobra.ShellCompDirectiveKeepOrder
}

// completeGoals completes what can be waited for, and after "step=" the steps of the Rollout.
func (a *app) completeGoals(cmd *cobra.Command, given []string, begun string) ([]string, cobra.ShellCompDirective) {
	if !strings.HasPrefix(begun, "step=") {
		return goalNames, noFiles
	}
	ro, _, ok := a.seen(cmd, given)
	if !ok {
		return nil, noFiles
	}
	var steps []string
	for i, step := range view.Of(view.Objects{Rollout: ro}, a.clock.Now()).Steps {
		if text := fmt.Sprintf("step=%d", i+1); strings.HasPrefix(text, begun) {
			steps = append(steps, text+"\t"+step.Text)
		}
	}
	return steps, noFiles | cobra.ShellCompDirectiveKeepOrder
}

// completeNamespaces completes names of namespaces, for those who may list them.
func (a *app) completeNamespaces(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	c, err := a.connect()
	if err != nil {
		return nil, noFiles
	}
	list, err := c.Resource(corev1.SchemeGroupVersion.WithResource("namespaces")).List(cmd.Context(), metav1.ListOptions{})
	if err != nil {
		return nil, noFiles
	}
	var names []string
	for i := range list.Items {
		if name := list.Items[i].GetName(); strings.HasPrefix(name, begun) {
			names = append(names, name)
		}
	}
	return names, noFiles
}
