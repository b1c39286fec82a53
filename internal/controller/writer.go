package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/experiment"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// errBehind says that a cache does not show yet what is known to be there, mostly this controller's own last write.
var errBehind = errors.New("a cache is behind")

// missingFor is how long an object that was written may be absent from the cache before it is read by name: someone may have
// deleted it before the cache ever contained it.
const missingFor = 2 * time.Second

// writer writes objects on behalf of those that own them, a Rollout, an Experiment or an AnalysisRun: each write bound to the version of the
// object that it was decided on, and remembered until the caches show it. Every write of an object that caches have ends in answered or
// deleted. Pods are not among these: each pass that changes them reads them from the API server.
type writer struct {
	// kind is what the owners are, for those who read the log.
	kind  string
	clock clock.PassiveClock
	// client reads from the caches and writes to the API server; live reads from the API server.
	client client.Client
	live   client.Reader
	log    *slog.Logger
	memory *memory
}

func newWriter(kind string, p Deps) writer {
	return writer{kind: kind, clock: p.Clock, client: p.Client, live: p.Live, log: p.Log, memory: newMemory()}
}

// answered remembers what became of a write of from: now is the API server's answer. With an error the write may have been done all the same,
// unless the API server says that it was not.
func (w *writer) answered(owner, from, now client.Object, err error) {
	key := client.ObjectKeyFromObject(owner)
	if err != nil {
		w.memory.failed(key, from, err)
		return
	}
	w.memory.wrote(key, now, w.clock.Now())
}

// post creates an object, and leaves what it is given as it is.
func (w *writer) post(ctx context.Context, owner, want client.Object) error {
	obj := want.DeepCopyObject().(client.Object) // the client writes the answer into what it sends
	err := w.client.Create(ctx, obj)
	w.answered(owner, want, obj, err)
	return err
}

const experimentKind experiment.Kind = v1alpha1.KindExperiment

// changeOwned carries out a change of an object that belongs to its owner.
func (w *writer) changeOwned(ctx context.Context, owner client.Object, made change.Change) error {
	switch c := made.(type) {
	case change.CreateReplicaSet:
		return w.create(ctx, owner, c.ReplicaSet, experiment.ReplicaSet)
	case change.UpdateReplicaSet:
		return w.patch(ctx, owner, withoutPods(c.From), withoutPods(c.To), "ReplicaSet")
	case change.DeleteReplicaSet:
		return w.remove(ctx, owner, c.ReplicaSet, experiment.ReplicaSet)
	case change.CreateService:
		return w.create(ctx, owner, c.Service, experiment.Service)
	case change.DeleteService:
		return w.remove(ctx, owner, c.Service, experiment.Service)
	case change.CreateAnalysisRun:
		return w.create(ctx, owner, c.Run, experiment.AnalysisRun)
	case change.TerminateAnalysisRun:
		return w.patch(ctx, owner, c.From, c.To.DeepCopy(), "AnalysisRun")
	case change.DeleteAnalysisRun:
		return w.remove(ctx, owner, c.Run, experiment.AnalysisRun)
	case change.CreateExperiment:
		return w.create(ctx, owner, c.Experiment, experimentKind)
	case change.TerminateExperiment:
		return w.patch(ctx, owner, c.From, c.To.DeepCopy(), "Experiment")
	case change.DeleteExperiment:
		return w.remove(ctx, owner, c.Experiment, experimentKind)
	case change.UpdateService, change.WriteRoute, change.UpdatePod, change.EvictPod, change.ScaleWorkload:
		panic(fmt.Sprintf("%T changes what may have another owner", made)) // see Rollouts.change
	default:
		panic(fmt.Sprintf("change of unknown kind %T", made))
	}
}

// create creates an object under its name. A name that is taken, or an object that the API server does not take, is a refusal.
func (w *writer) create(ctx context.Context, owner, want client.Object, kind experiment.Kind) error {
	err := w.post(ctx, owner, want)
	switch {
	case err == nil:
		return nil
	case apierrors.IsAlreadyExists(err):
		return w.found(ctx, owner, want, kind)
	case refused(err):
		return &refusal{kind, change.CreateFailure{Name: want.GetName(), Message: err.Error()}}
	}
	return fmt.Errorf("create %s %s: %w", kind, want.GetName(), err)
}

// found is for an object that exists already: an earlier pass made it and the cache does not show it, or it is another's.
func (w *writer) found(ctx context.Context, owner, want client.Object, kind experiment.Kind) error {
	have, there, err := read(ctx, w.live, want)
	if err != nil {
		return fmt.Errorf("read %s %s, whose name is taken: %w", kind, want.GetName(), err)
	}
	if !there {
		return errBehind
	}
	if metav1.IsControlledBy(have, owner) && have.GetDeletionTimestamp() == nil && sameTemplate(want, have) {
		w.answered(owner, want, have, nil)
		return errBehind
	}
	return &refusal{kind, change.CreateFailure{
		Name: want.GetName(), Taken: true, Leaving: experiment.Leaving(have), Message: "the name is taken",
	}}
}

// sameTemplate reports whether objects, if they are ReplicaSets, are of the same pods.
func sameTemplate(want, have client.Object) bool {
	a, isSet := want.(*appsv1.ReplicaSet)
	b, alsoSet := have.(*appsv1.ReplicaSet)
	return !isSet || !alsoSet || spec.SameTemplate(spec.Bare(a), spec.Bare(b))
}

// refused reports whether trying the same again cannot help.
func refused(err error) bool {
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return false
	}
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) ||
		apierrors.IsRequestEntityTooLargeError(err)
}

// refusal carries what the engine must know of a creation that failed for good.
type refusal struct {
	kind experiment.Kind
	change.CreateFailure
}

