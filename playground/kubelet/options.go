package kubelet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/sluice-delivery/sluice/playground/serve"
)

// Options of the simulated nodes. The zero value is good.
type Options struct {
	// Nodes is how many nodes are created, node-1 and up. Default 3. Every other Node that carries NodeLabel is simulated as
	// well.
	Nodes int
	// PodReadyAfter is how long after its start a container is ready, if its pod's annotations do not say otherwise. The
	// readiness probe's initialDelaySeconds comes on top. Default 1s; a nanosecond is at once.
	PodReadyAfter time.Duration
	// CrashBackoff is the wait before the second restart of a container; it doubles with each restart up to CrashBackoffMax.
	// Defaults 1s and 30s, a tenth of what real kubelets wait.
	CrashBackoff, CrashBackoffMax time.Duration
	// PodCIDR is where the addresses of pods come from. Default 10.244.0.0/16.
	PodCIDR netip.Prefix
	// Serve runs the pods that are HTTP servers (package serve). Nil: they only live by their statuses, as all other pods do.
	Serve *serve.Pods
	// Clock defaults to the real one.
	Clock clock.WithTicker
	// Log defaults to silence.
	Log *slog.Logger
}

func (o Options) withDefaults() (Options, error) {
	o.Nodes = orDefault(o.Nodes, 3)
	o.PodReadyAfter = orDefault(o.PodReadyAfter, time.Second)
	o.CrashBackoff = orDefault(o.CrashBackoff, time.Second)
	o.CrashBackoffMax = orDefault(o.CrashBackoffMax, 30*time.Second)
	o.PodCIDR = orDefault(o.PodCIDR, netip.MustParsePrefix("10.244.0.0/16"))
	o.Log = orDefault(o.Log, slog.New(slog.DiscardHandler))
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Nodes < 0 || o.Nodes > maxNodes {
		return o, fmt.Errorf("nodes: %d is not between 1 and %d", o.Nodes, maxNodes)
	}
	if o.PodReadyAfter < 0 || o.CrashBackoff < 0 || o.CrashBackoffMax < 0 {
		return o, errors.New("durations must not be negative")
	}
	return o, nil
}

func orDefault[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}

// Run simulates nodes, kubelets and scheduler of the cluster that config leads to, until ctx ends; then it returns nil once all
// its goroutines have. It waits for a cluster that is not ready yet. One Run a cluster: two would fight over the pods.
func Run(ctx context.Context, config *rest.Config, o Options) error {
	o, err := o.withDefaults()
	if err != nil {
		return fmt.Errorf("simulated kubelet: %w", err)
	}
	config = rest.AddUserAgent(config, "sluice-playground-kubelet")
	config.QPS = -1 // The writes of one process on one machine need no limit; the default of 5 a second would rule every start.
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("simulated kubelet: %w", err)
	}
	run(ctx, client, o)
	return nil
}
