package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sluice-delivery/sluice/internal/cli/act"
	"github.com/sluice-delivery/sluice/internal/cli/live"
)

// patchEach is a command that sends the same patch to each of the objects named, and says of each that it is done.
func (a *app) patchEach(k kind, p act.Patch, done string) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, names []string) error {
		return a.each(cmd, names, func(ctx context.Context, c live.Client, name string) (string, error) {
			return fmt.Sprintf("%s '%s' %s", k.noun, name, done), p.Send(ctx, c, k.resource, name)
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
