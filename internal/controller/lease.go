package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"
)

// lookout is how often a standby looks at the lease. The usual election looks every two to four seconds, which is how long nobody
// would work whenever the leader is replaced.
const lookout = 500 * time.Millisecond

// election is the lock that the leader holds. Where it differs from client-go's: who waits for it looks often, and takes a lease that
// is given back or has run out at once.
type election struct {
	resourcelock.Interface
	clock clock.Clock

	mu sync.Mutex
	// holder is who leads as far as is known, raw the lease as it was last seen, and since when it is so.
	holder string
	raw    string
	since  time.Time
}

func newElection(clk clock.Clock, config *rest.Config, o Options) (*election, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("find this machine's name: %w", err)
	}
	identity := resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())}
	lock, err := resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, o.OwnNamespace, leaseName(o.InstanceID), identity, config, o.RenewDeadline)
	if err != nil {
		return nil, fmt.Errorf("set up the leader election: %w", err)
	}
	return &election{Interface: lock, clock: clk}, nil
}

// Get returns the lease once it is this process's own, or free to take.
func (e *election) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	for {
		record, raw, err := e.Interface.Get(ctx)
		if err != nil {
			return record, raw, err
		}
		held := e.see(record, string(raw))
		if !held || record.HolderIdentity == e.Identity() {
			return record, raw, nil
		}
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-e.clock.After(lookout):
		}
	}
}

// see records the lease, and reports whether it is held. An expired lease is shown as held by nobody.
func (e *election) see(record *resourcelock.LeaderElectionRecord, raw string) (held bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.clock.Now()
	if raw != e.raw {
		e.raw, e.since = raw, now
	}
	e.holder = record.HolderIdentity
	if now.Sub(e.since) > time.Duration(record.LeaseDurationSeconds)*time.Second {
		record.HolderIdentity = ""
	}
	return record.HolderIdentity != ""
}

// Create makes the lease.
func (e *election) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return e.wrote(record, e.Interface.Create(ctx, record))
}

// Update takes the lease, renews it or gives it back.
func (e *election) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return e.wrote(record, e.Interface.Update(ctx, record))
}

func (e *election) wrote(record resourcelock.LeaderElectionRecord, err error) error {
	if err == nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.holder = record.HolderIdentity
	}
	return err
}

// Check is a readiness probe: it is known who leads.
func (e *election) Check(*http.Request) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.holder == "" {
		return errors.New("no replica leads yet")
	}
	return nil
}
