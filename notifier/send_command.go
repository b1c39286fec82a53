package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/argoproj/notifications-engine/pkg/services"
	"github.com/spf13/cobra"
	"golang.org/x/net/http/httpproxy"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/notifier/config"
	"github.com/sluice-delivery/sluice/notifier/send"
	"github.com/sluice-delivery/sluice/notifier/watch"
)

// newSend is the command that sends what a Rollout's subscriptions lead to.
func newSend(s *source) *cobra.Command {
	var (
		triggers []string
		dry      bool
	)
	cmd := &cobra.Command{
		Use: "send ROLLOUT", Short: "Send or print the messages that a Rollout's subscriptions produce now", Args: cobra.ExactArgs(1),
		ValidArgsFunction: s.complete(nil),
		Long: `Send the messages that the subscriptions of a Rollout produce in its current state: for triggers that are named after events, about the latest such event; for
all others, if their condition is true. What was sent before is sent again, and nothing is recorded.

With --dry-run, the messages are printed as YAML, one document each; comments name the trigger and the destination, or say why nothing would be sent.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			c, err := s.config(ctx)
			if err != nil {
				return err
			}
			all, err := s.due(ctx, cmd.ErrOrStderr(), c, args[0], triggers)
			if err != nil {
				return err
			}
			if dry {
				return print(cmd.OutOrStdout(), all)
			}
			return deliverAll(ctx, cmd.OutOrStdout(), c, all)
		},
	}
	cmd.Flags().StringSliceVar(&triggers, "trigger", nil, "`NAMES` of the only triggers to try; by default, all to which the Rollout subscribes")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "print what would be sent instead of sending it")
	return cmd
}

// due are the messages about a Rollout as it is now.
func (s *source) due(ctx context.Context, warnings io.Writer, c *config.Config, name string, triggers []string) ([]watch.Due, error) {
	rollout, reader, err := s.rollout(ctx, name)
	if err != nil {
		return nil, err
	}
	seen, err := watch.Look(ctx, reader, rollout)
	if err != nil {
		return nil, err
	}
	var events []corev1.Event
	if reader != nil {
		if events, err = watch.Latest(ctx, reader, rollout); err != nil {
			return nil, err
		}
	}
	all, wrong := watch.NewTry(c).At(ctx, seen, events, clock.RealClock{}.Now())
	for _, err := range wrong {
		_, _ = fmt.Fprintln(warnings, "warning:", err)
	}
	if len(triggers) > 0 {
		all = slices.DeleteFunc(all, func(d watch.Due) bool { return !slices.Contains(triggers, d.Trigger) })
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("Rollout %s has no such subscription: annotate it with notifications.argoproj.io/subscribe.TRIGGER.SERVICE", rollout.GetName()) //nolint:staticcheck // a kind
	}
	return all, nil
}

// print writes messages as YAML, and what is skipped as comments. Messages that cannot be made are errors.
func print(out io.Writer, all []watch.Due) error {
	var wrong []error
	for _, d := range all {
		head := fmt.Sprintf("# %s to %s", d.Trigger, d.To)
		if d.Event != "" {
			head += ", for the event " + d.Event
		}
		switch {
		case d.Error != "":
			wrong = append(wrong, fmt.Errorf("%s to %s: %s", d.Trigger, d.To, d.Error))
			continue
		case d.Skipped != "":
			if _, err := fmt.Fprintf(out, "%s: not sent: %s\n", head, d.Skipped); err != nil {
				return err
			}
			continue
		}
		text, err := yaml.Marshal(d.Message)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "---\n%s\n%s", head, text); err != nil {
			return err
		}
	}
	return errors.Join(wrong...)
}

// deliverAll sends messages, and goes on after one that cannot be sent.
func deliverAll(ctx context.Context, out io.Writer, c *config.Config, all []watch.Due) error {
	network := send.NewNetwork(send.Rules{}, httpproxy.FromEnvironment())
	var wrong []error
	for _, d := range all {
		var err error
		switch {
		case d.Error != "":
			err = errors.New(d.Error)
		case d.Skipped != "":
			_, _ = fmt.Fprintf(out, "%s to %s: not sent: %s\n", d.Trigger, d.To, d.Skipped)
			continue
		default:
			err = sendOne(ctx, c, network, *d.Message, d.To)
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s to %s: %w", d.Trigger, d.To, err))
			continue
		}
		_, _ = fmt.Fprintf(out, "%s to %s: sent\n", d.Trigger, d.To)
	}
	return errors.Join(wrong...)
}

func sendOne(ctx context.Context, c *config.Config, network *send.Network, n services.Notification, to config.Destination) error {
	service, ok := c.Services[to.Service]
	if !ok {
		return fmt.Errorf("notification service '%s' is not supported", to.Service)
	}
	sender, err := send.New(service, network, false)
	if err != nil {
		return err
	}
	return sender.Send(ctx, n, to)
}

// instant is what `sluice simulate --notifications` writes for each moment of an update: the Rollout, its AnalysisRuns, and what happened to it.
type instant struct {
	At      metav1.Time      `json:"at"`
	Objects json.RawMessage  `json:"objects"`
	Events  []simulatedEvent `json:"events,omitempty"`
}

type simulatedEvent struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Type    string `json:"type"`
}

// newReplay is the command that `sluice simulate --notifications` runs. It is not for people.
func newReplay(s *source) *cobra.Command {
	return &cobra.Command{
		Use: "replay", Short: "Work out the messages about a simulated update", Args: cobra.NoArgs, Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := s.config(cmd.Context())
			if err != nil {
				return err
			}
			in, out := json.NewDecoder(cmd.InOrStdin()), json.NewEncoder(cmd.OutOrStdout())
			try := watch.NewTry(c)
			for _, p := range c.Problems {
				if err := out.Encode(told{Warning: p.Error()}); err != nil {
					return err
				}
			}
			for {
				var i instant
				if err := in.Decode(&i); errors.Is(err, io.EOF) {
					return nil
				} else if err != nil {
					return fmt.Errorf("read the simulated update: %w", err)
				}
				if err := i.replay(cmd.Context(), try, out); err != nil {
					return err
				}
			}
		},
	}
}

// told is a line of the answer.
type told struct {
	At      *metav1.Time `json:"at,omitempty"`
	Warning string       `json:"warning,omitempty"`
	*watch.Due
}

func (i instant) replay(ctx context.Context, try *watch.Try, out *json.Encoder) error {
	var objects map[string]any // with whole numbers as the API has them
	if err := utiljson.Unmarshal(i.Objects, &objects); err != nil {
		return fmt.Errorf("read the simulated update: %w", err)
	}
	rollout, _ := objects["rollout"].(map[string]any)
	runs, _ := objects["analysisRuns"].([]any)
	stable, _ := objects["stable"].(map[string]any)
	var events []corev1.Event
	for _, e := range i.Events {
		events = append(events, corev1.Event{Reason: e.Reason, Message: e.Message, Type: e.Type, Count: 1, LastTimestamp: i.At})
	}
	all, _ := try.At(ctx, watch.With(&unstructured.Unstructured{Object: rollout}, runs, stable), events, i.At.UTC())
	for _, d := range all {
		if d.Skipped != "" {
			continue
		}
		if err := out.Encode(told{At: &i.At, Due: &d}); err != nil {
			return err
		}
	}
	return nil
}
