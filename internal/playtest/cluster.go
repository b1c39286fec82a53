package playtest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/manifests"
)

// Patience is how long a test waits for anything. Only a hang takes as long.
const Patience = 90 * time.Second

// Cluster is a playground on which Sluice is installed, but runs not.
type Cluster struct {
	bin        string
	dir        string
	kubeconfig string
	// controllerKubeconfig is that of the service account in config/install.
	controllerKubeconfig string
	config               *rest.Config
	client               client.WithWatch
	playground           *exec.Cmd
}

// shared is the playground of this test binary.
var shared *Cluster

// Part installs what not all tests need.
type Part func(*Cluster) error

// Main runs the tests of a package with a playground beside them, and exits.
func Main(m *testing.M, parts ...Part) {
	MainWith(m, nil, parts...)
}

// MainWith is Main with flags for `sluice-playground up`.
func MainWith(m *testing.M, flags []string, parts ...Part) {
	os.Exit(RunWith(m, flags, parts...))
}

// RunWith is MainWith for a package that has something to clear away before it exits with the code.
func RunWith(m *testing.M, flags []string, parts ...Part) (code int) {
	c, err := Start(flags...)
	if c != nil {
		defer c.Stop()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "playtest:", err)
		return 1
	}
	for _, part := range parts {
		if err := part(c); err != nil {
			fmt.Fprintln(os.Stderr, "playtest:", err)
			return 1
		}
	}
	shared = c
	offerSeats()
	return m.Run()
}

// Start starts a playground, with these flags for `sluice-playground up`, and installs Sluice there. What it returns is to be
// stopped, with an error too unless it is nil.
func Start(flags ...string) (*Cluster, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "sluice-playtest-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{bin: bin, dir: dir}
	startPlayground := func() error { return c.startPlayground(flags) }
	for _, step := range []func() error{startPlayground, c.connect, c.install} {
		if err := step(); err != nil {
			return c, err
		}
	}
	return c, nil
}

// programs returns the folder that holds them, built if need be.
func programs() (string, error) {
	if bin := os.Getenv("SLUICE_BIN"); bin != "" {
		return bin, nil
	}
	build := exec.Command("make", "-s", "build")
	build.Dir = Root()
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("make build: %w\n%s", err, out)
	}
	return filepath.Join(Root(), "bin"), nil
}

// Root is the folder of the repository.
func Root() string { return manifests.Root() }

// Client reads and writes as the cluster's admin.
func (c *Cluster) Client() client.WithWatch { return c.client }

// Config is that of the cluster's admin.
func (c *Cluster) Config() *rest.Config { return c.config }

// ControllerKubeconfig is the path of a kubeconfig with the rights that the installed controller has.
func (c *Cluster) ControllerKubeconfig() string { return c.controllerKubeconfig }

// Program is the path of one of Sluice's programs.
func (c *Cluster) Program(name string) string { return filepath.Join(c.bin, name) }

// Pid is the playground's process.
func (c *Cluster) Pid() int { return c.playground.Process.Pid }

// generous is the memory of a playground under test, where the environment does not say otherwise. With the 450 MiB that people's playgrounds
// take, collecting garbage was more than half of the CPU time of the controller's tests.
var generous = []string{"GOMEMLIMIT=4GiB", "GOGC=400"}

func (c *Cluster) startPlayground(flags []string) error {
	// Hardly any test has a use for metrics, and a loaded machine may take long to answer the API server's questions about them.
	args := append([]string{"up", "--data-dir", filepath.Join(c.dir, "data"), "--metrics=false"}, flags...)
	cmd := exec.Command(filepath.Join(c.bin, "sluice-playground"), args...)
	cmd.Env = slices.Concat(generous, os.Environ(), []string{"TMPDIR=" + c.dir})
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	var talk bytes.Buffer
	cmd.Stderr = &talk
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	// Pdeathsig follows the thread that started the child, which therefore must not end before the test binary does.
	runtime.LockOSThread()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the playground: %w", err)
	}
	c.playground = cmd
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return fmt.Errorf("the playground ended before it was ready: %s", talk.String())
	}
	c.kubeconfig = strings.TrimSpace(line)
	return nil
}

func (c *Cluster) connect() error {
	config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig)
	if err != nil {
		return fmt.Errorf("read the playground's kubeconfig: %w", err)
	}
	config.QPS = -1
	scheme := k8sruntime.NewScheme()
	for _, add := range []func(*k8sruntime.Scheme) error{
		v1alpha1.AddToScheme, appsv1.AddToScheme, batchv1.AddToScheme, corev1.AddToScheme, rbacv1.AddToScheme, apiextensionsv1.AddToScheme,
		discoveryv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	c.config = config
	c.client, err = client.NewWithWatch(config, client.Options{Scheme: scheme})
	return err
}

