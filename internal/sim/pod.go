package sim

import (
	"cmp"
	"slices"
	"time"
)

// Fate is what becomes of the pods of one image.
type Fate struct {
	// Start is how long a pod takes to become ready.
	Start time.Duration
	// Broken pods never become ready.
	Broken bool
}

// pod is a pod that is not being deleted: one that is counts for nobody.
type pod struct {
	name    string
	created time.Time
	// ready pods have been ready since a time; others become so at readyAt, if ever.
	ready   bool
	since   time.Time
	readyAt time.Time
	podMeta
}

// changesAt is when a pod becomes ready.
func (p *pod) changesAt() time.Time {
	if p.ready {
		return time.Time{}
	}
	return p.readyAt
}

func (p *pod) available(now time.Time, minReady time.Duration) bool {
	return p.ready && !now.Before(p.since.Add(minReady))
}

// fate is that of a set's image.
func (w *World) fate(s *set) Fate {
	if f, ok := w.fates[ImageOf(s.Spec.Template)]; ok {
		return f
	}
	return Fate{Start: w.PodStart}
}

// SetFate decides what becomes of an image's pods, those that are not ready yet included.
func (w *World) SetFate(image string, f Fate) {
	w.fates[image] = f
	for _, s := range w.sets {
		if imageOf(s) != image {
			continue
		}
		for _, p := range s.pods {
			if !p.ready {
				p.readyAt = w.readyAt(f)
			}
		}
	}
}

func (w *World) readyAt(f Fate) time.Time {
	if f.Broken {
		return time.Time{}
	}
	return w.now.Add(f.Start)
}

func (w *World) addPod(s *set) {
	w.uid++
	s.pods = append(s.pods, &pod{name: name(s.Name, w.uid), created: w.now, readyAt: w.readyAt(w.fate(s)), podMeta: w.podMeta(s)})
}

// change makes a pod ready whose time has come.
func (w *World) change(s *set, p *pod) {
	p.ready, p.since, p.readyAt = true, w.now, time.Time{}
	w.wakeSet(s)
}

// Unready turns up to n ready pods of an image unready, for a while; zero is for good.
func (w *World) Unready(image string, n int, back time.Duration) {
	for _, s := range w.sets {
		for _, p := range s.pods {
			if imageOf(s) != image || n == 0 || !p.ready {
				continue
			}
			w.lose(s, p)
			p.ready = false
			if back > 0 {
				p.readyAt = w.now.Add(back)
			}
			n--
		}
	}
}

// Kill removes up to n pods of an image: a node died, or someone deleted them.
func (w *World) Kill(image string, n int) {
	for _, s := range w.sets {
		if imageOf(s) != image {
			continue
		}
		for _, p := range s.pods[:min(n, len(s.pods))] {
			w.lose(s, p)
		}
		gone := min(n, len(s.pods))
		s.pods, n = slices.Clone(s.pods[gone:]), n-gone
	}
}

// lose counts what becomes of pods without having been scaled away.
func (w *World) lose(s *set, p *pod) {
	if p.available(w.now, s.minReady()) {
		w.Losses++
	}
	w.wakeSet(s)
}

// leastWanted sorts pods in the order in which the ReplicaSet controller deletes them: those that are not ready first, then
// those that have been ready for the shortest time, then the newest.
func leastWanted(a, b *pod) int {
	if a.ready != b.ready {
		return boolCompare(a.ready, b.ready)
	}
	return cmp.Or(b.since.Compare(a.since), b.created.Compare(a.created), cmp.Compare(b.name, a.name))
}

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
