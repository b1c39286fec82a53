package controller

import (
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/sluice-delivery/sluice/internal/traffic/routers"
)

// missFor is how long it is remembered that the API server does not have a kind: less than consentRetry, so that a Rollout that waits for
// the kind finds it with its next reconcile, however many others ask for it in between.
const missFor = 20 * time.Second

// mostMissed is how many missing kinds are remembered: a Rollout may name any.
const mostMissed = 1000

// mapper remembers under which resource the API server has a kind. To look that up in what discovery has told costs a good part of what
// a write does, and each event and each write asks for it. What a kind is called does not change while it is there. That a kind is missing is
// remembered for a time: anyone may name one in a Rollout, and discovery would be asked in every reconcile.
//
// A kind of a traffic router that the API server does not have in the version that is asked for is found in another one that is as good.
type mapper struct {
	meta.RESTMapper
	clock clock.PassiveClock
	// first has the versions that the operator prefers.
	first map[schema.GroupKind]string
	known sync.Map // of *meta.RESTMapping by schema.GroupVersionKind

	mu     sync.Mutex
	missed map[schema.GroupVersionKind]miss // at most mostMissed
}

type miss struct {
	err error
	at  time.Time
}

// newMapper makes a mapper that asks the API server.
func newMapper(first map[schema.GroupKind]string) func(config *rest.Config, client *http.Client) (meta.RESTMapper, error) {
	return func(config *rest.Config, client *http.Client) (meta.RESTMapper, error) {
		discovering, err := apiutil.NewDynamicRESTMapper(config, client)
		if err != nil {
			return nil, err
		}
		return remembering(discovering, clock.RealClock{}, first), nil
	}
}

func remembering(asks meta.RESTMapper, c clock.PassiveClock, first map[schema.GroupKind]string) *mapper {
	return &mapper{RESTMapper: asks, clock: c, first: first, missed: map[schema.GroupVersionKind]miss{}}
}

// RESTMapping returns the resource of a kind in one version.
func (m *mapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if len(versions) != 1 { // which version is preferred may change
		return m.RESTMapper.RESTMapping(kind, versions...)
	}
	key := kind.WithVersion(versions[0])
	if known, ok := m.known.Load(key); ok {
		return known.(*meta.RESTMapping), nil
	}
	if err := m.isMissing(key); err != nil {
		return nil, err
	}
	found, err := m.ask(key)
	switch {
	case meta.IsNoMatchError(err):
		m.mu.Lock()
		defer m.mu.Unlock()
		if len(m.missed) >= mostMissed {
			clear(m.missed)
		}
		m.missed[key] = miss{err, m.clock.Now()}
		return nil, err
	case err != nil:
		return nil, err
	}
	m.known.Store(key, found)
	return found, nil
}

func (m *mapper) isMissing(key schema.GroupVersionKind) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	missed, ok := m.missed[key]
	if since := m.clock.Since(missed.at); !ok || since >= missFor || since < 0 {
		delete(m.missed, key)
		return nil
	}
	return missed.err
}

// ask looks for a kind in the versions that are as good as the one that is asked for. The error is that of the last one.
func (m *mapper) ask(key schema.GroupVersionKind) (found *meta.RESTMapping, err error) {
	for _, version := range m.versions(key) {
		found, err = m.RESTMapper.RESTMapping(key.GroupKind(), version)
		if !meta.IsNoMatchError(err) {
			return found, err
		}
	}
	return nil, err
}

func (m *mapper) versions(key schema.GroupVersionKind) []string {
	versions := routers.Versions(key)
	if first := m.first[key.GroupKind()]; first != "" && len(versions) > 1 {
		return append([]string{first}, versions...)
	}
	return versions
}
