package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/argoproj/notifications-engine/pkg/services"
	"github.com/spf13/cobra"
	"golang.org/x/net/http/httpproxy"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/notifier/config"
	"github.com/sluice-delivery/sluice/notifier/send"
	"github.com/sluice-delivery/sluice/notifier/watch"
)

// inspectors are the commands that show and try out the configuration, as `kubectl argo rollouts notifications` has them.
func inspectors(c *cluster) []*cobra.Command {
	s := &source{cluster: c}
	template := &cobra.Command{Use: "template", Short: "Show templates, and try them out"}
	template.AddCommand(newGetTemplates(s), newNotify(s))
	trigger := &cobra.Command{Use: "trigger", Short: "Show triggers, and try them out"}
	trigger.AddCommand(newGetTriggers(s), newTry(s))
	all := []*cobra.Command{template, trigger, newSend(s), newLint(s), newReplay(s)}
	for _, cmd := range all {
		f := cmd.PersistentFlags()
		f.StringVar(&s.configMap, "config-map", "", "`FILE` with the ConfigMap, - for standard input; by default, that of the cluster")
		f.StringVar(&s.home, "config-namespace", "", "`NAMESPACE` of the ConfigMap and the Secret in the cluster; by default, that of the Rollout if it has the ConfigMap, else argo-rollouts")
		f.StringVar(&s.secret, "secret", "", "`FILE` with the Secret, :empty for none; by default, that of the cluster")
		cmd.PersistentPreRun = func(cmd *cobra.Command, _ []string) { s.in = cmd.InOrStdin() }
	}
	return all
}

func newLint(s *source) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use: "lint", Short: "Report entries of the configuration that are invalid or have no effect", Args: cobra.NoArgs,
		Long: "Report entries of the configuration that are invalid or have no effect. The exit status is 1 if there are any, except with --output json.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := s.config(cmd.Context())
			if err != nil {
				return err
			}
			found := lint(c)
			switch output {
			case "json":
				return json.NewEncoder(cmd.OutOrStdout()).Encode(found)
			case "text":
				all := make([]error, len(found))
				for i, f := range found {
					all[i] = f
				}
				return errors.Join(all...)
			}
			return fmt.Errorf("--output %q is neither text nor json", output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	return cmd
}

func newGetTemplates(s *source) *cobra.Command {
	return newGet(s, "Show templates", func(c *config.Config) (map[string]services.Notification, func(services.Notification) string) {
		return c.Sources, func(n services.Notification) string { return n.Preview() }
	})
}

func newGetTriggers(s *source) *cobra.Command {
	return newGet(s, "Show triggers", func(c *config.Config) (map[string][]config.Condition, func([]config.Condition) string) {
		return c.Triggers, func(conditions []config.Condition) string {
			var all []string
			for _, condition := range conditions {
				all = append(all, strings.Join(condition.Send, ","))
			}
			return strings.Join(all, "; ")
		}
	})
}

// newGet shows entries of one kind.
func newGet[T any](s *source, short string, of func(*config.Config) (map[string]T, func(T) string)) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use: "get [NAME]", Short: short, Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: s.complete(func(c *config.Config) []string {
			all, _ := of(c)
			return slices.Collect(maps.Keys(all))
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := s.config(cmd.Context())
			if err != nil {
				return err
			}
			all, preview := of(c)
			names := slices.Sorted(maps.Keys(all))
			if len(args) == 1 {
				if _, ok := all[args[0]]; !ok {
					return fmt.Errorf("there is no %q: there are %s", args[0], strings.Join(names, ", "))
				}
				names = args
			}
			chosen := map[string]T{}
			for _, name := range names {
				chosen[name] = all[name]
			}
			return show(cmd.OutOrStdout(), output, names, chosen, preview)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "wide", "json, yaml, wide or name")
	return cmd
}

