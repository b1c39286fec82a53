package config_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
)

func TestKustomizeForTheWholeCluster(t *testing.T) {
	ns := playtest.New(t)
	apply(t, ns, kustomize(t, ns, "."))
}

// The chart installs what kustomize does, under another name beside it.
func TestHelmForTheWholeCluster(t *testing.T) {
	ns := playtest.New(t)
	objects := helm(t, ns)
	apply(t, ns, objects)
	if diff := cmp.Diff(rules(kustomize(t, ns, "."), ""), rules(objects, "-"+ns.Name)); diff != "" {
		t.Errorf("rules of the roles by kustomize (-) and by the chart (+):\n%s", diff)
	}
}

// An installation for one namespace has only the rights of Roles. That is enough, except for ClusterAnalysisTemplates.
func TestC45OneNamespace(t *testing.T) {
	for name, render := range map[string]func(*testing.T, *playtest.Namespace) []*unstructured.Unstructured{
		"kustomize": func(t *testing.T, ns *playtest.Namespace) []*unstructured.Unstructured {
			return moved(kustomize(t, ns, "../deploy/namespaced"), ns.Name)
		},
		"helm": func(t *testing.T, ns *playtest.Namespace) []*unstructured.Unstructured {
			return helm(t, ns, "--set", "namespaced=true")
		},
	} {
		t.Run(name, func(t *testing.T) {
			ns := playtest.New(t)
			objects := render(t, ns)
			for _, o := range objects {
				if strings.HasPrefix(o.GetKind(), "ClusterRole") {
					t.Errorf("%s %s is the whole cluster's", o.GetKind(), o.GetName())
				}
			}
			apply(t, ns, objects)
			ns.StartController(slices.Concat(arguments(t, objects), []string{"--metrics-port=0", "--healthz-port=0", "--kubeconfig", ns.KubeconfigOf("argo-rollouts")})...)
			ns.CreateRollout(web("web", `{canary: {}}`))
			ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
			ns.CreateRollout(web("judged", `{canary: {steps: [{analysis: {templates: [{templateName: smoke, clusterScope: true}]}}]}}`))
			ns.WaitForRollout("judged", "to say that it may not read the template", func(ro *v1alpha1.Rollout) bool {
				return strings.Contains(ro.Status.Message, `ClusterAnalysisTemplate "smoke" cannot be read: the controller manages one namespace`)
			})
		})
	}
}

// Whatever the chart is told to tell the controller, the controller understands.
func TestTheControllerTakesTheChartsValues(t *testing.T) {
	ns := playtest.New(t)
	objects := helm(t, ns,
		"--set", "instanceID=blue,threads.rollouts=3,log.level=debug,metrics.perObject=true,metrics.serviceMonitor=true,traces.endpoint=http://collector:4317",
		"--set", "extraArgs={--qps=100,--burst=200},extraEnv[0].name=OTEL_TRACES_SAMPLER,extraEnv[0].value=always_off")
	args := arguments(t, objects)
	for _, want := range []string{
		"--instance-id=blue", "--rollout-threads=3", "--loglevel=debug", "--per-object-metrics", "--otlp-endpoint=http://collector:4317", "--qps=100",
	} {
		if !slices.Contains(args, want) {
			t.Errorf("%s is not among the arguments %q", want, args)
		}
	}
	out, err := exec.CommandContext(t.Context(), playtest.Program("sluice-controller"), append(args, "--version")...).CombinedOutput()
	if err != nil {
		t.Errorf("the controller does not take %q: %v\n%s", args, err, out)
	}
	environment, _, err := unstructured.NestedSlice(container(t, objects), "env")
	sampler := map[string]any{"name": "OTEL_TRACES_SAMPLER", "value": "always_off"}
	if err != nil || !slices.ContainsFunc(environment, func(v any) bool { return cmp.Equal(v, any(sampler)) }) {
		t.Errorf("the environment is %v (%v), want also %v", environment, err, sampler)
	}
}

