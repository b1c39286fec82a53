package sim

import (
	"math/rand/v2"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// Start is when every world begins.
var Start = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// World is a cluster with one Rollout.
type World struct {
	Options
	// Policy is what the operator of the controller allows.
	Policy spec.Policy
	now    time.Time
	// objects are those at home, elsewhere those of tenants in namespaces of their own.
	objects   objects
	elsewhere objects
	tenants   map[string]bool
	// sets are the ReplicaSets at home as their controller has them, with their pods.
	sets []*set
	// clusterTemplates are the ClusterAnalysisTemplates. Nobody watches them here.
	clusterTemplates analysis.Templates
	// verdicts are how AnalysisRuns will go, in the order of their creation.
	verdicts []verdict

	// minAvailable is what evictions must leave.
	minAvailable int

	// orphaned: there have been objects that nobody controls, see Renew.
	orphaned bool
	// labelsRefused is why the API server changes no pods, releasesRefused why it changes no object that is to be released.
	labelsRefused, releasesRefused string
	// quota is how many pods there may be, negative for no limit.
	quota int

	fates   map[string]Fate
	version int64 // the last resourceVersion given out
	uid     int
	// Losses counts the available pods that stopped being so without having been scaled away, Drained those that were.
	Losses, Drained int
	// Evictions are those of the latter that were evicted, which no ReplicaSet's size shows.
	Evictions int
	reported  reports // of how many of them all ReplicaSets' statuses tell
	// Looks counts the times that pods were listed.
	Looks int
	// Watch is called after each thing that happens, Wrote after each write of the controller.
	Watch, Wrote func()

	// collectAt is when the garbage collector looks next, zero for not before something happens.
	collectAt time.Time

	loop           Loop
	experimentLoop *ExperimentController
	analysisLoop   *AnalysisController
}

// Options are how a cluster behaves.
type Options struct {
	// PodStart is how long a pod takes to become ready where its image has no fate of its own.
	PodStart time.Duration
	// Lag is how long the ReplicaSet controller, or the Rollout's, takes to act on something; nil for no time at all.
	Lag func() time.Duration
	// SetLag is how much longer the ReplicaSet controller takes.
	SetLag time.Duration
	// EndpointLag is how long after a pod is ready EndpointSlices list it; 0 for a cluster whose EndpointSlices nobody may read.
	EndpointLag time.Duration
	// Rand makes the choices that a cluster leaves open.
	Rand *rand.Rand
	// RoundTrip sends every Rollout through JSON when it is written, as an API server does.
	RoundTrip bool
	// Verdict is how an AnalysisRun will end, and after how long; Running if it never will. Nil where scripts say so.
	Verdict func(*v1alpha1.AnalysisRun) (v1alpha1.AnalysisPhase, time.Duration)
}

// set is a ReplicaSet and its pods.
type set struct {
	*appsv1.ReplicaSet
	pods []*pod
	// syncAt is when the ReplicaSet controller looks at it next, zero for not before something happens.
	syncAt time.Time
}

// reports are numbers of pods.
type reports struct{ losses, evictions int }

// New returns an empty world at its beginning.
func New(o Options) *World {
	if o.Rand == nil {
		o.Rand = rand.New(rand.NewPCG(1, 1))
	}
	if o.Lag == nil {
		o.Lag = func() time.Duration { return 0 }
	}
	return &World{Options: o, now: Start, fates: map[string]Fate{}, quota: -1}
}

// Now is the world's time.
func (w *World) Now() time.Time { return w.now }

// Elapsed is the time since the world began.
func (w *World) Elapsed() time.Duration { return w.now.Sub(Start) }

// Rollout is the Rollout as it is now, not to be modified; nil if it was deleted.
func (w *World) Rollout() *v1alpha1.Rollout { return w.objects.rollouts.first() }

// Run lets everything happen that is due until the given instant, and ends there, or later if the clock jumped beyond it.
func (w *World) Run(until time.Time) {
	for w.Step(until) {
	}
	w.now = latest(w.now, until)
}

// Settle lets things happen until nothing more will by itself, at most for the given time, and reports whether it came to
// that.
func (w *World) Settle(limit time.Duration) bool {
	until := w.now.Add(limit)
	for w.Step(until) {
	}
	return w.Due().IsZero()
}

// Jump moves the clock without anything happening in between, as when a controller did not run for a while.
func (w *World) Jump(by time.Duration) { w.now = w.now.Add(by) }

// Step does the next thing that is due, if anything is until the given instant.
func (w *World) Step(until time.Time) bool {
	due := w.Due()
	if due.IsZero() || due.After(until) {
		return false
	}
	w.now = latest(w.now, due)
	w.perform()
	if w.Watch != nil {
		w.Watch()
	}
	return true
}

// Due is when the next thing happens by itself, zero if nothing will.
func (w *World) Due() time.Time {
	due := earliest(w.DueBesidesMeasuring(), w.analysisLoop.dueAt())
	if m, ok := w.loop.(measurer); ok {
		due = earliest(due, m.Due())
	}
	return due
}

// DueBesidesMeasuring is when something other than a measurement happens; measurements may go on without end.
func (w *World) DueBesidesMeasuring() time.Time {
	due := w.dueInCluster()
	if m, ok := w.loop.(measurer); ok {
		due = earliest(due, m.DueBesidesMeasuring())
	} else if w.loop != nil {
		due = earliest(due, w.loop.Due())
	}
	experiment, _ := w.experimentLoop.dueAt()
	return earliest(due, experiment)
}

// Calm reports whether the cluster has done all it was asked to: what happens next is only what the controller decides.
func (w *World) Calm() bool { return w.dueInCluster().IsZero() }

func (w *World) dueInCluster() time.Time {
	due := w.collectAt
	for _, s := range w.sets {
		due = earliest(due, s.syncAt)
		for _, p := range s.pods {
			due = earliest(due, p.changesAt())
		}
	}
	for _, v := range w.verdicts {
		due = earliest(due, v.at)
	}
	return due
}

// perform does one thing that is due now: first what happens to pods, then what the ReplicaSet controller does about it, then
// the Rollout's controller. Other orders come from Lag.
func (w *World) perform() {
	for _, s := range w.sets {
		for _, p := range s.pods {
			if t := p.changesAt(); !t.IsZero() && !t.After(w.now) {
				w.change(s, p)
				return
			}
		}
	}
	for _, s := range w.sets {
		if !s.syncAt.IsZero() && !s.syncAt.After(w.now) {
			w.sync(s)
			return
		}
	}
	if w.collect() || w.pronounce() || w.analysisLoop.act() {
		return
	}
	if !w.experimentLoop.pass() {
		w.loop.Act()
	}
}

// time is the present as an object holds it, in whole seconds.
func (w *World) time() metav1.Time { return metav1.NewTime(w.now.Truncate(time.Second)) }

// earliest is the earlier of two times, where the zero time is never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// tell notifies all watchers of a write: was became is. A mere measurement of an AnalysisRun is left out, as in the real watches.
func (w *World) tell(was, is Object) {
	run, isRun := is.(*v1alpha1.AnalysisRun)
	before, _ := was.(*v1alpha1.AnalysisRun)
	if !isRun || before == nil || w.analysisLoop == nil || before.Status.Phase != run.Status.Phase {
		w.notify()
	}
	if isRun && w.atHome(is) {
		w.judged(before, run)
	}
	if ex, ok := was.(*v1alpha1.Experiment); ok && is == nil && w.atHome(ex) {
		w.deleteOwnerless()
	}
}

func (w *World) notify() {
	if w.loop != nil {
		w.loop.Notify()
	}
	w.experimentLoop.hear()
}

// atHome reports whether an object is one that the World plays, and not a tenant's.
func (w *World) atHome(o Object) bool { return !w.tenants[KeyOf(o).Namespace] }

// created is what a cluster does about a new object.
func (w *World) created(o Object) {
	if !w.atHome(o) {
		return
	}
	switch o := o.(type) {
	case *appsv1.ReplicaSet:
		w.wakeSet(w.set(o.Name))
	case *v1alpha1.AnalysisRun:
		w.expect(o)
	}
	w.expectOwner(o)
}
