package playtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest/port"
)

// Namespace is one test's part of the playground.
type Namespace struct {
	// Name of the namespace.
	Name string
	// Client reads and writes as the cluster's admin.
	Client client.WithWatch
	// Config is the admin's access, Kubeconfig a file that grants it.
	Config     *rest.Config
	Kubeconfig string
	// Env is the environment of its controllers, beside that of the test: NAME=VALUE.
	Env []string

	t           *testing.T
	controllers []*exec.Cmd
	log         string
	markers     int
}

// New makes a namespace for the test, which is deleted when the test has ended. A test that has one must have no subtests that make
// others: it would wait for them, and they for its seat.
func New(t *testing.T) *Namespace {
	t.Helper()
	return enter(t, late)
}

// NewEarly is New for a test that takes minutes on any machine: it comes before the others, which are busy meanwhile.
func NewEarly(t *testing.T) *Namespace {
	t.Helper()
	return enter(t, early)
}

func enter(t *testing.T, when turn) *Namespace {
	t.Helper()
	if shared == nil {
		t.Fatal("playtest.Main must run the tests of this package: func TestMain(m *testing.M) { playtest.Main(m) }")
	}
	seats.sit(when)
	t.Cleanup(seats.stand)
	made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	if err := shared.client.Create(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	ns := &Namespace{
		Name: made.Name, Client: shared.client, Config: shared.config, Kubeconfig: shared.kubeconfig,
		t: t, log: filepath.Join(t.TempDir(), "controller.log"),
	}
	t.Cleanup(func() {
		for len(ns.controllers) > 0 {
			ns.StopController(syscall.SIGTERM)
		}
		if t.Failed() {
			ns.showLog()
		}
		_ = shared.client.Delete(context.Background(), made) // the playground goes with all that is in it
	})
	return ns
}

// Program is the path of one of Sluice's programs.
func Program(name string) string { return shared.Program(name) }

// StartController starts a controller that manages this namespace only, alongside those that are already running.
func (ns *Namespace) StartController(flags ...string) {
	ns.t.Helper()
	ns.start(append([]string{"--namespaced", "--namespace", ns.Name}, flags...))
}

func (ns *Namespace) start(flags []string) {
	ns.t.Helper()
	log, err := os.OpenFile(ns.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		ns.t.Fatal(err)
	}
	defer func() { _ = log.Close() }() // the child has its own
	args := append([]string{
		"--kubeconfig", shared.controllerKubeconfig,
		"--leader-elect=false", "--metrics-port=0", "--healthz-port=0", "--loglevel=debug",
	}, flags...)
	if !slices.ContainsFunc(flags, func(f string) bool { return strings.HasPrefix(f, "--analysis-allow-cidrs") }) {
		args = append(args, "--analysis-allow-cidrs=127.0.0.0/8") // where servers of tests are
	}
	if !slices.ContainsFunc(flags, func(f string) bool { return strings.HasPrefix(f, "--gateway-status-timeout") }) {
		args = append(args, "--gateway-status-timeout=0") // the playground has no Gateways
	}
	cmd := exec.Command(Program("sluice-controller"), args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = slices.Concat(os.Environ(), []string{"POD_NAMESPACE=argo-rollouts"}, ns.Env) // as config/install has it: leases are there
	if err := cmd.Start(); err != nil {
		ns.t.Fatal(err)
	}
	ns.controllers = append(ns.controllers, cmd)
}

// FreePort is a TCP port that nobody listens on, for a controller's metrics or probes.
func (ns *Namespace) FreePort() int {
	ns.t.Helper()
	free, err := port.Free()
	if err != nil {
		ns.t.Fatal(err)
	}
	return free
}

// KubeconfigOf writes a kubeconfig with the rights of a service account, of this namespace or NAMESPACE/NAME, and returns its path.
func (ns *Namespace) KubeconfigOf(account string) string {
	ns.t.Helper()
	file := filepath.Join(ns.t.TempDir(), filepath.Base(account)+".kubeconfig")
	if !strings.Contains(account, "/") {
		account = ns.Name + "/" + account
	}
	if err := shared.writeKubeconfig(ns.t.Context(), account, file); err != nil {
		ns.t.Fatal(err)
	}
	return file
}

// StopController ends the controller that was started first, of those that run, with a signal.
func (ns *Namespace) StopController(signal os.Signal) {
	ns.t.Helper()
	if len(ns.controllers) == 0 {
		ns.t.Fatal("no controller runs")
	}
	first := ns.controllers[0]
	_ = first.Process.Signal(signal)
	_ = first.Wait() // ended by a signal is what was asked for
	ns.controllers = ns.controllers[1:]
}

// SignalController sends a signal to the controller that was started first, of those that run: wait for what becomes of it.
func (ns *Namespace) SignalController(signal os.Signal) {
	ns.t.Helper()
	if len(ns.controllers) == 0 {
		ns.t.Fatal("no controller runs")
	}
	if err := ns.controllers[0].Process.Signal(signal); err != nil {
		ns.t.Fatal(err)
	}
}

// WaitForControllerToExit waits until the controller that was started first, of those that run, has ended by itself, and returns its
// exit status.
func (ns *Namespace) WaitForControllerToExit() int {
	ns.t.Helper()
	if len(ns.controllers) == 0 {
		ns.t.Fatal("no controller runs")
	}
	first := ns.controllers[0]
	impatient := time.AfterFunc(Patience, func() { _ = first.Process.Kill() }) // which is told apart by its status, -1
	defer impatient.Stop()
	_ = first.Wait() // the status tells
	ns.controllers = ns.controllers[1:]
	return first.ProcessState.ExitCode()
}

// Log is the file into which the controllers of the namespace write.
func (ns *Namespace) Log() string { return ns.log }

func (ns *Namespace) showLog() {
	content, err := os.ReadFile(ns.log)
	if err != nil {
		return // no controller was started
	}
	const most = 200
	lines := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	if len(lines) > most {
		lines = append([]string{fmt.Sprintf("… %d lines before", len(lines)-most)}, lines[len(lines)-most:]...)
	}
	ns.t.Logf("the controller's log:\n%s", strings.Join(lines, "\n"))
}

// Apply applies every object of a file.
func (ns *Namespace) Apply(file string) {
	ns.t.Helper()
	if err := shared.apply(ns.t.Context(), file, ns.Name); err != nil {
		ns.t.Fatal(err)
	}
}

// CreateRollout creates a Rollout from YAML.
func (ns *Namespace) CreateRollout(manifest string) *v1alpha1.Rollout {
	ns.t.Helper()
	var ro v1alpha1.Rollout
	if err := yaml.Unmarshal([]byte(manifest), &ro); err != nil || len(ro.Unreadable) > 0 {
		ns.t.Fatal(err, ro.Unreadable)
	}
	ro.Namespace = ns.Name
	if err := ns.Client.Create(ns.t.Context(), &ro); err != nil {
		ns.t.Fatal(err)
	}
	return &ro
}

// DeleteRollout deletes a Rollout.
func (ns *Namespace) DeleteRollout(name string) {
	ns.t.Helper()
	ro := &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: name}}
	if err := ns.Client.Delete(ns.t.Context(), ro); err != nil {
		ns.t.Fatal(err)
	}
}

