package controller

import (
	"context"
	"log/slog"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/internal/change"
)

// logNotes writes the notes of a plan into the log, a line for each decision. What is only waited for stands in the notes of every pass; it is
// logged once, and again when something else was waited for meanwhile. So is what a pass decides that could not be finished, and is repeated. The
// notes of a pass that changes nothing have been logged before.
func (w *writer) logNotes(ctx context.Context, key types.NamespacedName, notes []change.Note, writes bool) {
	var logged []change.Note
	if writes {
		logged = w.memory.swapNotes(key, notes)
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

// swapNotes returns the notes that the log has of what is waited for, or of all that a pass decided that was not finished, and remembers these notes in
// their place.
func (m *memory) swapNotes(owner types.NamespacedName, notes []change.Note) (logged []change.Note) {
	m.of(owner, func(r *recollection) { logged, r.notes = r.notes, slices.Clone(notes) })
	return logged
}

// onlyWaits are the notes of what is waited for.
func onlyWaits(notes []change.Note) []change.Note {
	return slices.DeleteFunc(notes, func(n change.Note) bool { return n.Topic != change.TopicWait })
}
