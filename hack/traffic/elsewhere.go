//go:build linux

package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/hack/traffic/load"
)

// elsewhere is a Rollout of any cluster, whatever controller manages it, and where its users' requests go. It gets an image while the requests are
// counted.
type elsewhere struct {
	kubeconfig, namespace, rollout, container, image string
	url, host, header                                string
	around, within                                   time.Duration
}

func (e *elsewhere) flags(f *flag.FlagSet) {
	f.StringVar(&e.image, "image", "", "play no matrix, but update a Rollout of your own cluster to this image, and count what its users get: needs -rollout and -url")
	f.StringVar(&e.kubeconfig, "kubeconfig", "", "with -image: path of the kubeconfig (default $KUBECONFIG, or ~/.kube/config)")
	f.StringVar(&e.namespace, "namespace", "", "with -image: namespace of the Rollout (default that of the kubeconfig)")
	f.StringVar(&e.rollout, "rollout", "", "with -image: name of the Rollout")
	f.StringVar(&e.container, "container", "", "with -image: name of the container that gets the image (default the first one)")
	f.StringVar(&e.url, "url", "", "with -image: URL that is requested")
	f.StringVar(&e.host, "host", "", "with -image: Host header of the requests (default that of -url)")
	f.StringVar(&e.header, "version-header", load.VersionHeader, "with -image: header of the answers that names the version, if there is one")
	f.DurationVar(&e.around, "around", 10*time.Second, "with -image: how long requests are sent before the update, and after it")
	f.DurationVar(&e.within, "within", 30*time.Minute, "with -image: how long the update may take at most")
}

func (e *elsewhere) check() error {
	if e.image == "" {
		if e.rollout != "" || e.url != "" {
			return errors.New("-rollout and -url are for -image: add it")
		}
		return nil
	}
	if e.rollout == "" || e.url == "" {
		return errors.New("-image needs -rollout and -url")
	}
	if u, err := url.Parse(e.url); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("-url: %q is not a URL such as http://web.example.org/", e.url)
	}
	if e.around < 0 || e.within <= 0 {
		return errors.New("-around and -within must be times, -within more than 0")
	}
	return nil
}

// play updates the Rollout under load and writes down what came of the requests.
func (e *elsewhere) play(ctx context.Context, rate int, out io.Writer) error {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = e.kubeconfig
	loading := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil)
	config, err := loading.ClientConfig()
	if err != nil {
		return fmt.Errorf("-kubeconfig: %w", err)
	}
	if e.namespace == "" {
		if e.namespace, _, err = loading.Namespace(); err != nil {
			return fmt.Errorf("-kubeconfig: %w", err)
		}
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	return e.update(ctx, c, rate, out)
}

// update sets the image between two spells of undisturbed load.
func (e *elsewhere) update(ctx context.Context, c client.Client, rate int, out io.Writer) error {
	patch, err := e.patch(ctx, c)
	if err != nil {
		return err
	}
	ledger := load.ForeignLedger(e.header)
	loaded, unload := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		load.Run(loaded, load.Options{URL: e.url, Host: e.host, Rate: rate}, ledger)
	}()
	stop := func() { unload(); <-done }
	defer stop()
	if err := sleep(ctx, e.around); err != nil {
		return err
	}
	if before := ledger.Total(); before.Good == 0 {
		return fmt.Errorf("-url: %s answered none of %d requests, before anything was updated: %v", e.url, before.Sum(), ledger.Reasons())
	}
	begun := time.Now()
	if err := c.Patch(ctx, &v1alpha1.Rollout{ObjectMeta: e.object().ObjectMeta}, patch); err != nil {
		return fmt.Errorf("set image %s: %w", e.image, err)
	}
	_, _ = fmt.Fprintf(out, "%s/%s is updated to %s.\n", e.namespace, e.rollout, e.image) // the report is what counts
	end, err := e.ended(ctx, c, out)
	if err != nil {
		return err
	}
	took := time.Since(begun)
	if err := sleep(ctx, e.around); err != nil {
		return err
	}
	stop()
	_, err = io.WriteString(out, report(ledger, end, took))
	return err
}

