package controller

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/internal/change"
)

// telling writes the notes of plans into the log, a line for each decision. What is only waited for stands in the notes of every pass; it
// is told once, and again when something else was waited for meanwhile.
type telling struct {
	log *slog.Logger
	mu  sync.Mutex
	// waits are what each object waits for, as the log has it. One that waits for nothing is not in it.
	waits map[types.NamespacedName][]change.Note
}

func newTelling(log *slog.Logger) *telling {
	return &telling{log: log, waits: map[types.NamespacedName][]change.Note{}}
}

// tell tells of a pass over one object; kind is what it is, for those who read. A pass that changes nothing has been told of before.
func (t *telling) tell(ctx context.Context, kind string, key types.NamespacedName, notes []change.Note, writes bool) {
	var told []change.Note
	if writes {
		told = t.take(key, notes)
	}
	for _, n := range notes {
		level := slog.LevelDebug
		if writes && !slices.Contains(told, n) {
			level = slog.LevelInfo
		}
		t.log.Log(ctx, level, n.Text, kind, key.String(), "topic", n.Topic, "reason", n.Reason)
	}
}

// take returns what was told that is waited for, and remembers the waits among the notes in its place.
func (t *telling) take(key types.NamespacedName, notes []change.Note) (told []change.Note) {
	var waits []change.Note
	for _, n := range notes {
		if n.Topic == change.TopicWait {
			waits = append(waits, n)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	told = t.waits[key]
	t.waits[key] = waits
	if len(waits) == 0 {
		delete(t.waits, key)
	}
	return told
}

// forget drops what is remembered of an object that is gone.
func (t *telling) forget(key types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.waits, key)
}
