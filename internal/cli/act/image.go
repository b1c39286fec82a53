package act

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"

	"github.com/sluice-delivery/sluice/internal/cli/live"
)

// Image is what a container should run. The container "*" is all of them.
type Image struct{ Container, Name string }

const allContainers = "*"

// ParseImages reads CONTAINER=IMAGE.
func ParseImages(args []string) ([]Image, error) {
	var images []Image
	for _, arg := range args {
		container, name, ok := strings.Cut(arg, "=")
		if !ok || container == "" || name == "" {
			return nil, fmt.Errorf("%q is not CONTAINER=IMAGE", arg)
		}
		images = append(images, Image{container, name})
	}
	return images, nil
}

// conflicts is how often writing is tried when others write at the same time; the controller does all the time.
var conflicts = wait.Backoff{Steps: 5, Duration: 10 * time.Millisecond, Factor: 2, Jitter: 0.1}

// SetImages writes the whole object back: the version that was read must be the one that is replaced.
func SetImages(ctx context.Context, c live.Client, rollout string, images []Image) (changed bool, err error) {
	err = retry.RetryOnConflict(conflicts, func() error {
		holder, err := HolderOf(ctx, c, rollout)
		if err != nil {
			return err
		}
		if changed, err = replaceImages(holder.Object, rollout, images); err != nil || !changed {
			return err
		}
		_, err = holder.Client.Update(ctx, holder.Object, metav1.UpdateOptions{})
		return err
	})
	return changed, err
}

// WithImages is a pod template with other images, and what they change, such as "nginx from nginx:1 to nginx:2".
func WithImages(template *corev1.PodTemplateSpec, rollout string, images []Image) (*corev1.PodTemplateSpec, []string, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(template)
	if err != nil {
		return nil, nil, fmt.Errorf("pod template of rollout '%s': %w", rollout, err)
	}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"template": fields}}}
	if _, err := replaceImages(object, rollout, images); err != nil {
		return nil, nil, err
	}
	fields, _, _ = unstructured.NestedMap(object.Object, "spec", "template") // it was put there above
	changed := &corev1.PodTemplateSpec{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, changed); err != nil {
		return nil, nil, fmt.Errorf("pod template of rollout '%s': %w", rollout, err)
	}
	return changed, imageChanges(template, changed), nil
}

// ContainerLists are where a pod template has containers.
var ContainerLists = []string{"initContainers", "containers", "ephemeralContainers"}

// replaceImages changes the images in an object's pod template, all of them or, if a container is not there, none.
func replaceImages(object *unstructured.Unstructured, rollout string, images []Image) (changed bool, err error) {
	lists := map[string][]any{}
	var known []string
	for _, list := range ContainerLists {
		containers, _, err := unstructured.NestedSlice(object.Object, "spec", "template", "spec", list)
		if err != nil {
			return false, fmt.Errorf("pod template of rollout '%s': %w", rollout, err)
		}
		for _, c := range containers {
			known = append(known, ContainerName(c))
		}
		lists[list] = containers
	}
	for _, i := range images {
		if i.Container != allContainers && !slices.Contains(known, i.Container) {
			return false, fmt.Errorf("rollout '%s' has no container '%s'; it has %s. Nothing was changed",
				rollout, i.Container, joined(known))
		}
		for list, containers := range lists {
			for _, c := range containers {
				if c, ok := c.(map[string]any); ok && (i.Container == allContainers || i.Container == ContainerName(c)) && c["image"] != i.Name {
					c["image"], changed = i.Name, true
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

// ContainerName is the name of a container in such a list.
func ContainerName(container any) string {
	c, _ := container.(map[string]any)
	name, _ := c["name"].(string)
	return name
}

func joined(words []string) string { return strings.Join(words, ", ") }
