package shell

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/sim"
)

// Notice is an event as it was recorded, on an object.
type Notice struct {
	On                    types.UID
	Kind, Reason, Message string
}

// recorder hears what is told, and hands it on to those who publish it, if anybody does.
type recorder struct {
	*process
	publisher record.EventRecorder
}

// Event notes an event.
func (r *recorder) Event(on runtime.Object, kind, reason, message string) {
	r.pass.Plan.Events = append(r.pass.Plan.Events, change.Event{Warning: kind == corev1.EventTypeWarning, Reason: reason, Message: message})
	if r.publisher == nil || r.ended { // another process leads, and this one is about to exit
		return
	}
	object, err := meta.Accessor(on)
	r.must(err)
	if object.GetNamespace() == sim.Home {
		r.shell.OnTold(Notice{On: object.GetUID(), Kind: kind, Reason: reason, Message: message})
	}
	r.publisher.Event(on, kind, reason, message)
}

// Eventf is for nobody here.
func (*recorder) Eventf(runtime.Object, string, string, string, ...any) { panic(errNobody) }

// AnnotatedEventf is for nobody here.
func (*recorder) AnnotatedEventf(runtime.Object, map[string]string, string, string, string, ...any) {
	panic(errNobody)
}

// publish publishes an event, or changes the count of one that was published, and tells whether it arrived.
func (c *apiClient) publish(event *corev1.Event, verb string) error {
	arrived := false
	err := c.write(kindOf(event), verb, event, func() error {
		arrived = true
		return nil
	})
	if event.InvolvedObject.Namespace == sim.Home {
		c.shell.OnEvent(event, arrived)
	}
	return err
}

// alarms is the World's clock with alarms that go off in a process while it lives.
type alarms struct {
	virtual
	*process
}

// alarm is something that is to be done later.
type alarm struct {
	process *process
	at      time.Time
	do      func()
}

// AfterFunc does something after a while.
func (a alarms) AfterFunc(d time.Duration, do func()) clock.Timer {
	next := &alarm{process: a.process, do: do}
	next.Reset(d)
	return next
}

// After is for nobody here.
func (alarms) After(time.Duration) <-chan time.Time { panic(errNobody) }

// NewTimer is for nobody here.
func (alarms) NewTimer(time.Duration) clock.Timer { panic(errNobody) }

// Sleep is for nobody here.
func (alarms) Sleep(time.Duration) { panic(errNobody) }

// Tick is for nobody here.
func (alarms) Tick(time.Duration) <-chan time.Time { panic(errNobody) }

// C is for nobody here.
func (*alarm) C() <-chan time.Time { panic(errNobody) }

// Stop turns it off.
func (a *alarm) Stop() bool {
	p, n := a.process, len(a.process.alarms)
	p.alarms = slices.DeleteFunc(p.alarms, func(have *alarm) bool { return have == a })
	return len(p.alarms) < n
}

// Reset sets it again.
func (a *alarm) Reset(d time.Duration) bool {
	was := a.Stop()
	a.at = a.process.shell.World.Now().Add(d)
	a.process.alarms = append(a.process.alarms, a)
	return was
}

// goOff lets an alarm go off that is due, and reports whether there was one.
func (p *process) goOff() bool {
	i := slices.IndexFunc(p.alarms, func(a *alarm) bool { return !a.at.After(p.shell.World.Now()) })
	if i < 0 {
		return false
	}
	due := p.alarms[i]
	due.Stop()
	due.do()
	return true
}