func (e *elsewhere) object() *v1alpha1.Rollout {
	var ro v1alpha1.Rollout
	ro.Namespace, ro.Name = e.namespace, e.rollout
	return &ro
}

// patch sets the image of the container.
func (e *elsewhere) patch(ctx context.Context, c client.Client) (client.Patch, error) {
	ro := e.object()
	if err := c.Get(ctx, client.ObjectKeyFromObject(ro), ro); err != nil {
		return nil, fmt.Errorf("-rollout: %w", err)
	}
	containers := ro.Spec.Template.Spec.Containers
	if len(containers) == 0 {
		return nil, fmt.Errorf("-rollout: %s/%s has no containers of its own (spec.workloadRef?): update what it refers to", e.namespace, e.rollout)
	}
	if e.container == "" {
		e.container = containers[0].Name
	}
	for i, container := range containers {
		if container.Name != e.container {
			continue
		}
		if container.Image == e.image {
			return nil, fmt.Errorf("-image: container %s has the image %s already, so nothing would be updated", e.container, e.image)
		}
		text := fmt.Sprintf(`[{"op": "replace", "path": "/spec/template/spec/containers/%d/image", "value": %q}]`, i, e.image)
		return client.RawPatch(types.JSONPatchType, []byte(text)), nil
	}
	names := make([]string, len(containers))
	for i, container := range containers {
		names[i] = container.Name
	}
	return nil, fmt.Errorf("-container: there is no %q, but %s", e.container, strings.Join(names, ", "))
}

// ended waits until the update is over, well or not, and says what it waits for.
func (e *elsewhere) ended(ctx context.Context, c client.Client, out io.Writer) (*v1alpha1.Rollout, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, e.within, fmt.Errorf("the update is not over after %s", e.within))
	defer cancel()
	said := ""
	for {
		ro := e.object()
		err := c.Get(ctx, client.ObjectKeyFromObject(ro), ro)
		if err == nil && ro.Status.ObservedGeneration == fmt.Sprint(ro.Generation) {
			if now := strings.TrimSuffix(fmt.Sprintf("%s: %s", ro.Status.Phase, ro.Status.Message), ": "); now != said {
				said = now
				_, _ = fmt.Fprintln(out, "  "+now)
			}
			if ro.Status.Phase == v1alpha1.RolloutPhaseHealthy || ro.Status.Phase == v1alpha1.RolloutPhaseDegraded {
				return ro, nil
			}
		}
		if sleep(ctx, time.Second) != nil {
			return nil, fmt.Errorf("%w; the last phase: %s", errors.Join(context.Cause(ctx), err), cmp.Or(said, "none"))
		}
	}
}

// report is what users got.
func report(ledger *load.Ledger, end *v1alpha1.Rollout, took time.Duration) string {
	var b strings.Builder
	total := ledger.Total()
	fmt.Fprintf(&b, "%s after %.0f s. %d requests: %d lost, %d errors. p50 %s, p99 %s.\n", end.Status.Phase, took.Seconds(), total.Sum(), total.Lost, total.Bad,
		ledger.Latency(0.5).Round(100*time.Microsecond), ledger.Latency(0.99).Round(100*time.Microsecond))
	for _, version := range ledger.Versions() {
		of, failures := ledger.Of(version), ledger.Failures(version)
		fmt.Fprintf(&b, "  version %s: %d answers, %d errors", version, of.Sum(), of.Bad)
		if failures.Count > 0 {
			fmt.Fprintf(&b, ", from the first to the last %.1f s", failures.For().Seconds())
		}
		b.WriteString("\n")
	}
	reasons := ledger.Reasons()
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		fmt.Fprintf(&b, "  lost: %d × %s\n", reasons[reason], reason)
	}
	return b.String()
}
