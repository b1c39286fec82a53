package dashboard

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/internal/view"
)

// settle is how long changes are gathered before viewers see them: a release changes dozens of objects at once.
const settle = 100 * time.Millisecond

// hub turns the changes of one cache into rows that all viewers share, and wakes the viewers that look at what has changed. A viewer that
// is slow finds the newest state when it is ready, and nobody waits for it.
type hub struct {
	source Source
	now    func() time.Time
	wake   chan struct{}

	mu    sync.Mutex
	dirty map[types.NamespacedName]bool
	rows  map[types.NamespacedName]*row
	// list are the rows in their order. It is replaced, never changed.
	list    []*row
	past    map[types.NamespacedName]*past
	viewers map[*viewer]struct{}
}

// Source is where the objects are kept.
type Source interface {
	Objects(types.NamespacedName) (view.Objects, bool)
	Synced() bool
	Trouble() error
}

// viewer is one open page. Its channel holds one wake-up: more than one would say nothing more.
type viewer struct {
	wants func(types.NamespacedName) bool
	ready chan struct{}
}

func newHub(source Source, now func() time.Time) *hub {
	return &hub{
		source: source, now: now, wake: make(chan struct{}, 1), dirty: map[types.NamespacedName]bool{},
		rows: map[types.NamespacedName]*row{}, past: map[types.NamespacedName]*past{}, viewers: map[*viewer]struct{}{},
	}
}

// changed notes that something has happened to an object. It never waits.
func (h *hub) changed(name types.NamespacedName) {
	h.mu.Lock()
	h.dirty[name] = true
	h.mu.Unlock()
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// run keeps the rows up to date until ctx ends.
func (h *hub) run(ctx context.Context, after func(time.Duration) <-chan time.Time) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.wake:
		}
		select {
		case <-ctx.Done():
			return
		case <-after(settle):
		}
		h.refresh()
	}
}

// refresh brings what has changed up to date, and wakes who looks at it.
func (h *hub) refresh() {
	h.mu.Lock()
	dirty := h.dirty
	h.dirty = map[types.NamespacedName]bool{}
	h.mu.Unlock()
	now := h.now()
	fresh := make(map[types.NamespacedName]*row, len(dirty))
	for name := range dirty {
		if o, ok := h.source.Objects(name); ok {
			fresh[name] = rowOf(o, now)
		} else {
			fresh[name] = nil
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, r := range fresh {
		if r == nil {
			delete(h.rows, name)
			delete(h.past, name)
			continue
		}
		h.rows[name] = r
		h.remember(name, r, now)
	}
	h.list = make([]*row, 0, len(h.rows))
	for _, r := range h.rows {
		h.list = append(h.list, r)
	}
	slices.SortFunc(h.list, func(a, b *row) int {
		if c := strings.Compare(a.Namespace, b.Namespace); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	for v := range h.viewers {
		for name := range dirty {
			if name == (types.NamespacedName{}) || v.wants(name) {
				v.notify()
				break
			}
		}
	}
}

func (v *viewer) notify() {
	select {
	case v.ready <- struct{}{}:
	default:
	}
}

// join adds a viewer, until it leaves.
func (h *hub) join(wants func(types.NamespacedName) bool) (v *viewer, leave func()) {
	v = &viewer{wants: wants, ready: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.viewers[v] = struct{}{}
	return v, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.viewers, v)
	}
}

// tell wakes the viewers of one object: something is known of it that is not in the cache.
func (h *hub) tell(name types.NamespacedName) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for v := range h.viewers {
		if v.wants(name) {
			v.notify()
		}
	}
}

// all are the rows in their order. They must not be changed.
func (h *hub) all() []*row {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.list
}

// past is how a Rollout was while this process ran.
type past struct{ points []point }

// point is how a Rollout was from some moment on.
type point struct {
	at                        time.Time
	setWeight, actualWeight   int32
	stable, canary, available int32
}

// pastPoints is how much is kept: an update has a few dozen.
const pastPoints = 240

func (h *hub) remember(name types.NamespacedName, r *row, now time.Time) {
	p := h.past[name]
	if p == nil {
		p = &past{}
		h.past[name] = p
	}
	next := r.point
	next.at = now
	if n := len(p.points); n > 0 {
		last := p.points[n-1]
		last.at = now
		if last == next {
			return
		}
	}
	p.points = append(p.points, next)
	if len(p.points) > pastPoints {
		p.points = slices.Clone(p.points[len(p.points)-pastPoints:])
	}
}

// history is how a Rollout was, the oldest first.
func (h *hub) history(name types.NamespacedName) []point {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p := h.past[name]; p != nil {
		return slices.Clone(p.points)
	}
	return nil
}