func (r *refusal) Error() string { return fmt.Sprintf("create %s %s: %s", r.kind, r.Name, r.Message) }

// patch writes what differs between from and to, which must be a copy: the answer is written into it.
func (w *writer) patch(ctx context.Context, owner, from, to client.Object, kind string) error {
	err := w.client.Patch(ctx, to, guarded(from))
	if w.answered(owner, from, to, err); err != nil {
		return fmt.Errorf("patch %s %s: %w", kind, from.GetName(), err)
	}
	return nil
}

func (w *writer) remove(ctx context.Context, owner, obj client.Object, kind experiment.Kind) error {
	err := w.client.Delete(ctx, obj, client.PropagationPolicy(metav1.DeletePropagationBackground),
		client.Preconditions{UID: new(obj.GetUID()), ResourceVersion: new(obj.GetResourceVersion())})
	if client.IgnoreNotFound(err) != nil {
		w.answered(owner, obj, nil, err)
		return fmt.Errorf("delete %s %s: %w", kind, obj.GetName(), err)
	}
	w.memory.deleted(client.ObjectKeyFromObject(owner), obj, w.clock.Now())
	return nil
}

// guarded is a patch of what differs from an object, which the API server takes only while the object is at that version. Fields of its
// status that could not be read are written over.
func guarded(from client.Object) client.Patch {
	patch := client.MergeFromWithOptions(from, client.MergeFromWithOptimisticLock{})
	if unreadable := unreadableStatus(from); len(unreadable) > 0 {
		return overwriting{Patch: patch, fields: unreadable}
	}
	return patch
}

// movedOn reports whether a write failed because the object is not what it was when it was observed.
func movedOn(err error) bool { return apierrors.IsConflict(err) || apierrors.IsNotFound(err) }

// catchUp makes sure that what was observed shows the writes on behalf of an owner. versions are the resourceVersions of all that was
// observed.
func (w *writer) catchUp(ctx context.Context, owner types.NamespacedName, versions map[types.UID]string, now time.Time) error {
	if err := w.findOut(ctx, owner, now); err != nil {
		return err
	}
	return w.shown(ctx, owner, versions, now)
}

// shown makes sure that what was observed shows the writes of which it is known that they were done.
func (w *writer) shown(ctx context.Context, owner types.NamespacedName, versions map[types.UID]string, now time.Time) error {
	unseen := w.memory.unseen(owner, versions)
	for _, uid := range slices.Sorted(maps.Keys(unseen)) { // always in one order, for the simulator's histories
		if err := w.lookFor(ctx, owner, uid, unseen[uid], now); err != nil {
			return err
		}
	}
	return nil
}

// findOut asks the API server what became of writes that it has not answered. One that was done is waited for as if it had been.
func (w *writer) findOut(ctx context.Context, owner types.NamespacedName, now time.Time) error {
	doubts := w.memory.takeUncertain(owner)
	for i, obj := range doubts {
		live, there, err := read(ctx, w.live, obj)
		switch {
		case err != nil:
			w.memory.markUncertain(owner, doubts[i:]...)
			return fmt.Errorf("find out the result of a write of %T %s: %w", obj, client.ObjectKeyFromObject(obj), err)
		case there && isThat(live, obj):
			w.memory.wrote(owner, live, now)
		case obj.GetUID() != "":
			w.memory.deleted(owner, obj, now)
		}
	}
	return nil
}

// isThat reports whether an object is the one that was written, or the one that was to be created and not another's of the name, which caches
// may not have.
func isThat(live, obj client.Object) bool {
	if obj.GetUID() != "" {
		return live.GetUID() == obj.GetUID()
	}
	owner := metav1.GetControllerOfNoCopy(obj)
	return owner != nil && metav1.GetControllerOfNoCopy(live) != nil && metav1.GetControllerOfNoCopy(live).UID == owner.UID
}

// lookFor deals with a write that what was observed does not show. The cache may show it all the same, for an object that is of
// no more concern; or it will, unless the object is gone again and the cache never had it.
func (w *writer) lookFor(ctx context.Context, key types.NamespacedName, uid types.UID, written write, now time.Time) error {
	cached, there, err := read(ctx, w.client, written.object)
	if err != nil {
		return notSeen(written.object, err)
	}
	there = there && cached.GetUID() == uid
	leaving := there && written.isDeletion() && cached.GetDeletionTimestamp() != nil // finalizers may keep it for long
	if leaving || written.shownBy(cached.GetResourceVersion(), there) {
		w.memory.forgetWrite(key, uid)
		return nil
	}
	if there || now.Sub(written.at) < missingFor {
		return errBehind
	}
	live, there, err := read(ctx, w.live, written.object)
	if err != nil {
		return notSeen(written.object, err)
	}
	if !there || live.GetUID() != uid {
		w.memory.forgetWrite(key, uid)
		return nil
	}
	return errBehind
}

func notSeen(obj client.Object, err error) error {
	return fmt.Errorf("find %T %s, which was written and is not in the cache: %w", obj, client.ObjectKeyFromObject(obj), err)
}

// read reads an object of the same kind and name as another one.
func read(ctx context.Context, reader client.Reader, like client.Object) (obj client.Object, there bool, err error) {
	obj = reflect.New(reflect.TypeOf(like).Elem()).Interface().(client.Object)
	obj.GetObjectKind().SetGroupVersionKind(like.GetObjectKind().GroupVersionKind())
	err = reader.Get(ctx, client.ObjectKeyFromObject(like), obj)
	if apierrors.IsNotFound(err) {
		return obj, false, nil
	}
	return obj, err == nil, err
}
