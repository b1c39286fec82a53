package sim

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// Canon writes down Worlds so that two are written the same if nothing that anybody does from then on can tell them apart:
//
//   - times are how long ago they were, or how far ahead; what is longer ago than Horizon is long ago, and nothing more;
//   - pods of one ReplicaSet have no names;
//   - resourceVersions are left out: what counts is which objects of a stale view are still as the API server has them;
//   - so are UIDs, since no object that was deleted is referred to by one that was not, and generations but for how far the status is behind them;
//   - of what watches have not shown, what is older than Lag writes is left out, since no pass will see it.
//
// It is safe for concurrent use.
type Canon struct {
	// Horizon is longer than every duration that a decision depends on.
	Horizon time.Duration
	// Lag is how many writes of a kind a view is behind at the most.
	Lag int
	// Late: deadlines may come before what is due. Where none does, it makes no difference when a controller wanted to be woken that is about to look.
	Late bool
	// Exact leaves nothing out but resourceVersions: pods have names, objects UIDs and generations. For tests of what the rest leaves out.
	Exact bool

	// texts are of pointers to objects. What was of use since the last Forget is in recent, what was before that and may be again in texts.
	texts, recent sync.Map
}

// text is an object: a hash of its JSON without the times, and the times.
type text struct {
	sum   [16]byte
	times []time.Time
}

// Append adds what tells a World from others. A World with several controllers is not written down whole.
func (c *Canon) Append(b []byte, w *World) []byte {
	o := &w.objects
	b = appendKind(b, c, w, &o.rollouts)
	b = appendKind(b, c, w, &o.replicaSets)
	b = appendKind(b, c, w, &o.services)
	b = appendKind(b, c, w, &o.runs)
	b = appendKind(b, c, w, &o.experiments)
	b = appendKind(b, c, w, &o.templates)
	b = appendKind(b, c, w, &o.deployments)
	b = appendKind(b, c, w, &o.routes)
	for _, s := range w.sets {
		b = c.Time(b, w, s.syncAt)
		b = c.pods(b, w, s)
	}
	b = c.Time(b, w, w.collectAt)
	b = binary.AppendVarint(b, int64(w.quota))
	b = binary.AppendVarint(b, int64(w.minAvailable))
	b = appendText(b, w.labelsRefused)
	b = appendText(b, w.releasesRefused)
	for _, image := range slices.Sorted(maps.Keys(w.fates)) {
		b = appendText(b, image)
		b = binary.AppendVarint(b, int64(w.fates[image].Start))
		b = appendBool(b, w.fates[image].Broken)
	}
	if loop, ok := w.loop.(*Controller); ok {
		b = c.Time(b, w, loop.due)
		if c.Late || loop.due.IsZero() || loop.due.After(w.now) {
			b = c.Time(b, w, loop.wake)
		}
		for _, pod := range slices.Sorted(maps.Keys(loop.refusals)) {
			b = appendText(b, pod)
			b = c.Time(b, w, loop.refusals[pod].At)
		}
		for _, route := range slices.Sorted(maps.Keys(loop.routeRefusals)) {
			b = appendText(b, route)
			b = c.Time(b, w, loop.routeRefusals[route].At)
		}
	}
	return b
}

// appendKind adds all objects of a kind, and what watches have still to show.
func appendKind[T Object](b []byte, c *Canon, w *World, of *collection[T]) []byte {
	b = binary.AppendUvarint(b, uint64(len(of.now)))
	for _, o := range of.now {
		b = c.object(b, w, o)
	}
	b = appendText(b, of.refused)
	for _, name := range slices.Sorted(maps.Keys(of.taken)) {
		b = appendText(b, name)
	}
	n := len(of.past.states)
	unseen := max(0, min(of.past.unseen, c.Lag, n-1))
	b = binary.AppendUvarint(b, uint64(unseen))
	if n == 0 {
		return b
	}
	for _, earlier := range of.past.states[n-1-unseen:] {
		b = binary.AppendVarint(b, int64(w.Losses-earlier.reported.losses))
		b = binary.AppendVarint(b, int64(w.Evictions-earlier.reported.evictions))
		if unseen == 0 {
			break // and the objects are those of now
		}
		b = binary.AppendUvarint(b, uint64(len(earlier.all)))
		for _, o := range earlier.all {
			if i := slices.IndexFunc(of.now, func(have T) bool { return any(have) == any(o) }); i >= 0 {
				b = binary.AppendUvarint(b, uint64(i)+1)
				continue
			}
			b = c.object(append(b, 0), w, o)
		}
	}
	return b
}

