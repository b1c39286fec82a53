package explore

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/internal/sim/shell"
)

// bulletin is what the present process has told of and not published yet: each event is published once, in time, alone or with others of its
// reason.
type bulletin struct {
	lab  *laboratory
	told []notice
}

type notice struct {
	shell.Notice
	at time.Time
}

// published is how late an event is at most: it may wait 15 s for others, and then for somebody to send it.
const published = 30 * time.Second

func (b *bulletin) tells(n shell.Notice) {
	b.told = append(b.told, notice{n, b.lab.world.Now()})
}

// publishes checks an event that is published, or whose request was lost.
func (b *bulletin) publishes(e *corev1.Event, arrived bool) {
	found := 0
	b.told = slices.DeleteFunc(b.told, func(n notice) bool { // what is told anew while it is published has another event of its own
		if found == int(e.Count) || n.On != e.InvolvedObject.UID || n.Kind != e.Type || n.Reason != e.Reason || !strings.Contains(e.Message, n.Message) {
			return false
		}
		found++
		return true
	})
	if arrived && found != int(e.Count) {
		b.lab.fail("events", "%s %q is published as %d events, and %d were told", e.Reason, e.Message, e.Count, found)
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
		if late := b.lab.world.Now().Sub(n.at); late > published {
			b.lab.fail("events", "%s %q was told %s ago and is not published", n.Reason, n.Message, late)
			return
		}
	}
}
