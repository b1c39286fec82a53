package explore

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/internal/sim/shell"
)

// bulletin is what the present process has recorded and not published yet: each event is published once, in time, and those on one object
// in their order.
type bulletin struct {
	lab  *laboratory
	told []notice
	// counts are those of the events that were published, by their names.
	counts map[string]int32
}

// notice is what was recorded; attempts is how often it was sent in vain.
type notice struct {
	shell.Notice
	at       time.Time
	attempts int
}

const (
	// published is how late an event is at most: it waits for a free worker and for earlier events, which may be sent again.
	published = 30 * time.Second
	// givenUp is how often an event is sent in vain before those after it are sent.
	givenUp = 4
)

func newBulletin(l *laboratory) *bulletin { return &bulletin{lab: l, counts: map[string]int32{}} }

func (b *bulletin) tells(n shell.Notice) {
	b.told = append(b.told, notice{Notice: n, at: b.lab.world.Now()})
}

// startOver forgets what a process had to publish that is gone.
func (b *bulletin) startOver() { *b = *newBulletin(b.lab) }

// says reports whether an event is that of a notice. Its text may have been cut.
func (n notice) says(e *corev1.Event) bool {
	return n.On == e.InvolvedObject.UID && n.Kind == e.Type && n.Reason == e.Reason && strings.HasPrefix(n.Message, strings.TrimSuffix(e.Message, "…"))
}

// publishes checks an event that is sent, and arrives or not.
func (b *bulletin) publishes(e *corev1.Event, arrived bool) {
	first := slices.IndexFunc(b.told, func(n notice) bool { return n.On == e.InvolvedObject.UID && n.attempts < givenUp })
	if !arrived {
		if first >= 0 {
			b.told[first].attempts++
		}
		return
	}
	more := e.Count - b.counts[e.Name]
	b.counts[e.Name] = e.Count
	if more == 0 {
		return // it was sent again, since the answer was lost
	}
	if first < 0 || !b.told[first].says(e) {
		b.lab.fail("events", "%s %q is published out of its order, or was not told", e.Reason, e.Message)
		return
	}
	found := int32(0)
	b.told = slices.DeleteFunc(b.told, func(n notice) bool {
		if found == more || !n.says(e) {
			return false
		}
		found++
		return true
	})
	if found != more {
		b.lab.fail("events", "%s %q is published as %d events more, and %d were told", e.Reason, e.Message, more, found)
	}
}

// later allows for a clock that jumped.
func (b *bulletin) later(by time.Duration) {
	for i := range b.told {
		b.told[i].at = b.told[i].at.Add(by)
	}
}

// rest checks that nothing waits any more that has waited long enough.
func (b *bulletin) rest() {
	for _, n := range b.told {
		if late := b.lab.world.Now().Sub(n.at); late > published && n.attempts < givenUp {
			b.lab.fail("events", "%s %q was told %s ago and is not published", n.Reason, n.Message, late)
			return
		}
	}
}
