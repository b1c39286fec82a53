package live

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/view"
)

// Sight is what is seen of a Rollout or an Experiment at some moment.
type Sight struct {
	Objects view.Objects
	// Gone is true when what is followed has been deleted. Objects is empty then, and no other sight follows.
	Gone bool
	// Trouble is why there may be no news: the connection is lost, for example. It is tried again all the time.
	Trouble error
}

// Follow sends a sight of a Rollout at once, and another one whenever something has changed, until ctx ends. Who is slow to receive
// gets only the latest.
func (c Client) Follow(ctx context.Context, name string) (<-chan Sight, error) {
	first, where, err := c.lookAt(ctx, name)
	if err != nil {
		return nil, err
	}
	f := newFollower(c, where...)
	f.rollout = watchOne[v1alpha1.Rollout](f, Rollouts, name)
	return f.run(ctx, first), nil
}

// FollowRollout is Follow without what belongs to the Rollout: who waits for a status need not have the right to see that.
func (c Client) FollowRollout(ctx context.Context, name string) (<-chan Sight, error) {
	ro, err := c.Rollout(ctx, name)
	if err != nil {
		return nil, err
	}
	f := newFollower(c)
	f.rollout = watchOne[v1alpha1.Rollout](f, Rollouts, name)
	return f.run(ctx, view.Objects{Rollout: ro}), nil
}

// FollowExperiment is Follow for an Experiment.
func (c Client) FollowExperiment(ctx context.Context, name string) (<-chan Sight, error) {
	first, where, err := c.lookAtExperiment(ctx, name)
	if err != nil {
		return nil, err
	}
	f := newFollower(c, where...)
	f.experiment = watchOne[v1alpha1.Experiment](f, Experiments, name)
	return f.run(ctx, first), nil
}

// follower turns watches into sights.
type follower struct {
	client  Client
	changed chan struct{} // of one element: a change that is not looked at yet
	answers chan answer
	// troubles are the resources whose last request failed, and how.
	troubles map[string]error
	// rollout or experiment is what is followed, the other one is nil.
	rollout, experiment cache.SharedIndexInformer
	// What belongs to it; nil where that is not followed.
	replicaSets, pods, experiments, analysisRuns cache.SharedIndexInformer
}

func newFollower(c Client, where ...watched) *follower {
	f := &follower{client: c, changed: make(chan struct{}, 1), answers: make(chan answer), troubles: map[string]error{}}
	for _, w := range where {
		switch w.resource {
		case ReplicaSets:
			f.replicaSets = watchAll[appsv1.ReplicaSet](f, w.resource, w.options)
		case Pods:
			f.pods = watchAll[corev1.Pod](f, w.resource, w.options)
		case Experiments:
			f.experiments = watchAll[v1alpha1.Experiment](f, w.resource, w.options)
		case AnalysisRuns:
			f.analysisRuns = watchAll[v1alpha1.AnalysisRun](f, w.resource, w.options)
		}
	}
	return f
}

func watchOne[T any](f *follower, resource schema.GroupVersionResource, name string) cache.SharedIndexInformer {
	return watchAll[T](f, resource, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String()})
}

// watchAll keeps the objects of a resource that the options select, as T.
func watchAll[T any](f *follower, resource schema.GroupVersionResource, options metav1.ListOptions) cache.SharedIndexInformer {
	client := f.client.Resource(resource).Namespace(f.client.Namespace)
	selecting := func(o metav1.ListOptions) metav1.ListOptions {
		o.LabelSelector, o.FieldSelector = options.LabelSelector, options.FieldSelector
		return o
	}
	lw := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list, err := client.List(ctx, selecting(o))
			f.report(ctx, resource.Resource, err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			w, err := client.Watch(ctx, selecting(o))
			f.report(ctx, resource.Resource, err)
			return w, err
		},
	}, f.client.Interface)
	informer := cache.NewSharedIndexInformer(lw, &unstructured.Unstructured{}, 0, cache.Indexers{})
	// The errors of these two can only come from an informer that has been started.
	_ = informer.SetTransform(func(obj any) (any, error) {
		u, ok := obj.(*unstructured.Unstructured)
		if !ok { // a tombstone, or an object that has been through here
			return obj, nil
		}
		return typed[T](u)
	})
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { f.change() },
		UpdateFunc: func(any, any) { f.change() },
		DeleteFunc: func(any) { f.change() },
	})
	return informer
}