// Metrics are served by TLS to those who may read them where that is chosen, by the chart or by the component, and then alone does the
// controller get the rights for it: of the cluster, wherever else its rights end.
func TestSecureMetricsAreChosen(t *testing.T) {
	ns := playtest.New(t)
	overlay := t.TempDir()
	for from, to := range map[string]string{"../config": "config", "../deploy": "deploy"} {
		if err := os.CopyFS(overlay+"/"+to, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	component := func(base string) []*unstructured.Unstructured {
		text := "resources: [" + base + "]\ncomponents: [config/secure-metrics]\n"
		if err := os.WriteFile(overlay+"/kustomization.yaml", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return kustomize(t, ns, overlay)
	}
	without := helm(t, ns)
	with := map[string][]*unstructured.Unstructured{
		"the component":                   component("config"),
		"the component for one namespace": component("deploy/namespaced"),
		"the chart":                       helm(t, ns, "--set", "metrics.secure=true,metrics.serviceMonitor=true"),
		"the chart for one namespace":     helm(t, ns, "--set", "metrics.secure=true,namespaced=true"),
		"the chart with a certificate":    helm(t, ns, "--set", "metrics.secure=true,metrics.certificateSecret=own"),
	}
	asks := func(objects []*unstructured.Unstructured) bool {
		return slices.ContainsFunc(objects, func(o *unstructured.Unstructured) bool {
			text := fmt.Sprint(o.Object["rules"])
			return o.GetKind() == "ClusterRole" && strings.Contains(text, "tokenreviews") && !strings.Contains(text, "rollouts")
		})
	}
	if asks(without) || slices.Contains(arguments(t, without), "--metrics-secure") {
		t.Error("the chart secures metrics though nobody has chosen it")
	}
	for name, objects := range with {
		if !asks(objects) || !slices.Contains(arguments(t, objects), "--metrics-secure") {
			t.Errorf("%s: no ClusterRole for tokens alone, or no flag among %q", name, arguments(t, objects))
		}
	}
	own := with["the chart with a certificate"]
	if args := arguments(t, own); !slices.Contains(args, "--metrics-cert-dir=/metrics-certificate") {
		t.Errorf("the certificate is not among %q", args)
	}
	if mounts := mountPaths(t, own); !slices.Contains(mounts, "/metrics-certificate") {
		t.Errorf("the certificate is not mounted: %q", mounts)
	}
	apply(t, ns, slices.DeleteFunc(own, func(o *unstructured.Unstructured) bool { return o.GetKind() == "CustomResourceDefinition" }))
}

// The root file system is read-only, so plugins have volumes for their binaries and sockets, by kustomize and by the chart, which takes more of them.
func TestPluginsHaveVolumes(t *testing.T) {
	ns := playtest.New(t)
	own := helm(t, ns, "--set", "extraVolumes[0].name=plugins,extraVolumes[0].persistentVolumeClaim.claimName=plugins,extraVolumeMounts[0].name=plugins,extraVolumeMounts[0].mountPath=/plugins,metrics.secure=true,metrics.certificateSecret=own")
	for name, c := range map[string]struct {
		objects []*unstructured.Unstructured
		want    []string
	}{
		"kustomize":                   {kustomize(t, ns, "."), []string{"/plugin-bin", "/tmp"}},
		"the chart":                   {helm(t, ns), []string{"/plugin-bin", "/tmp"}},
		"the chart with more of them": {own, []string{"/plugin-bin", "/tmp", "/metrics-certificate", "/plugins"}},
	} {
		if diff := cmp.Diff(c.want, mountPaths(t, c.objects)); diff != "" {
			t.Errorf("%s mounts (-want +got):\n%s", name, diff)
		}
		if size, _, err := unstructured.NestedString(container(t, c.objects), "resources", "limits", "ephemeral-storage"); err != nil || size != "1152Mi" {
			t.Errorf("%s limits ephemeral storage to %s (%v), which is less than the volumes", name, size, err)
		}
	}
	apply(t, ns, slices.DeleteFunc(own, func(o *unstructured.Unstructured) bool { return o.GetKind() == "CustomResourceDefinition" }))
}

// mountPaths are where the controller's volumes are mounted. The API server refuses one that there is not.
func mountPaths(t *testing.T, objects []*unstructured.Unstructured) (all []string) {
	t.Helper()
	mounts, _, err := unstructured.NestedSlice(container(t, objects), "volumeMounts")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mounts {
		path, _, _ := unstructured.NestedString(m.(map[string]any), "mountPath")
		all = append(all, path)
	}
	return all
}

// What the schema of the chart's values refuses.
func TestTheChartRefusesMistakes(t *testing.T) {
	for mistake, want := range map[string]string{
		"replica=3":                "additional properties 'replica' not allowed",
		"replicas=two":             "'/replicas'",
		"log.level=loud":           "'/log/level'",
		"metrics.port=8080":        "'/metrics/port'",
		"metrics.secure=perhaps":   "'/metrics/secure'",
		"traces.endpoint=here":     "'/traces/endpoint'",
		"extraArgs={qps=1}":        "'/extraArgs/0'",
		"extraEnv[0].value=nobody": "'/extraEnv/0'",
	} {
		out, err := render(t, "web", "--set", mistake)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error that says %s\n%s", mistake, err, want, out)
		}
	}
}

// arguments are those that the Deployment gives the controller.
func arguments(t *testing.T, objects []*unstructured.Unstructured) []string {
	t.Helper()
	args, _, err := unstructured.NestedStringSlice(container(t, objects), "args")
	if err != nil || len(args) == 0 {
		t.Fatalf("the controller's arguments are %q (%v)", args, err)
	}
	return args
}

// container is that of the controller, in the Deployment.
func container(t *testing.T, objects []*unstructured.Unstructured) map[string]any {
	t.Helper()
	i := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Deployment" })
	if i < 0 {
		t.Fatal("no Deployment")
	}
	containers, _, err := unstructured.NestedSlice(objects[i].Object, "spec", "template", "spec", "containers")
	if err != nil || len(containers) != 1 {
		t.Fatalf("%d containers, want one (%v)", len(containers), err)
	}
	return containers[0].(map[string]any)
}

func web(name, strategy string) string {
	return strings.NewReplacer("NAME", name, "STRATEGY", strategy).Replace(`
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: NAME}
spec:
  replicas: 1
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec: {containers: [{name: web, image: "web:1"}]}
  strategy: STRATEGY
`)
}

// kustomize renders a folder as `kubectl apply -k` does.
func kustomize(t *testing.T, ns *playtest.Namespace, folder string) []*unstructured.Unstructured {
	t.Helper()
	return objects(t, []byte(kubectl(t, ns, "kustomize", folder)))
}

// helm renders the chart for a release that is called as the namespace.
func helm(t *testing.T, ns *playtest.Namespace, flags ...string) []*unstructured.Unstructured {
	t.Helper()
	out, err := render(t, ns.Name, flags...)
	if err != nil {
		t.Fatal(err)
	}
	return objects(t, out)
}

// builtHelm is Helm's program, built once: `go tool` asks each time whether it is up to date, which takes ten times as long as a chart.
var builtHelm = sync.OnceValues(func() (string, error) {
	cmd := exec.Command("go", "tool", "-modfile=hack/tools/helm/go.mod", "-n", "helm")
	cmd.Dir = playtest.Root()
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	var trouble bytes.Buffer
	cmd.Stderr = &trouble
	path, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("build helm: %w\n%s", err, trouble.String())
	}
	return strings.TrimSpace(string(path)), nil
})

// render runs `helm template`.
func render(t *testing.T, release string, flags ...string) ([]byte, error) {
	t.Helper()
	program, err := builtHelm()
	if err != nil {
		return nil, err
	}
	args := append([]string{"template", release, "charts/sluice", "--namespace", release, "--include-crds"}, flags...)
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = playtest.Root()
	var out, trouble bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &trouble
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("helm template: %w\n%s", err, trouble.String())
	}
	return out.Bytes(), nil
}