func show[T any](out io.Writer, output string, names []string, all map[string]T, preview func(T) string) error {
	switch output {
	case "wide":
		w := tabwriter.NewWriter(out, 5, 0, 2, ' ', 0)
		_, _ = fmt.Fprintf(w, "NAME\tPREVIEW\n")
		for _, name := range names {
			_, _ = fmt.Fprintf(w, "%s\t%s\n", name, preview(all[name]))
		}
		return w.Flush()
	case "name":
		_, err := fmt.Fprintln(out, strings.Join(names, "\n"))
		return err
	case "yaml":
		text, err := yaml.Marshal(all)
		if err == nil {
			_, err = out.Write(text)
		}
		return err
	case "json":
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(all)
	}
	return fmt.Errorf("--output %q is none of json, yaml, wide and name", output)
}

func newNotify(s *source) *cobra.Command {
	var (
		recipients []string
		dry        bool
	)
	cmd := &cobra.Command{
		Use: "notify NAME ROLLOUT", Short: "Render a template for a Rollout, and send the message", Args: cobra.ExactArgs(2),
		ValidArgsFunction: s.complete(func(c *config.Config) []string { return slices.Collect(maps.Keys(c.Sources)) }),
		Long:              "Render a template for a Rollout, which is the name of one in the cluster or a file, and send the message to each recipient. The recipient console:stdout, the default, prints it.",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			c, err := s.config(ctx)
			if err != nil {
				return err
			}
			rollout, reader, err := s.rollout(ctx, args[1])
			if err != nil {
				return err
			}
			network := send.NewNetwork(send.Rules{}, httpproxy.FromEnvironment())
			for _, r := range recipients {
				to := config.ParseDestination(r)
				vars, err := watch.Variables(ctx, reader, rollout, c, "", to, clock.RealClock{}.Now())
				if err != nil {
					return err
				}
				n, err := c.Render([]string{args[0]}, vars)
				if err != nil {
					return errors.Join(append(problems(c), err)...)
				}
				if dry || to.Service == "console" {
					text, err := yaml.Marshal(n)
					if err != nil {
						return err
					}
					if _, err := cmd.OutOrStdout().Write(text); err != nil {
						return err
					}
					continue
				}
				if err := sendOne(ctx, c, network, n, to); err != nil {
					return fmt.Errorf("failed to notify '%s': %w", r, err)
				}
			}
			return nil
		},
	}
	cmd.Flags().StringArrayVar(&recipients, "recipient", []string{"console:stdout"}, "`SERVICE:RECIPIENT` to send to; may be given several times")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "print what would be sent instead of sending it")
	return cmd
}

func newTry(s *source) *cobra.Command {
	return &cobra.Command{
		Use: "run NAME ROLLOUT", Short: "Show which conditions of a trigger a Rollout meets", Args: cobra.ExactArgs(2),
		ValidArgsFunction: s.complete(func(c *config.Config) []string { return slices.Collect(maps.Keys(c.Triggers)) }),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			c, err := s.config(ctx)
			if err != nil {
				return err
			}
			conditions, ok := c.Triggers[args[0]]
			if !ok {
				return errors.Join(append(problems(c), fmt.Errorf("trigger '%s' is not configured", args[0]))...)
			}
			rollout, reader, err := s.rollout(ctx, args[1])
			if err != nil {
				return err
			}
			now := clock.RealClock{}.Now()
			vars, err := watch.Variables(ctx, reader, rollout, c, args[0], config.Destination{}, now)
			if err != nil {
				return err
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 5, 0, 2, ' ', 0)
			_, _ = fmt.Fprintf(w, "CONDITION\tRESULT\n")
			for _, condition := range conditions {
				result := "on each event"
				if condition.When != "" {
					met, err := condition.Met(ctx, vars, now)
					result = fmt.Sprint(met)
					if err != nil {
						result += ": " + err.Error()
					}
				}
				_, _ = fmt.Fprintf(w, "%s\t%s\n", condition.When, result)
			}
			return w.Flush()
		},
	}
}
