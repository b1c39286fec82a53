package watch

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/notifier/notified"
)

// memory is what was sent or failed and the caches may not show yet.
type memory struct {
	mu   sync.Mutex
	sent map[types.UID]map[string]time.Time
	// failed are messages that were dropped, with the version of their configuration: they are not rendered again until that changes.
	failed *lru.Cache
}

func newMemory() *memory {
	const most = 1 << 16
	return &memory{sent: map[types.UID]map[string]time.Time{}, failed: lru.New(most)}
}

func (m *memory) has(uid types.UID, key string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := m.sent[uid][key]
	return ok
}

func (m *memory) set(uid types.UID, key string, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sent[uid] == nil {
		m.sent[uid] = map[string]time.Time{}
	}
	m.sent[uid][key] = at
}

// forget drops a key, or with an empty one all of an object.
func (m *memory) forget(uid types.UID, key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if delete(m.sent[uid], key); key == "" || len(m.sent[uid]) == 0 {
		delete(m.sent, uid)
	}
}

func (m *memory) drop(id, version string) { m.failed.Add(id, version) }

func (m *memory) dropped(id, version string) bool {
	v, ok := m.failed.Get(id)
	return ok && v == version
}

// record changes what an object's annotation says, and nothing else of it.
func (n *notifier) record(ctx context.Context, object client.Object, change func(notified.State)) error {
	return n.annotate(ctx, object, map[string]func(notified.State){notified.Annotation: change})
}

// annotate changes annotations by their keys.
func (n *notifier) annotate(ctx context.Context, object client.Object, changes map[string]func(notified.State)) error {
	key, uid := client.ObjectKeyFromObject(object), object.GetUID()
	now := object.DeepCopyObject().(client.Object)
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := n.live.Get(ctx, key, now); err != nil {
			return err
		}
		values := changed(now.GetAnnotations(), changes)
		if len(values) == 0 || now.GetUID() != uid {
			return nil
		}
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
			"resourceVersion": now.GetResourceVersion(), "annotations": values,
		}})
		if err != nil {
			return err
		}
		return n.client.Patch(ctx, now, client.RawPatch(types.MergePatchType, patch))
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("record in %s what was sent: %w", key, err)
	}
	return nil
}

// changed are the annotations that change, nil for those that go.
func changed(annotations map[string]string, changes map[string]func(notified.State)) map[string]any {
	values := map[string]any{}
	for name, change := range changes {
		before := annotations[name]
		state := notified.Parse(before)
		change(state)
		switch after := state.String(); after {
		case before:
		case "":
			values[name] = nil
		default:
			values[name] = after
		}
	}
	return values
}
