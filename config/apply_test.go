// Package config_test applies the manifests in this folder, and the examples of our kinds, to a real API server.
package config_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/manifests"
	"github.com/sluice-delivery/sluice/internal/playtest"
)

func TestMain(m *testing.M) {
	// The API server's warnings about what is stored with mistakes are of no interest here.
	log.SetLogger(logr.Discard())
	playtest.Main(m, playtest.WithGatewayAPI, playtest.WithRouters, playtest.WithIstio) // examples have routes
}

// What a user does to install Sluice works, and once more to upgrade it.
func TestKubectlApplyInstalls(t *testing.T) {
	ns := playtest.New(t)
	for range 2 {
		kubectl(t, ns, "apply", "-f", "crd", "-f", "rbac", "-f", "policy", "-f", "install")
	}
}

func TestGoodManifestsAreAccepted(t *testing.T) {
	ns := playtest.New(t)
	for _, m := range good(t) {
		t.Run(m.Name, func(t *testing.T) {
			object := in(ns, m.Object)
			apply := client.ApplyConfigurationFromUnstructured(object)
			if err := ns.Client.Apply(t.Context(), apply, client.FieldOwner("test")); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestKubectlApplyAcceptsGoodManifests(t *testing.T) {
	ns := playtest.New(t)
	for _, folder := range []string{"api/v1alpha1/testdata/good", "examples"} {
		kubectl(t, ns, "apply", "--namespace", ns.Name, "-f", filepath.Join(manifests.Root(), folder))
	}
}

func TestBadManifestsAreRefused(t *testing.T) {
	ns := playtest.New(t)
	bad, err := manifests.Bad()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range bad {
		t.Run(m.Name, func(t *testing.T) {
			err := client.WithFieldValidation(ns.Client, metav1.FieldValidationStrict).Create(t.Context(), in(ns, m.Object))
			if err == nil {
				t.Fatal("was accepted")
			}
			for _, want := range m.Wants {
				if !refusedFor(err, want) {
					t.Errorf("want an error at %s that says %q, got:\n%v", want.Path, want.Message, err)
				}
			}
		})
	}
}

// An object that was stored before a rule existed is not stuck: its status can be written, and its labels.
func TestStatusOfAnObjectThatWasStoredWithMistakes(t *testing.T) {
	ns := playtest.New(t)
	withoutRules(t, ns)
	stored := &unstructured.Unstructured{}
	if err := stored.UnmarshalJSON([]byte(`{"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": {"name": "web"}, "spec": {
		"selector": {"matchLabels": {"app": "web"}},
		"template": {"metadata": {"labels": {"app": "other"}}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}},
		"strategy": {"canary": {"maxSurge": 0, "maxUnavailable": 0, "steps": [{"setWeight": 400}, {"setWeight": 1, "pause": {"duration": "1d"}}]}}}}`)); err != nil {
		t.Fatal(err)
	}
	stored.SetNamespace(ns.Name)
	eventually(t, "the rules are gone", func(ctx context.Context) error {
		return ns.Client.Create(ctx, stored)
	})
	kubectl(t, ns, "apply", "-f", "crd")
	eventually(t, "the rules are back", func(ctx context.Context) error {
		again := in(ns, stored.Object)
		again.SetName("again")
		again.SetResourceVersion("")
		if err := ns.Client.Create(ctx, again, client.DryRunAll); apierrors.IsInvalid(err) {
			return nil
		}
		return errors.New("a bad manifest was accepted")
	})
	ns.PatchStatus("web", `{"status": {"phase": "Degraded", "observedGeneration": "1"}}`)
	ns.Patch("web", `{"metadata": {"labels": {"touched": "yes"}}}`)
	if phase := ns.Rollout("web").Status.Phase; phase != v1alpha1.RolloutPhaseDegraded {
		t.Errorf("the phase is %q after its status was written", phase)
	}
}

// withoutRules takes from the CRD of Rollouts all that refuses a manifest, until it is applied again.
func withoutRules(t *testing.T, ns *playtest.Namespace) {
	t.Helper()
	var crd apiextensionsv1.CustomResourceDefinition
	if err := ns.Client.Get(t.Context(), client.ObjectKey{Name: "rollouts.argoproj.io"}, &crd); err != nil {
		t.Fatal(err)
	}
	preserve := true
	schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	for _, name := range []string{"spec", "status"} {
		schema.Properties[name] = apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &preserve}
	}
	if err := ns.Client.Update(t.Context(), &crd); err != nil {
		t.Fatal(err)
	}
}

// refusedFor tells whether an error of the API server is the wanted one. Unknown fields are told without a list of causes.
func refusedFor(err error, want manifests.Want) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil || len(status.Status().Details.Causes) == 0 {
		return strings.Contains(err.Error(), want.Path) && strings.Contains(err.Error(), want.Message)
	}
	for _, cause := range status.Status().Details.Causes {
		if cause.Field == want.Path && strings.Contains(cause.Message, want.Message) {
			return true
		}
	}
	return false
}

func good(t *testing.T) []manifests.Manifest {
	t.Helper()
	good, err := manifests.Good()
	if err != nil {
		t.Fatal(err)
	}
	return good
}

// in is a copy of an object in the test's namespace.
func in(ns *playtest.Namespace, object map[string]any) *unstructured.Unstructured {
	placed := (&unstructured.Unstructured{Object: object}).DeepCopy()
	if placed.GetKind() != v1alpha1.KindClusterAnalysisTemplate {
		placed.SetNamespace(ns.Name)
	}
	return placed
}

func kubectl(t *testing.T, ns *playtest.Namespace, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), playtest.Program("sluice-playground"), append([]string{"kubectl"}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+ns.Kubeconfig)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// eventually tries until there is no error. The API server takes a changed CRD into use after a moment, without saying when.
func eventually(t *testing.T, what string, try func(context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, playtest.Patience, true, func(ctx context.Context) (bool, error) {
		last = try(ctx)
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: %v: %v", what, err, last)
	}
}
