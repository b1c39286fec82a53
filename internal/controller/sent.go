package controller

import (
	"errors"
	"maps"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// sent remembers, for each Rollout, the writes that the caches have not shown yet. Deciding on a view that lacks one's own last
// write would do it again, or undo it.
type sent struct {
	mu sync.Mutex
	// writes by Rollout, then by the UID of the object written.
	writes map[types.NamespacedName]map[types.UID]write
	// unanswered are the objects, by Rollout, of which nobody knows whether a write was done.
	unanswered map[types.NamespacedName][]client.Object
}

type write struct {
	// object is what the API server answered.
	object client.Object
	// version is the resourceVersion that the write led to; empty after a deletion.
	version string
	at      time.Time
}

func newSent() *sent {
	return &sent{writes: map[types.NamespacedName]map[types.UID]write{}, unanswered: map[types.NamespacedName][]client.Object{}}
}

// wrote notes that obj is what the API server answered to a write for the Rollout.
func (s *sent) wrote(rollout types.NamespacedName, obj client.Object, at time.Time) {
	s.put(rollout, obj.GetUID(), write{object: obj, version: obj.GetResourceVersion(), at: at})
}

// deleted notes that obj was deleted for the Rollout.
func (s *sent) deleted(rollout types.NamespacedName, obj client.Object, at time.Time) {
	s.put(rollout, obj.GetUID(), write{object: obj, at: at})
}

// put notes a write, unless of an object that every pass reads from the API server: that shows it.
func (s *sent) put(rollout types.NamespacedName, uid types.UID, w write) {
	if isReadLive(w.object.GetObjectKind().GroupVersionKind().Kind) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writes[rollout] == nil {
		s.writes[rollout] = map[types.UID]write{}
	}
	s.writes[rollout][uid] = w
}

// forget drops all that is remembered of a Rollout.
func (s *sent) forget(rollout types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.writes, rollout)
	delete(s.unanswered, rollout)
}

// failed notes that a write of obj for the Rollout has failed. Unless the API server says so, it may have been done all the same.
func (s *sent) failed(rollout types.NamespacedName, obj client.Object, err error) {
	if mayBeDone(err) && !isReadLive(obj.GetObjectKind().GroupVersionKind().Kind) {
		s.doubt(rollout, obj)
	}
}

// doubt notes objects of which it is to be found out whether a write was done.
func (s *sent) doubt(rollout types.NamespacedName, objects ...client.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unanswered[rollout] = append(s.unanswered[rollout], objects...)
}

// mayBeDone reports whether a write that failed may have been done: no answer came, or one of a server in trouble.
func mayBeDone(err error) bool {
	var answer apierrors.APIStatus
	return !errors.As(err, &answer) || answer.Status().Code >= http.StatusInternalServerError
}

// doubts returns the objects of which it is to be found out whether a write was done, and forgets them.
func (s *sent) doubts(rollout types.NamespacedName) []client.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	objects := s.unanswered[rollout]
	delete(s.unanswered, rollout)
	return objects
}

// forgetWrite drops one write, by the UID of its object.
func (s *sent) forgetWrite(rollout types.NamespacedName, uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.writes[rollout], uid)
}

// forgetOthers drops the writes to all but one object: those to an earlier one of its name.
func (s *sent) forgetOthers(owner types.NamespacedName, uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.writes[owner], func(written types.UID, _ write) bool { return written != uid })
}

// unseen returns the writes that objects, as the caches have them, do not show. What they show is forgotten.
func (s *sent) unseen(rollout types.NamespacedName, objects map[types.UID]string) map[types.UID]write {
	s.mu.Lock()
	defer s.mu.Unlock()
	unseen := map[types.UID]write{}
	for uid, w := range s.writes[rollout] {
		version, there := objects[uid]
		if w.shownBy(version, there) {
			delete(s.writes[rollout], uid)
			continue
		}
		unseen[uid] = w
	}
	if len(s.writes[rollout]) == 0 {
		delete(s.writes, rollout)
	}
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
