package controller

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/traffic"
)

// memory is what a reconciler remembers of each owner, a Rollout, an Experiment or an AnalysisRun, from one pass to the next. It can all be lost:
// a process that starts without it compares, tries and logs once more.
//
// What it remembers has a file for each: writes that caches do not show yet (expectations.go), owners whose first write was compared with the
// API server (firsthand.go), passes to repeat (backoff.go), routes that are not in force yet (inforce.go), routes that others change (restored.go), counts that may wait (patience.go), notes that the log has (notes.go), and what the
// API server refused (labels.go).
type memory struct {
	mu     sync.Mutex
	owners map[types.NamespacedName]*recollection
	// began is when this process was about to write first: it led then.
	began time.Time
}

// recollection is what is remembered of one owner.
type recollection struct {
	// expected are the writes that the caches have not shown yet, by the UID of the object written.
	expected map[types.UID]write
	// unanswered are the objects of which nobody knows whether a write was done.
	unanswered []client.Object
	// verified is the UID of the owner that was compared with the API server: a deletion tells only the name.
	verified types.UID
	// unfinished is since when passes could not be finished: zero if the last one was.
	unfinished time.Time
	// recorded is when the status was written last, and waiting since when counts wait: zero if none do.
	recorded, waiting time.Time
	// notes are those of what is waited for, as the log has them, and all of them while a pass is repeated that could not be finished.
	notes []change.Note
	// refused is what the API server said of objects that it did not change, by their names.
	refused [refusableKinds]map[string]change.Refusal
	// awaited are the routes that are not known to be in force as they are.
	awaited map[traffic.Key]awaited
	// wrote is what the objects of routers were written as last, and restored when an event last said that someone else had changed one.
	wrote    map[traffic.Key]uint64
	restored time.Time
}

func newMemory() *memory { return &memory{owners: map[types.NamespacedName]*recollection{}} }

// of has a function look at, and change, what is remembered of an owner.
func (m *memory) of(owner types.NamespacedName, do func(*recollection)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.owners[owner]
	if r == nil {
		r = &recollection{}
	}
	do(r)
	if r.isEmpty() {
		delete(m.owners, owner)
		return
	}
	m.owners[owner] = r
}

func (r *recollection) isEmpty() bool {
	for _, refused := range r.refused {
		if len(refused) > 0 {
			return false
		}
	}
	return len(r.expected)+len(r.unanswered)+len(r.notes)+len(r.awaited)+len(r.wrote) == 0 && r.verified == "" && r.unfinished.IsZero() && r.recorded.IsZero() && r.waiting.IsZero()
}

// awaited are the routes of an owner that are not known to be in force, and await remembers them.
func (m *memory) awaited(owner types.NamespacedName) (all map[traffic.Key]awaited) {
	m.of(owner, func(r *recollection) { all = r.awaited })
	return all
}

func (m *memory) await(owner types.NamespacedName, all map[traffic.Key]awaited) {
	m.of(owner, func(r *recollection) { r.awaited = all })
}

// forget drops all that is remembered of an owner that is gone.
func (m *memory) forget(owner types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.owners, owner)
}
