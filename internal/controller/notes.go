package controller

import (
	"context"
	"log/slog"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/internal/change"
)

// logNotes writes the notes of a plan into the log, a line for each decision. What is only waited for stands in the notes of every pass; it is
// logged once, and again when something else was waited for meanwhile. The notes of a pass that
// changes nothing have been logged before.
func (w *writer) logNotes(ctx context.Context, key types.NamespacedName, notes []change.Note, writes bool) {
	var logged []change.Note
	if writes {
		logged = w.memory.swapWaits(key, notes)
	}
	for _, n := range notes {
		level := slog.LevelDebug
		if writes && !slices.Contains(logged, n) {
			level = slog.LevelInfo
		}
		attributes := []any{w.kind, key.String(), "topic", n.Topic, "reason", n.Reason}
		if n.Promise.Name != "" {
			attributes = append(attributes, "promise", n.Promise.Name)
		}
		w.log.Log(ctx, level, n.Text, attributes...)
	}
}

// swapWaits returns the waits that the log has, and remembers those among the notes in their place.
func (m *memory) swapWaits(owner types.NamespacedName, notes []change.Note) (logged []change.Note) {
	var waits []change.Note
	for _, n := range notes {
		if n.Topic == change.TopicWait {
			waits = append(waits, n)
		}
	}
	m.of(owner, func(r *recollection) { logged, r.waits = r.waits, waits })
	return logged
}
