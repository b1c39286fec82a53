//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// hostileUpdates is how often the neighbor's rollout is updated. Each time gives about three reactions.
const hostileUpdates = 20

// hostile is what a tenant with many of the worst objects that the CRDs let through costs its neighbor.
type hostile struct {
	objects       int
	alone, beside timings
	// inFlight are the tenant's measurements while the neighbor is timed.
	inFlight int
	cpu      time.Duration
	resident int64
	took     time.Duration
}

// measureHostile times one rollout as measureReaction does: alone, and again beside n objects of another namespace. It has a playground for
// itself, so that what it leaves is in nobody's way.
func (f *field) measureHostile(ctx context.Context, n int) (h hostile, err error) {
	started := time.Now()
	log := &auditLog{path: filepath.Join(f.folder, "hostile-audit.log")}
	cluster, err := startCluster(log.path)
	if cluster != nil {
		defer cluster.Stop()
	}
	if err != nil {
		return h, err
	}
	own := field{cluster: cluster, audit: log, folder: f.folder, wishes: f.wishes}
	h.objects = n
	var stuck atomic.Int32
	tarpit := newTarpit(&stuck)
	defer tarpit.Close()

	c, err := startController(cluster, f.folder)
	if err != nil {
		return h, err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	neighbor, err := own.namespace(ctx)
	if err != nil {
		return h, err
	}
	one := herd{client: cluster.Client(), namespace: neighbor, size: 1, replicas: 3}
	if err := one.create(ctx, strategyNamed("nine-steps")); err != nil {
		return h, err
	}
	if h.alone, err = one.timeReactions(ctx, "alone", updates); err != nil {
		return h, err
	}
	if err := own.createHostile(ctx, n, tarpit.URL); err != nil {
		return h, err
	}
	progress("%d hostile objects are there", n)
	wait(ctx, settling)
	before, err := c.cpu()
	if err != nil {
		return h, err
	}
	if h.beside, err = one.timeReactions(ctx, "beside", hostileUpdates); err != nil {
		return h, err
	}
	h.inFlight = int(stuck.Load())
	after, err1 := c.cpu()
	h.cpu = after - before
	var err2 error
	h.resident, err2 = c.resident()
	h.took = time.Since(started)
	return h, errors.Join(err1, err2)
}

// timeReactions updates the one rollout of a herd several times and times what follows.
func (h herd) timeReactions(ctx context.Context, image string, times int) (timings, error) {
	s, err := watchReactions(ctx, h.client, h.namespace)
	if err != nil {
		return timings{}, err
	}
	for i := range times {
		if err := h.update(ctx, fmt.Sprintf("%s:%d", image, i)); err != nil {
			s.stop()
			return timings{}, err
		}
	}
	all := s.stop()
	if len(all) == 0 {
		return timings{}, errors.New("no pod became available")
	}
	return timingsOf(all), nil
}

// newTarpit is a server that answers when its client has given up.
func newTarpit(stuck *atomic.Int32) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		stuck.Add(1)
		defer stuck.Add(-1)
		_, _ = io.Copy(io.Discard, r.Body) // or a client that goes is not noticed
		<-r.Context().Done()
	}))
}

// createHostile makes n objects in a namespace of their own.
func (f *field) createHostile(ctx context.Context, n int, tarpit string) error {
	namespace, err := f.namespace(ctx)
	if err != nil {
		return err
	}
	kinds := hostileKinds(tarpit)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(hands)
	for i := range n {
		group.Go(func() error {
			var obj unstructured.Unstructured
			text := strings.ReplaceAll(kinds[i%len(kinds)], "NAME", fmt.Sprintf("hostile%05d", i))
			if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
				return err
			}
			obj.SetNamespace(namespace)
			return f.cluster.Client().Create(ctx, &obj)
		})
	}
	return group.Wait()
}

// hostileKinds are manifests that keep a controller as busy as the CRDs let them, in the proportions in which they are made: of ten, four
// AnalysisRuns with as many metrics as there may be, which a server keeps waiting as long as it may; two Rollouts of a spec that is wrong, one
// with as many steps as there may be, one whose pods never become ready; two Experiments, of which one can never begin.
func hostileKinds(tarpit string) []string {
	var metrics, steps strings.Builder
	for i := range 100 {
		fmt.Fprintf(&metrics, `{name: m%d, interval: 1s, consecutiveErrorLimit: 1000000, provider: {web: {url: %q, timeoutSeconds: 60}}},`, i, tarpit)
	}
	for range 250 {
		steps.WriteString(`{setWeight: 1}, {pause: {duration: 1s}},`)
	}
	run := "{apiVersion: argoproj.io/v1alpha1, kind: AnalysisRun, metadata: {name: NAME}, spec: {metrics: [" + metrics.String() + "]}}"
	rollout := func(more, strategy string) string {
		return "{apiVersion: argoproj.io/v1alpha1, kind: Rollout, metadata: {name: NAME}, spec: {" + more + " selector: {matchLabels: {app: NAME}}, " +
			"template: {metadata: {labels: {app: NAME}}, spec: {terminationGracePeriodSeconds: 1, readinessGates: [{conditionType: example.org/never}], " +
			"containers: [{name: web, image: web}]}}, strategy: " + strategy + "}}"
	}
	broken := rollout("replicas: 1,", "{canary: {stableService: NAME-missing, canaryService: NAME-none, analysis: {templates: [{templateName: missing}]}}}")
	long := rollout("replicas: 0,", "{canary: {steps: ["+steps.String()+"]}}")
	unready := rollout("replicas: 1,", "{canary: {steps: [{setWeight: 50}, {pause: {}}]}}")
	experiment := func(analyses string) string {
		return "{apiVersion: argoproj.io/v1alpha1, kind: Experiment, metadata: {name: NAME}, spec: {" + analyses + " templates: [{name: a, replicas: 0, " +
			"selector: {matchLabels: {app: NAME}}, template: {metadata: {labels: {app: NAME}}, spec: {containers: [{name: web, image: web}]}}}]}}"
	}
	return []string{
		run, broken, long, run, experiment("analyses: [{name: x, templateName: missing}],"), run, broken, unready, run, experiment(""),
	}
}
