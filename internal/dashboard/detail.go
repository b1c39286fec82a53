package dashboard

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/cli/act"
	"github.com/sluice-delivery/sluice/internal/cli/live"
	"github.com/sluice-delivery/sluice/internal/explain"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/sim/play"
	"github.com/sluice-delivery/sluice/internal/view"
)

// details are what is read of a Rollout only while its page is open: the explanation, for which the engine looks at routes, Services and
// templates, and the events. It is read with the rights of who looks, so each person has one of his own.
type details struct {
	clock clock.Clock
	// done is called when there is something new.
	done func(types.NamespacedName)

	// playing holds who plays an update ahead.
	playing chan struct{}

	mu  sync.Mutex
	all map[detailKey]*detail
}

func newDetails(now clock.Clock, done func(types.NamespacedName)) *details {
	return &details{clock: now, done: done, playing: make(chan struct{}, 1), all: map[detailKey]*detail{}}
}

// detailKey is a Rollout as one person may see it.
type detailKey struct {
	person string
	types.NamespacedName
}

// detail is what is known of one Rollout. It is replaced, never changed, but for the fields below busy.
type detail struct {
	Explanation *explain.Explanation
	// Outlook is how the update goes on, OutlookErr why that is not known.
	Outlook    *view.Outlook
	OutlookErr error
	// Routes are the Services and the routers' objects, as the API server has them.
	Routes []routeData
	Events []*corev1.Event
	// Err is why there is no explanation, EventsErr why there are no events.
	Err, EventsErr error

	// stamp is what of the cache it was made from, at when.
	stamp string
	at    time.Time
	// busy is closed when a newer one is there, nil if none is being made.
	busy chan struct{}
}

const (
	// detailAge is how old an explanation may get while nothing changes: time passes, too.
	detailAge = 15 * time.Second
	// detailPace is how often one is made at most, and detailPatience how long a page waits for the first.
	detailPace     = time.Second
	detailPatience = 1500 * time.Millisecond
	detailTimeout  = 20 * time.Second
	detailsKept    = 200
)

// of is what is known of a Rollout. If that is not of this stamp, a newer one is being made, and the first is waited for, a little.
func (d *details) of(ctx context.Context, p *person, name types.NamespacedName, o view.Objects, stamp string) detail {
	key := detailKey{p.Key, name}
	d.mu.Lock()
	known := d.all[key]
	if known == nil {
		d.prune()
		known = &detail{}
		d.all[key] = known
	}
	first := known.at.IsZero()
	if known.busy == nil && (known.stamp != stamp || d.clock.Since(known.at) > detailAge) {
		known.busy = make(chan struct{})
		wait := max(0, detailPace-d.clock.Since(known.at))
		if first {
			wait = 0
		}
		go d.renew(key, p.in(name.Namespace), o, stamp, wait, known.busy)
	}
	busy := known.busy
	d.mu.Unlock()
	if first && busy != nil {
		select {
		case <-busy:
		case <-d.clock.After(detailPatience):
		case <-ctx.Done():
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if now := d.all[key]; now != nil {
		return *now
	}
	return detail{}
}

// prune forgets one that is not being made, if there are many.
func (d *details) prune() {
	for key, old := range d.all {
		if len(d.all) < detailsKept {
			return
		}
		if old.busy == nil {
			delete(d.all, key)
		}
	}
}

func (d *details) renew(key detailKey, c live.Client, o view.Objects, stamp string, wait time.Duration, done chan struct{}) {
	if wait > 0 {
		<-d.clock.After(wait)
	}
	ctx, cancel := context.WithTimeout(context.Background(), detailTimeout)
	defer cancel()
	next := &detail{stamp: stamp, at: d.clock.Now()}
	d.explain(ctx, c, key.Name, o, next)
	next.Events, next.EventsErr = c.Events(ctx, o.Rollout.UID)
	d.mu.Lock()
	d.all[key] = next
	d.mu.Unlock()
	close(done)
	d.done(key.NamespacedName)
}

// explain adds what `sluice explain` says, how the engine plays the update ahead, and the routes that it is about.
func (d *details) explain(ctx context.Context, c live.Client, name string, o view.Objects, into *detail) {
	seen, err := c.Observe(ctx, name, into.at)
	if err != nil {
		into.Err = err
		return
	}
	into.Routes = routesOf(seen)
	objects, err := c.Objects(ctx, name)
	if err != nil {
		into.Err = err
		return
	}
	e, err := explain.Of(seen, objects, looking(ctx, c), act.AfterPromotion)
	if err != nil {
		into.Err = err
		return
	}
	into.Explanation = &e
	into.Outlook, into.OutlookErr = d.outlook(ctx, seen, startupOf(o.Pods))
}

// outlook plays the update ahead. One at a time: there may be many open pages, and this is what takes the processor.
func (d *details) outlook(ctx context.Context, seen plan.Observed, startup time.Duration) (*view.Outlook, error) {
	select {
	case d.playing <- struct{}{}:
		defer func() { <-d.playing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	out, err := play.Ahead(seen, startup)
	if err != nil {
		return nil, err
	}
	return &out, nil
}

// defaultStartup is how long pods take to become ready if none has shown it.
const defaultStartup = 10 * time.Second

// startupOf is how long the pods that are ready took, in the middle.
func startupOf(pods []*corev1.Pod) time.Duration {
	var took []time.Duration
	for _, p := range pods {
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				took = append(took, c.LastTransitionTime.Sub(p.CreationTimestamp.Time))
			}
		}
	}
	if len(took) == 0 {
		return defaultStartup
	}
	slices.Sort(took)
	return min(max(took[len(took)/2], time.Second), 10*time.Minute)
}

// looking adds to what was observed what the engine asks for.
func looking(ctx context.Context, c live.Client) explain.Look {
	return func(o *plan.Observed, need change.Need) error { return c.Look(ctx, o, need) }
}
