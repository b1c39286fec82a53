package controller

import (
	"errors"
	"maps"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// write is one that caches are expected to show: to decide on a view that lacks one's own last write would be to do it again, or to undo it.
type write struct {
	// object is what the API server answered.
	object client.Object
	// version is the resourceVersion that the write led to; empty after a deletion.
	version string
	at      time.Time
}

// wrote notes that obj is what the API server answered to a write for an owner.
func (m *memory) wrote(owner types.NamespacedName, obj client.Object, at time.Time) {
	m.expect(owner, write{object: obj, version: obj.GetResourceVersion(), at: at})
}

// deleted notes that obj was deleted for an owner.
func (m *memory) deleted(owner types.NamespacedName, obj client.Object, at time.Time) {
	m.expect(owner, write{object: obj, at: at})
}

// expect notes a write, unless of an object that every pass reads from the API server: that shows it.
func (m *memory) expect(owner types.NamespacedName, w write) {
	if isReadLive(w.object.GetObjectKind().GroupVersionKind().Kind) {
		return
	}
	m.of(owner, func(r *recollection) {
		if r.expected == nil {
			r.expected = map[types.UID]write{}
		}
		r.expected[w.object.GetUID()] = w
	})
}

// failed notes that a write of obj for an owner has failed. Unless the API server says so, it may have been done all the same.
func (m *memory) failed(owner types.NamespacedName, obj client.Object, err error) {
	if mayBeDone(err) && !isReadLive(obj.GetObjectKind().GroupVersionKind().Kind) {
		m.markUncertain(owner, obj)
	}
}

// markUncertain records objects whose last write may or may not have been applied.
func (m *memory) markUncertain(owner types.NamespacedName, objects ...client.Object) {
	m.of(owner, func(r *recollection) { r.unanswered = append(r.unanswered, objects...) })
}

// mayBeDone reports whether a write that failed may have been done: no answer came, or one of a server in trouble.
func mayBeDone(err error) bool {
	var answer apierrors.APIStatus
	return !errors.As(err, &answer) || answer.Status().Code >= http.StatusInternalServerError
}

// takeUncertain returns, and clears, the objects whose last write has an unknown outcome.
func (m *memory) takeUncertain(owner types.NamespacedName) (objects []client.Object) {
	m.of(owner, func(r *recollection) { objects, r.unanswered = r.unanswered, nil })
	return objects
}

// forgetWrite drops one write, by the UID of its object.
func (m *memory) forgetWrite(owner types.NamespacedName, uid types.UID) {
	m.of(owner, func(r *recollection) { delete(r.expected, uid) })
}

// forgetOthers drops the writes to all but one object: those to an earlier one of its name.
func (m *memory) forgetOthers(owner types.NamespacedName, uid types.UID) {
	m.of(owner, func(r *recollection) {
		maps.DeleteFunc(r.expected, func(written types.UID, _ write) bool { return written != uid })
	})
}

// unseen returns the writes that objects, as the caches have them, do not show. What they show is forgotten.
func (m *memory) unseen(owner types.NamespacedName, objects versions) (unseen map[types.UID]write) {
	m.of(owner, func(r *recollection) {
		maps.DeleteFunc(r.expected, func(uid types.UID, w write) bool {
			version, there := objects[uid]
			return w.shownBy(version, there)
		})
		unseen = maps.Clone(r.expected)
	})
	return unseen
}

func (w write) isDeletion() bool { return w.version == "" }

// shownBy reports whether a cache that has the object at this version, or not at all, is up to date with the write.
func (w write) shownBy(version string, there bool) bool {
	if w.isDeletion() {
		return !there
	}
	if !there {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(version, w.version)
	// A server whose versions cannot be compared gives no way to tell: act, since the writes themselves are guarded.
	return err != nil || order >= 0
}