func (f *follower) change() {
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// answer is how a request for a resource ended.
type answer struct {
	resource string
	err      error
}

// report tells how a request ended: with trouble, or well, which is the end of any trouble there was. It is told here, since the
// library keeps it to itself when it cannot connect. A watch has to be restarted once in a while, which is no problem.
func (f *follower) report(ctx context.Context, resource string, err error) {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return
	}
	select {
	case f.answers <- answer{resource, err}:
	case <-ctx.Done():
	}
}

// trouble is one of those there are, nil if there are none.
func (f *follower) trouble() error {
	for _, r := range []schema.GroupVersionResource{Rollouts, Experiments, ReplicaSets, Pods, AnalysisRuns} {
		if err := f.troubles[r.Resource]; err != nil {
			return err
		}
	}
	return nil
}

func (f *follower) run(ctx context.Context, first view.Objects) <-chan Sight {
	sights := make(chan Sight)
	go func() {
		defer close(sights)
		ready := f.start(ctx)
		next := Sight{Objects: first}
		out := sights // nil while there is nothing new to tell
		for {
			select {
			case <-ctx.Done():
				return
			case out <- next:
				if next.Gone {
					return
				}
				out = nil
			case <-ready: // closed: from now on the watches know all there is
				ready = nil
				next, out = f.look(), sights
			case <-f.changed:
				if ready == nil {
					next, out = f.look(), sights
				}
			case a := <-f.answers:
				if a.err != nil || f.troubles[a.resource] != nil {
					f.troubles[a.resource] = a.err
					next.Trouble, out = f.trouble(), sights
				}
			}
		}
	}()
	return sights
}

// start runs the watches until ctx ends. The channel is closed when all of them have listed what there is.
func (f *follower) start(ctx context.Context) <-chan struct{} {
	var synced []cache.InformerSynced
	for _, informer := range []cache.SharedIndexInformer{f.rollout, f.experiment, f.replicaSets, f.pods, f.experiments, f.analysisRuns} {
		if informer == nil {
			continue
		}
		go informer.RunWithContext(ctx)
		synced = append(synced, informer.HasSynced)
	}
	ready := make(chan struct{})
	go func() {
		if cache.WaitForCacheSync(ctx.Done(), synced...) {
			close(ready)
		}
	}()
	return ready
}

func (f *follower) look() Sight {
	o := view.Objects{
		ReplicaSets:  stored[appsv1.ReplicaSet](f.replicaSets),
		Pods:         stored[corev1.Pod](f.pods),
		Experiments:  stored[v1alpha1.Experiment](f.experiments),
		AnalysisRuns: stored[v1alpha1.AnalysisRun](f.analysisRuns),
	}
	rollouts, experiments := stored[v1alpha1.Rollout](f.rollout), stored[v1alpha1.Experiment](f.experiment)
	switch {
	case len(rollouts) > 0:
		o.Rollout = rollouts[0]
	case len(experiments) > 0:
		o.Experiment = experiments[0]
	default:
		return Sight{Gone: true}
	}
	return Sight{Trouble: f.trouble(), Objects: o}
}

func stored[T any](informer cache.SharedIndexInformer) []*T {
	if informer == nil {
		return nil
	}
	var out []*T
	for _, obj := range informer.GetStore().List() {
		out = append(out, obj.(*T))
	}
	return out
}

// GoneError is that what was followed has been deleted.
type GoneError struct {
	// Noun is what it was: "rollout".
	Noun, Name string
}

func (e GoneError) Error() string { return fmt.Sprintf("%s '%s' has been deleted", e.Noun, e.Name) }

// gone is the error that what is seen here has been deleted since.
func (s Sight) gone() GoneError {
	switch o := s.Objects; {
	case o.Rollout != nil:
		return GoneError{"rollout", o.Rollout.Name}
	case o.Experiment != nil:
		return GoneError{"experiment", o.Experiment.Name}
	}
	return GoneError{"object", ""}
}