func objects(t *testing.T, manifests []byte) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifests), 4096)
	for {
		obj := &unstructured.Unstructured{}
		err := documents.Decode(&obj.Object)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(obj.Object) > 0 {
			all = append(all, obj)
		}
	}
}

// moved puts objects into another namespace than argo-rollouts.
func moved(objects []*unstructured.Unstructured, namespace string) []*unstructured.Unstructured {
	objects = slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Namespace" })
	for _, o := range objects {
		if o.GetNamespace() != "" {
			o.SetNamespace(namespace)
		}
		subjects, _, _ := unstructured.NestedSlice(o.Object, "subjects") // none is as good
		for _, subject := range subjects {
			subject.(map[string]any)["namespace"] = namespace
		}
		if len(subjects) > 0 {
			o.Object["subjects"] = subjects
		}
	}
	return objects
}

func apply(t *testing.T, ns *playtest.Namespace, objects []*unstructured.Unstructured) {
	t.Helper()
	for _, o := range objects {
		err := ns.Client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("playtest"), client.ForceOwnership)
		if err != nil {
			t.Errorf("apply %s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
}

// rules are those of all roles, by their names without the suffix.
func rules(objects []*unstructured.Unstructured, suffix string) map[string]any {
	all := map[string]any{}
	for _, o := range objects {
		if kind := o.GetKind(); kind == "ClusterRole" || kind == "Role" {
			all[kind+" "+strings.TrimSuffix(o.GetName(), suffix)] = o.Object["rules"]
		}
	}
	return all
}
