package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"k8s.io/client-go/rest"

	"github.com/sluice-delivery/sluice/playground/serve"
)

// Options say how a cluster is to be. The zero value is a cluster that leaves nothing behind.
type Options struct {
	// DataDir keeps the cluster's state between runs. Empty: a temporary folder, removed by Stop.
	DataDir string
	// Port of the API server. Zero: the port of the last run with this DataDir if it is still free, or else any free one.
	Port int
	// Kubeconfig is a second place for the administrator's kubeconfig, beside the one in the data folder.
	Kubeconfig string
	// AuditLog is the file to which every request is logged, one JSON object a line. Empty: no audit.
	AuditLog string
	// AuthenticationConfig is the API server's file of that name (AuthenticationConfiguration), which it reads again when it changes. Empty: people
	// have certificates, and ServiceAccounts tokens.
	AuthenticationConfig string
	// LogFile is where all components log. Empty: playground.log in the data folder.
	LogFile string
	// Verbosity of the components' log, as kubectl's -v.
	Verbosity int
	// Nodes is how many nodes are simulated. Zero: no node, so pods stay pending.
	Nodes int
	// Metrics: the resource-metrics API is served, so that autoscalers have something to go by.
	Metrics bool
	// PodReadyAfter is how long a pod takes to become ready, unless it says so itself. Zero: a second.
	PodReadyAfter time.Duration
	// EndpointsBatch is how long the changes of pods are gathered before EndpointSlices tell of them. Zero: not at all.
	EndpointsBatch time.Duration
}

// Cluster is a running control plane.
type Cluster struct {
	// Kubeconfig is the path of the administrator's kubeconfig.
	Kubeconfig string
	// LogFile is the path of the components' log.
	LogFile string

	admin  *rest.Config
	failed chan error
	// stops are called last to first.
	stops []func()
}

// shutdownGrace bounds how long one component may take to stop. What is left of it then dies with the process, and no
// state is lost: etcd has been told to close, and whatever it acknowledged is in its log.
const shutdownGrace = 3 * time.Second

// Start brings a cluster up and returns when it can be used: the API answers, the nodes are ready and pods can be created in
// the default namespace. Its errors are one line for a person. Ending ctx while it starts ends the attempt; afterwards only
// Stop ends the cluster.
func Start(ctx context.Context, opts Options) (_ *Cluster, err error) {
	c := &Cluster{failed: make(chan error, 8)}
	defer func() {
		if err != nil {
			c.Stop()
		}
	}()

	dir, err := openDataDir(opts.DataDir)
	if err != nil {
		return nil, err
	}
	c.onStop(dir.close)

	listener, err := dir.listen(opts.Port)
	if err != nil {
		return nil, err
	}
	// The API server closes it too; until there is one, this does.
	c.onStop(func() { _ = listener.Close() })

	log, err := openLog(firstNonEmpty(opts.LogFile, dir.path("playground.log")), opts.Verbosity)
	if err != nil {
		return nil, err
	}
	c.LogFile = log.Name()

	ids, err := loadIdentities(dir.path("pki"), "https://"+listener.Addr().String())
	if err != nil {
		return nil, err
	}
	c.admin = ids.admin.config()

	if c.Kubeconfig, err = c.writeKubeconfigs(dir, ids.admin, opts.Kubeconfig); err != nil {
		return nil, err
	}

	etcd, err := startEtcd(ctx, dir, log)
	if err != nil {
		return nil, err
	}
	c.onStop(etcd.stop)

	audit, err := newAudit(dir, opts.AuditLog)
	if err != nil {
		return nil, err
	}
	server, err := newAPIServer(apiServerOptions{
		listener: listener,
		etcd:     etcd.endpoint,
		pki:      ids,
		audit:    audit,
		logins:   opts.AuthenticationConfig,
	})
	if err != nil {
		return nil, err
	}
	c.run(ctx, "kube-apiserver", server.Run)
	if err := c.waitFor(ctx, "the API server to be ready", apiServerReady(c.admin)); err != nil {
		return nil, err
	}

	c.run(ctx, "controllers", runControllers(ids.controllers.config(), opts.EndpointsBatch))
	servers := serve.NewPods(slog.New(slog.NewTextHandler(log, nil)))
	c.runKubelets(ctx, ids.kubelets.config(), opts, servers, log)
	if opts.Metrics {
		if err := c.serveMetrics(ctx, ids, servers); err != nil {
			return nil, err
		}
	}
	if err := c.waitFor(ctx, "the nodes and the default service account", usable(c.admin, opts.Nodes)); err != nil {
		return nil, err
	}
	return c, nil
}

// RESTConfig is a configuration with the administrator's rights. The caller may change it.
func (c *Cluster) RESTConfig() *rest.Config { return rest.CopyConfig(c.admin) }

// Failed receives an error when a component ends although nobody stopped it.
func (c *Cluster) Failed() <-chan error { return c.failed }

// Stop ends all components, and removes the state if it was temporary. It takes a few seconds at most.
func (c *Cluster) Stop() {
	for _, stop := range slices.Backward(c.stops) {
		stop()
	}
	c.stops = nil
}

func (c *Cluster) onStop(stop func()) { c.stops = append(c.stops, stop) }

// run starts a component that works until its context ends, and arranges that Stop ends it and waits for it.
func (c *Cluster) run(ctx context.Context, name string, component func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := component(ctx); ctx.Err() == nil {
			c.failed <- fmt.Errorf("%s ended: %w", name, errors.Join(err, errUnexpectedEnd))
		}
	}()
	c.onStop(func() {
		cancel()
		select {
		case <-done:
		case <-time.After(shutdownGrace):
		}
	})
}

var errUnexpectedEnd = errors.New("nobody asked it to; see the log")

func firstNonEmpty(values ...string) string {
	i := slices.IndexFunc(values, func(s string) bool { return s != "" })
	return values[max(i, 0)]
}