// object adds one object.
func (c *Canon) object(b []byte, w *World, o Object) []byte {
	t := c.known(o)
	b = append(b, t.sum[:]...)
	for _, at := range t.times {
		b = c.Time(b, w, at)
	}
	return append(b, 0)
}

func (c *Canon) known(o Object) *text {
	if known, ok := c.recent.Load(o); ok {
		return known.(*text)
	}
	known, ok := c.texts.Load(o)
	if !ok {
		known = c.textOf(o)
	}
	c.recent.Store(o, known)
	return known.(*text)
}

// Forget drops what is remembered of objects that were of no use since it was called last. Nothing may be written down meanwhile.
func (c *Canon) Forget() {
	c.texts.Clear()
	for o, t := range c.recent.Range {
		c.texts.Store(o, t)
	}
	c.recent.Clear()
}

// Time adds a time: how long ago it was, or how far ahead it is.
func (c *Canon) Time(b []byte, w *World, at time.Time) []byte {
	if at.IsZero() {
		return append(b, 'x')
	}
	ahead := at.Sub(w.now)
	if !c.Exact {
		ahead = max(ahead, -c.Horizon)
	}
	return binary.AppendVarint(append(b, 't'), int64(ahead))
}

// pods adds the pods of a set in an order that does not depend on their names.
func (c *Canon) pods(b []byte, w *World, s *set) []byte {
	b = binary.AppendUvarint(b, uint64(len(s.pods)))
	all := make([]string, len(s.pods))
	for i, p := range s.pods {
		one := appendBool(nil, p.ready)
		one = c.Time(one, w, p.since)
		one = c.Time(one, w, p.readyAt)
		one = c.Time(one, w, p.created)
		one = appendMap(one, p.labels)
		one = appendMap(one, p.annotations)
		if c.Exact {
			one = appendText(one, p.name)
		}
		all[i] = string(one)
	}
	if !c.Exact {
		slices.Sort(all)
	}
	for _, one := range all {
		b = appendText(b, one)
	}
	return b
}

func appendMap(b []byte, m map[string]string) []byte {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		b = appendText(appendText(b, key), m[key])
	}
	return append(b, 0)
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendBool(b []byte, is bool) []byte {
	if is {
		return append(b, 1)
	}
	return append(b, 0)
}

// textOf is an object without what does not count, in JSON.
func (c *Canon) textOf(o Object) *text {
	generation := o.GetGeneration()
	if c.Exact {
		o = o.DeepCopyObject().(Object)
		o.SetResourceVersion("")
		return cutTimes(inJSON(o))
	}
	switch was := o.(type) {
	case *appsv1.ReplicaSet:
		is := *was
		is.Status.ObservedGeneration -= generation
		o = &is
	case *v1alpha1.Rollout:
		is := *was
		if is.Status.ObservedGeneration == strconv.FormatInt(generation, 10) {
			is.Status.ObservedGeneration = ""
		}
		o = &is
	default:
		o = o.DeepCopyObject().(Object)
	}
	o.SetResourceVersion("")
	o.SetUID("")
	o.SetGeneration(0)
	owners := slices.Clone(o.GetOwnerReferences())
	for i := range owners {
		owners[i].UID = ""
	}
	o.SetOwnerReferences(owners)
	return cutTimes(inJSON(o))
}

func inJSON(o Object) []byte {
	out, err := json.Marshal(o)
	if err != nil {
		panic(err) // it came out of JSON
	}
	return out
}

// cutTimes takes the times out of a text, in values of annotations and in the middle of messages too.
func cutTimes(in []byte) *text {
	const like, date = "2006-01-02T15:04:05Z", len("2006-01-02")
	t := &text{}
	out, from := in[:0], 0 // in place: what is written is never longer than what was read
	for i := date; i+len(like)-date <= len(in); i++ {
		if in[i] != 'T' || in[i+len(like)-date-1] != 'Z' {
			continue
		}
		at, err := time.Parse(time.RFC3339, string(in[i-date:i-date+len(like)]))
		if err != nil {
			continue
		}
		out = append(append(out, in[from:i-date]...), 1)
		t.times = append(t.times, at)
		from = i - date + len(like)
	}
	sum := sha256.Sum256(append(out, in[from:]...))
	t.sum = [16]byte(sum[:16])
	return t
}
