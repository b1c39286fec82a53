package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/sim/play"
	"github.com/sluice-delivery/sluice/internal/view"
)

// recording is a simulated update as the notifier reads it: a line of JSON for each instant.
type recording struct {
	lines bytes.Buffer
	begun time.Time
	err   error
}

// instantLine is what sluice-notifier replay reads.
type instantLine struct {
	At      metav1.Time      `json:"at"`
	Objects map[string]any   `json:"objects"`
	Events  []simulatedEvent `json:"events,omitempty"`
}

type simulatedEvent struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Type    string `json:"type"`
}

func (t *recording) add(i play.Instant) {
	t.begun = i.At.Add(-i.Since)
	ro := i.Rollout.DeepCopy()
	ro.APIVersion, ro.Kind = v1alpha1.GroupVersion.String(), v1alpha1.KindRollout
	l := instantLine{At: metav1.NewTime(i.At), Objects: map[string]any{"rollout": ro}}
	if runs := runsOf(i); len(runs) > 0 {
		l.Objects["analysisRuns"] = runs
	}
	if i.Stable != nil {
		l.Objects["stable"] = i.Stable
	}
	for _, e := range i.Events {
		kind := "Normal"
		if e.Warning {
			kind = "Warning"
		}
		l.Events = append(l.Events, simulatedEvent{Reason: e.Reason, Message: e.Message, Type: kind})
	}
	t.err = errors.Join(t.err, json.NewEncoder(&t.lines).Encode(l))
}

// runsOf are the AnalysisRuns of the current version and revision, the newest first.
func runsOf(i play.Instant) []*v1alpha1.AnalysisRun {
	var runs []*v1alpha1.AnalysisRun
	for _, run := range slices.Backward(i.Runs) {
		if run.Labels[v1alpha1.PodTemplateHashLabel] == i.Rollout.Status.CurrentPodHash &&
			run.Annotations[v1alpha1.RevisionAnnotation] == i.Rollout.Annotations[v1alpha1.RevisionAnnotation] {
			runs = append(runs, run)
		}
	}
	return runs
}

// messageLine is what it answers.
type messageLine struct {
	At      *metav1.Time `json:"at"`
	Warning string       `json:"warning"`
	Trigger string       `json:"trigger"`
	Event   string       `json:"event"`
	Error   string       `json:"error"`
	To      struct {
		Service   string `json:"service"`
		Recipient string `json:"recipient"`
	} `json:"to"`
	Message map[string]any `json:"message"`
}

// addMessages has the notifier work out the messages.
func (a *app) addMessages(ctx context.Context, s *view.Simulation, t *recording, o simulation) error {
	if t.err != nil {
		return t.err
	}
	secret := o.secret
	if secret == "" {
		secret = ":empty"
	}
	var answer bytes.Buffer
	if err := a.runNotifier(ctx, []string{"replay", "--config-map", o.notifications, "--secret", secret}, &t.lines, &answer); err != nil {
		return err
	}
	for decoder := json.NewDecoder(&answer); ; {
		var m messageLine
		if err := decoder.Decode(&m); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read the messages: %w", err)
		}
		if m.At == nil {
			s.Warnings = append(s.Warnings, "notifications: "+m.Warning)
			continue
		}
		s.Messages = append(s.Messages, view.Message{
			At: view.Seconds(m.At.Sub(t.begun.Truncate(time.Second))), Trigger: m.Trigger, Service: m.To.Service, Recipient: m.To.Recipient,
			Event: m.Event, Error: m.Error, Content: m.Message,
		})
	}
}
