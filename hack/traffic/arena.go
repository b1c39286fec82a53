//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/hack/traffic/load"
	"github.com/sluice-delivery/sluice/hack/traffic/plane"
	address "github.com/sluice-delivery/sluice/internal/metric/prometheus"
	"github.com/sluice-delivery/sluice/internal/playtest"
)

// arena is the namespace of one cell: its Rollout, its controller, its data plane and its load.
type arena struct {
	cell      cell
	cluster   *playtest.Cluster
	client    client.WithWatch
	namespace string
	folder    string
	log       *slog.Logger

	plane *plane.Plane
	rate  int // requests per second
	// controllers that run: the first one leads.
	controllers []*exec.Cmd
	weights     *weights
	prometheus  *prometheus // where the cell is judged
}

const (
	// patience is how long one thing may take that an event waits for.
	patience = 3 * time.Minute
	// interval between two looks at what is waited for.
	interval = 100 * time.Millisecond
)

// run plays the cell under its load.
func (a *arena) run(ctx context.Context, nginx string) (r result, err error) {
	defer func() { err = errors.Join(err, a.stop()) }()
	if err := a.set(ctx, nginx); err != nil {
		return result{}, err
	}
	url, asked, err := a.target(ctx)
	if err != nil {
		return result{}, err
	}
	if err := a.answers(ctx, url, asked); err != nil {
		return result{}, err
	}
	r = result{cell: a.cell, ledger: load.NewLedger()}
	loaded, unload := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() { load.Run(loaded, load.Options{URL: url, Host: asked, Rate: a.rate}, r.ledger) })
	if a.cell.strategy.beta != noBeta {
		r.beta = load.NewLedger()
		all.Go(func() {
			load.Run(loaded, load.Options{URL: url, Host: asked, Header: http.Header{betaHeader: {"1"}}, Rate: max(1, a.rate/4)}, r.beta)
		})
	}
	stop := func() { unload(); all.Wait() }
	defer stop()
	if err := sleep(ctx, 2*time.Second); err != nil {
		return result{}, err
	}
	if err := a.cell.event.do(ctx, a); err != nil {
		return result{}, fmt.Errorf("%s: %w", a.cell, err)
	}
	if err := a.settled(ctx); err != nil {
		return result{}, err
	}
	if err := sleep(ctx, a.cell.lag+2*time.Second); err != nil {
		return result{}, err
	}
	stop()
	r.shares = a.weights.shares(r.ledger, a.cell.lag)
	if r.beta != nil {
		r.shares = append(r.shares, a.weights.byHeader(r, a.cell.lag)...)
	}
	if a.cell.countsCopies() {
		r.copies, err = a.weights.copies(r.beta, a.cell.lag)
	}
	return r, err
}

// set brings everything up, with the first version Healthy.
func (a *arena) set(ctx context.Context, nginx string) error {
	if err := a.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: a.namespace}}); err != nil {
		return err
	}
	if !a.cell.strategy.gateway {
		nginx = ""
	}
	var err error
	a.plane, err = plane.Start(ctx, a.cluster.Config(), a.namespace, plane.Options{Lag: a.cell.lags(), NGINX: nginx, Folder: a.folder, Log: a.log, HTTPRoutes: true})
	if err != nil {
		return err
	}
	if a.cell.judged() {
		if a.prometheus, err = startPrometheus(ctx, a.client, a.namespace, a.folder); err != nil {
			return err
		}
	}
	if err := a.startController(); err != nil {
		return err
	}
	if err := a.apply(ctx, a.cell.strategy.objects+a.cell.rollout(a.namespace, a.rate)); err != nil {
		return err
	}
	if err := a.healthy(ctx, "v1"); err != nil {
		return err
	}
	if a.cell.event.standby {
		if err := a.startController(); err != nil {
			return err
		}
	}
	a.weights, err = follow(ctx, a.client, a.namespace)
	if err == nil && a.cell.countsCopies() {
		a.weights.count = func(version string) (int, error) { return a.answered(ctx, version) }
	}
	return err
}