// install does what a user does: the CRDs, then the namespace and the rights of the controller, and what only it may write.
func (c *Cluster) install() error {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	for _, pattern := range []string{"config/crd/*.yaml", "config/rbac/*.yaml", "config/routers/*/rbac.yaml", "config/metrics-apis/rbac.yaml", "config/policy/*.yaml"} {
		files, err := filepath.Glob(filepath.Join(Root(), pattern))
		if err != nil || len(files) == 0 {
			return fmt.Errorf("no manifests at %s (%w)", pattern, err)
		}
		for _, file := range files {
			if err := c.apply(ctx, file, ""); err != nil {
				return err
			}
		}
	}
	if err := c.waitForCRDs(ctx, v1alpha1.Group, "rollouts", "analysisruns", "analysistemplates", "clusteranalysistemplates", "experiments"); err != nil {
		return err
	}
	c.controllerKubeconfig = filepath.Join(c.dir, "controller.kubeconfig")
	return c.writeKubeconfig(ctx, "argo-rollouts/argo-rollouts", c.controllerKubeconfig)
}

// writeKubeconfig writes a kubeconfig with the rights of a service account, NAMESPACE/NAME.
func (c *Cluster) writeKubeconfig(ctx context.Context, account, file string) error {
	out, err := exec.CommandContext(ctx, c.Program("sluice-playground"), "kubeconfig",
		"--kubeconfig", c.kubeconfig, "--service-account", account, "-o", file).CombinedOutput()
	if err != nil {
		return fmt.Errorf("make the kubeconfig of %s: %w: %s", account, err, out)
	}
	return nil
}

func (c *Cluster) waitForCRDs(ctx context.Context, group string, names ...string) error {
	established := func(crd *apiextensionsv1.CustomResourceDefinition) bool {
		for _, condition := range crd.Status.Conditions {
			if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
				return true
			}
		}
		return false
	}
	for _, name := range names {
		err := await(ctx, c.client, &apiextensionsv1.CustomResourceDefinitionList{}, "", name+"."+group, established)
		if err != nil {
			return fmt.Errorf("wait for the CRD of %s: %w", name, err)
		}
	}
	return nil
}

// WithGatewayAPI installs the CRDs of the routes of the Gateway API, all of which are served as v1.
func WithGatewayAPI(c *Cluster) error {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	files, err := manifests.GatewayAPI()
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := c.apply(ctx, file, ""); err != nil {
			return err
		}
	}
	return c.waitForCRDs(ctx, "gateway.networking.k8s.io", "httproutes", "grpcroutes", "tcproutes", "tlsroutes", "referencegrants")
}

// WithExternalMetric installs what answers as an adapter does that serves the external metric queuedepth.
func WithExternalMetric(c *Cluster) error {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	if err := c.apply(ctx, filepath.Join(Root(), "internal/metric/kubernetes/testdata/crds/external.metrics.k8s.io_queuedepth.yaml"), ""); err != nil {
		return err
	}
	return c.waitForCRDs(ctx, "external.metrics.k8s.io", "queuedepth")
}

// WithRouters installs the CRDs that the packages of traffic routers have among their test data, and the rights that an administrator grants on
// those that the router for other kinds is tried with.
func WithRouters(c *Cluster) error {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	if err := c.apply(ctx, filepath.Join(Root(), "internal/traffic/custom/testdata/rights.yaml"), ""); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(Root(), "internal/traffic/*/testdata/crds/*.yaml"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no CRDs of traffic routers: %w", err)
	}
	for _, file := range files {
		if err := c.apply(ctx, file, ""); err != nil {
			return err
		}
		group, name, ok := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".yaml"), "_")
		if !ok {
			return fmt.Errorf("%s: call it after its group and resource, as in traefik.io_traefikservices.yaml", file)
		}
		if err := c.waitForCRDs(ctx, group, name); err != nil {
			return err
		}
	}
	return nil
}

// WithIstio installs Istio's own CRDs.
func WithIstio(c *Cluster) error {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	file, err := manifests.Istio()
	if err != nil {
		return err
	}
	if err := c.apply(ctx, file, ""); err != nil {
		return err
	}
	return c.waitForCRDs(ctx, "networking.istio.io", "virtualservices", "destinationrules")
}

// apply applies every object of a file on the server's side, into the namespace where the file names none.
func (c *Cluster) apply(ctx context.Context, file, namespace string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for {
		var obj unstructured.Unstructured
		err := documents.Decode(&obj.Object)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
		if len(obj.Object) == 0 {
			continue
		}
		if obj.GetNamespace() == "" {
			obj.SetNamespace(namespace)
		}
		apply := client.ApplyConfigurationFromUnstructured(&obj)
		if err := c.client.Apply(ctx, apply, client.FieldOwner("playtest"), client.ForceOwnership); err != nil {
			return fmt.Errorf("apply %s %s of %s: %w", obj.GetKind(), obj.GetName(), file, err)
		}
	}
}

// Stop ends the playground and removes what it kept.
func (c *Cluster) Stop() {
	if c.playground != nil && c.playground.Process != nil {
		_ = c.playground.Process.Signal(syscall.SIGTERM)
		_ = c.playground.Wait() // it says why on its own log
	}
	_ = os.RemoveAll(c.dir)
}
