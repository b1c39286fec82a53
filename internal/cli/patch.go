package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/internal/cli/live"
)

// fields are parts of an object, for a merge patch. A nil value takes a field away.
type fields map[string]any

// patch is what a command writes to an object: fields of its status, fields of its spec, or both.
type patch struct{ status, spec fields }

// send writes the status first, through its subresource. Clusters whose CRD has no status subresource, as in the early days of the
// API, get all of it in one patch of the object.
func (p patch) send(ctx context.Context, c live.Client, k kind, name string) error {
	if p.status != nil {
		err := merge(ctx, c, k, name, fields{"status": p.status}, "status")
		if apierrors.IsNotFound(err) {
			return merge(ctx, c, k, name, p.whole())
		}
		if err != nil {
			return err
		}
	}
	if p.spec != nil {
		return merge(ctx, c, k, name, fields{"spec": p.spec})
	}
	return nil
}

func (p patch) whole() fields {
	whole := fields{}
	if p.spec != nil {
		whole["spec"] = p.spec
	}
	if p.status != nil {
		whole["status"] = p.status
	}
	return whole
}

func merge(ctx context.Context, c live.Client, k kind, name string, f fields, subresources ...string) error {
	body, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("patch of %s '%s': %w", k.noun, name, err)
	}
	_, err = k.in(c).Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{}, subresources...)
	return err
}

// patchEach is a command that sends the same patch to each of the objects named, and says of each that it is done.
func (a *app) patchEach(k kind, p patch, done string) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, names []string) error {
		return a.each(cmd, names, func(ctx context.Context, c live.Client, name string) (string, error) {
			return fmt.Sprintf("%s '%s' %s", k.noun, name, done), p.send(ctx, c, k, name)
		})
	}
}

// each does something with each of the objects named and prints the result. One that fails does not keep it from the others.
func (a *app) each(cmd *cobra.Command, names []string, do func(context.Context, live.Client, string) (string, error)) error {
	c, err := a.connect()
	if err != nil {
		return err
	}
	var failures []error
	for _, name := range names {
		result, err := do(cmd.Context(), c, name)
		if err != nil {
			failures = append(failures, missing(cmd.Context(), c, name, err))
			continue
		}
		a.print("%s\n", result)
	}
	return errors.Join(failures...)
}
