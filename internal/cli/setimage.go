package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"

	"github.com/sluice-delivery/sluice/internal/cli/live"
)

func (a *app) setCommand() *cobra.Command {
	return a.group("set", "Change a rollout", a.setImageCommand())
}

func (a *app) setImageCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "image NAME CONTAINER=IMAGE...",
		Short: "Update the container images of a rollout",
		Example: a.examples(`
			{} set image web nginx=nginx:1.16
			# All containers
			{} set image web '*=nginx:1.16'`),
		Args:              imageArgs,
		ValidArgsFunction: a.completeContainers,
		RunE: func(cmd *cobra.Command, args []string) error {
			images, err := parseImages(args[1:])
			if err != nil {
				return err
			}
			return a.each(cmd, args[:1], func(ctx context.Context, c live.Client, name string) (string, error) {
				changed, err := setImages(ctx, c, name, images)
				if !changed && err == nil {
					return fmt.Sprintf("rollout %q has these images already", name), nil
				}
				return fmt.Sprintf("rollout %q image updated", name), err
			})
		},
	}
}

// image is what a container should run. The container "*" is all of them.
type image struct{ container, name string }

const allContainers = "*"

func imageArgs(cmd *cobra.Command, args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("which image? Write %s NAME CONTAINER=IMAGE", cmd.CommandPath())
	}
	return nil
}

func parseImages(args []string) ([]image, error) {
	var images []image
	for _, arg := range args {
		container, name, ok := strings.Cut(arg, "=")
		if !ok || container == "" || name == "" {
			return nil, fmt.Errorf("%q is not CONTAINER=IMAGE", arg)
		}
		images = append(images, image{container, name})
	}
	return images, nil
}

// conflicts is how often writing is tried when others write at the same time; the controller does all the time.
var conflicts = wait.Backoff{Steps: 5, Duration: 10 * time.Millisecond, Factor: 2, Jitter: 0.1}

// setImages writes the whole object back: the version that was read must be the one that is replaced.
func setImages(ctx context.Context, c live.Client, rollout string, images []image) (changed bool, err error) {
	err = retry.RetryOnConflict(conflicts, func() error {
		holder, err := holderOf(ctx, c, rollout)
		if err != nil {
			return err
		}
		if changed, err = replaceImages(holder.object, rollout, images); err != nil || !changed {
			return err
		}
		_, err = holder.client.Update(ctx, holder.object, metav1.UpdateOptions{})
		return err
	})
	return changed, err
}

// containerLists are where a pod template has containers.
var containerLists = []string{"initContainers", "containers", "ephemeralContainers"}

// replaceImages changes the images in an object's pod template, all of them or, if a container is not there, none.
func replaceImages(object *unstructured.Unstructured, rollout string, images []image) (changed bool, err error) {
	lists := map[string][]any{}
	var known []string
	for _, list := range containerLists {
		containers, _, err := unstructured.NestedSlice(object.Object, "spec", "template", "spec", list)
		if err != nil {
			return false, fmt.Errorf("pod template of rollout '%s': %w", rollout, err)
		}
		for _, c := range containers {
			known = append(known, containerName(c))
		}
		lists[list] = containers
	}
	for _, i := range images {
		if i.container != allContainers && !slices.Contains(known, i.container) {
			return false, fmt.Errorf("rollout '%s' has no container '%s'; it has %s. Nothing was changed",
				rollout, i.container, join(known))
		}
		for list, containers := range lists {
			for _, c := range containers {
				if c, ok := c.(map[string]any); ok && (i.container == allContainers || i.container == containerName(c)) && c["image"] != i.name {
					c["image"], changed = i.name, true
				}
			}
			if len(containers) == 0 {
				continue
			}
			if err := unstructured.SetNestedSlice(object.Object, containers, "spec", "template", "spec", list); err != nil {
				return false, fmt.Errorf("pod template of rollout '%s': %w", rollout, err)
			}
		}
	}
	return changed, nil
}

func containerName(container any) string {
	c, _ := container.(map[string]any)
	name, _ := c["name"].(string)
	return name
}