// target is where requests go, and the Host that they ask for.
func (a *arena) target(ctx context.Context) (url, asked string, err error) {
	if a.cell.strategy.gateway {
		return a.plane.Gateway(), host, nil
	}
	var s corev1.Service
	if err := a.client.Get(ctx, types.NamespacedName{Namespace: a.namespace, Name: "web"}, &s); err != nil {
		return "", "", err
	}
	url, err = a.plane.Service(&s, 80)
	return url, "", err
}

// answers waits until the first requests are answered: the data plane is as late at the beginning as it is later on.
func (a *arena) answers(ctx context.Context, url, asked string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for good := 0; good < 10; {
		ledger := load.NewLedger()
		once, stop := context.WithTimeout(ctx, 500*time.Millisecond)
		load.Run(once, load.Options{URL: url, Host: asked, Rate: 20}, ledger)
		stop()
		total := ledger.Total()
		if good += total.Good; total.Lost > 0 {
			good = 0
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s: nothing answers at %s: %v", a.cell, url, ledger.Reasons())
		}
	}
	return nil
}

func (a *arena) apply(ctx context.Context, manifests string) error {
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader([]byte(manifests)), 4096)
	for {
		var object unstructured.Unstructured
		err := documents.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(object.Object) == 0 {
			continue
		}
		object.SetNamespace(a.namespace)
		if err := a.client.Create(ctx, &object); err != nil {
			return fmt.Errorf("create %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
}

func (a *arena) rollout(ctx context.Context) (*v1alpha1.Rollout, error) {
	var ro v1alpha1.Rollout
	return &ro, a.client.Get(ctx, types.NamespacedName{Namespace: a.namespace, Name: "web"}, &ro)
}

func (a *arena) patch(ctx context.Context, patch string, subresources ...string) error {
	ro := &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "web"}}
	p := client.RawPatch(types.MergePatchType, []byte(patch))
	if len(subresources) > 0 {
		return a.client.SubResource(subresources[0]).Patch(ctx, ro, p)
	}
	return a.client.Patch(ctx, ro, p)
}

func (a *arena) setImage(ctx context.Context, tag string) error {
	ro := &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "web"}}
	patch := fmt.Sprintf(`[{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": %q}]`, image(tag))
	return a.client.Patch(ctx, ro, client.RawPatch(types.JSONPatchType, []byte(patch)))
}

// until waits until a Rollout is as wanted.
func (a *arena) until(ctx context.Context, what string, wanted func(*v1alpha1.Rollout) bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var last v1alpha1.RolloutStatus
	for {
		ro, err := a.rollout(ctx)
		if err == nil {
			last = ro.Status
			if wanted(ro) {
				return nil
			}
		}
		if ctx.Err() != nil {
			return fmt.Errorf("not %s within %s: %s %q (%w)", what, patience, last.Phase, last.Message, errors.Join(err, context.Cause(ctx)))
		}
		_ = sleep(ctx, interval) // the next look says that the time is over
	}
}

// healthy waits until a version has taken everything over.
func (a *arena) healthy(ctx context.Context, tag string) error {
	return a.until(ctx, "Healthy with "+tag, func(ro *v1alpha1.Rollout) bool {
		return ro.Status.ObservedGeneration == fmt.Sprint(ro.Generation) && ro.Spec.Template.Spec.Containers[0].Image == image(tag) &&
			ro.Status.Phase == v1alpha1.RolloutPhaseHealthy && ro.Status.StableRS == ro.Status.CurrentPodHash
	})
}

// underway begins an update to v2 and waits until it is in its midst.
func (a *arena) underway(ctx context.Context) error {
	before, err := a.rollout(ctx)
	if err != nil {
		return err
	}
	if err := a.setImage(ctx, "v2"); err != nil {
		return err
	}
	return a.until(ctx, "under way", func(ro *v1alpha1.Rollout) bool {
		begun := ro.Status.CurrentPodHash != before.Status.CurrentPodHash && ro.Status.StableRS != ro.Status.CurrentPodHash
		return begun && (ro.Spec.Strategy.Canary == nil || ro.Status.CurrentStepIndex != nil && *ro.Status.CurrentStepIndex >= 1)
	})
}