// Rollout reads a Rollout.
func (ns *Namespace) Rollout(name string) *v1alpha1.Rollout {
	ns.t.Helper()
	var ro v1alpha1.Rollout
	if err := ns.Client.Get(ns.t.Context(), client.ObjectKey{Namespace: ns.Name, Name: name}, &ro); err != nil {
		ns.t.Fatal(err)
	}
	return &ro
}

// Patch merges JSON into a Rollout's own fields.
func (ns *Namespace) Patch(name, patch string) {
	ns.t.Helper()
	ro := &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: name}}
	if err := ns.Client.Patch(ns.t.Context(), ro, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		ns.t.Fatal(err)
	}
}

// PatchStatus merges JSON into a Rollout's status, as `kubectl argo rollouts` does.
func (ns *Namespace) PatchStatus(name, patch string) {
	ns.t.Helper()
	ro := &v1alpha1.Rollout{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: name}}
	if err := ns.Client.Status().Patch(ns.t.Context(), ro, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		ns.t.Fatal(err)
	}
}

// SetImage gives the first container of the Rollout's template another image.
func (ns *Namespace) SetImage(name, image string) {
	ns.t.Helper()
	ro := ns.Rollout(name)
	from := ro.DeepCopy()
	ro.Spec.Template.Spec.Containers[0].Image = image
	if err := ns.Client.Patch(ns.t.Context(), ro, client.MergeFrom(from)); err != nil {
		ns.t.Fatal(err)
	}
}

// ReplicaSets lists the ReplicaSets of the namespace.
func (ns *Namespace) ReplicaSets() []appsv1.ReplicaSet {
	ns.t.Helper()
	var sets appsv1.ReplicaSetList
	if err := ns.Client.List(ns.t.Context(), &sets, client.InNamespace(ns.Name)); err != nil {
		ns.t.Fatal(err)
	}
	return sets.Items
}

// WaitForRollout watches a Rollout until it is as wanted; what says what that is.
func (ns *Namespace) WaitForRollout(name, what string, wanted func(*v1alpha1.Rollout) bool) *v1alpha1.Rollout {
	ns.t.Helper()
	ctx, cancel := context.WithTimeout(ns.t.Context(), Patience)
	defer cancel()
	var last *v1alpha1.Rollout
	err := await(ctx, ns.Client, &v1alpha1.RolloutList{}, ns.Name, name, func(ro *v1alpha1.Rollout) bool {
		last = ro.DeepCopy()
		return wanted(ro)
	})
	if err != nil {
		status := "it was never seen"
		if last != nil {
			text, _ := yaml.Marshal(last.Status) // for people to read; what cannot be shown is left out
			status = string(text)
		}
		ns.t.Fatalf("wait for rollout %s %s: %v; its last status:\n%s", name, what, err, status)
	}
	return last
}

// Context ends with the test.
func (ns *Namespace) Context() context.Context { return ns.t.Context() }

// WaitForService watches a Service until it is as wanted; what says what that is.
func (ns *Namespace) WaitForService(name, what string, wanted func(*corev1.Service) bool) {
	ns.t.Helper()
	ctx, cancel := context.WithTimeout(ns.t.Context(), Patience)
	defer cancel()
	if err := await(ctx, ns.Client, &corev1.ServiceList{}, ns.Name, name, wanted); err != nil {
		ns.t.Fatalf("wait for service %s %s: %v", name, what, err)
	}
}