// settled waits until no pod ends any more, and no version has pods that only wait for their end.
func (a *arena) settled(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		ro, err1 := a.rollout(ctx)
		var list corev1.PodList
		err2 := a.client.List(ctx, &list, client.InNamespace(a.namespace))
		if err := errors.Join(err1, err2); err != nil && ctx.Err() == nil {
			return err
		}
		if ro.Spec.Replicas != nil && len(list.Items) == int(*ro.Spec.Replicas) {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %d pods are left after %s", a.cell, len(list.Items), patience)
		}
		_ = sleep(ctx, interval) // the next look says that the time is over
	}
}

func (a *arena) startController() error {
	log, err := os.OpenFile(filepath.Join(a.folder, "controller.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // the child has its own
	c := exec.Command(a.cluster.Program("sluice-controller"), "--kubeconfig", a.cluster.ControllerKubeconfig(), "--namespaced", "--namespace", a.namespace,
		"--metrics-port=0", "--healthz-port=0", "--gateway-status-timeout=0") // there are no Gateways
	if a.cell.event.standby {
		c.Args = append(c.Args, "--leader-elect=true", "--instance-id="+a.namespace) // each cell has a lease of its own
	} else {
		c.Args = append(c.Args, "--leader-elect=false")
	}
	c.Env = append(os.Environ(), "POD_NAMESPACE=argo-rollouts") // as config/install has it: leases are there
	if a.prometheus != nil {
		c.Args = append(c.Args, "--analysis-allow-cidrs=127.0.0.0/8")
		c.Env = append(c.Env, address.AddressVariable+"="+a.prometheus.address)
	}
	c.Stdout, c.Stderr = log, log
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := c.Start(); err != nil {
		return err
	}
	a.controllers = append(a.controllers, c)
	return nil
}

// killController ends the controller without a word, and starts another.
func (a *arena) killController() error { return a.replaceLeader(syscall.SIGKILL) }

// changeLeader ends the leader as its Deployment does, and starts another standby.
func (a *arena) changeLeader() error { return a.replaceLeader(syscall.SIGTERM) }

func (a *arena) replaceLeader(signal syscall.Signal) error {
	leader := a.controllers[0]
	if err := leader.Process.Signal(signal); err != nil {
		return err
	}
	_ = leader.Wait() // it was told to end, as its error says
	a.controllers = a.controllers[1:]
	return a.startController()
}

// stop ends what the cell has started, and removes its namespace's Rollout, so that its pods are no load for other cells.
func (a *arena) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	errs := []error{client.IgnoreNotFound(a.client.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: a.namespace}}))}
	for _, c := range a.controllers {
		errs = append(errs, c.Process.Signal(syscall.SIGTERM))
		_ = c.Wait() // how it ends is not part of this
	}
	if a.weights != nil {
		a.weights.stop()
	}
	if a.prometheus != nil {
		a.prometheus.stop()
	}
	if a.plane != nil {
		errs = append(errs, a.plane.Stop())
	}
	return errors.Join(errs...)
}

// namespaceOf is a namespace for a cell.
func namespaceOf(i int) string { return fmt.Sprintf("traffic-%02d", i) }

// findNGINX is where NGINX is, also where a user's PATH has no folders for system programs.
func findNGINX() (string, error) {
	if path, err := exec.LookPath("nginx"); err == nil {
		return path, nil
	}
	const debian = "/usr/sbin/nginx"
	if _, err := os.Stat(debian); err == nil {
		return debian, nil
	}
	return "", errors.New("there is no nginx: install it (Debian: apt-get install nginx-light), or choose cells without it with -strategy " + strings.Join([]string{"canary", "blue-green"}, ","))
}
