package e2e

import (
	"context"
	"slices"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/internal/playtest"
	"github.com/sluice-delivery/sluice/internal/traffic/conformance"
	"github.com/sluice-delivery/sluice/internal/traffic/conformance/subjects"
	"github.com/sluice-delivery/sluice/internal/traffic/gatewayapi"
)

// Releases of the Gateway API before 1.4 drop the names of rules, by which managed rules are known otherwise.
func TestGatewayAPIWithoutNamesOfRules(t *testing.T) {
	ns := playtest.New(t)
	for _, name := range []string{"httproutes", "grpcroutes"} {
		dropNames(t, ns, name+".gateway.networking.k8s.io")
	}
	waitUntilNamesDrop(t, ns, "HTTPRoute")
	waitUntilNamesDrop(t, ns, "GRPCRoute")
	owner := rollout(ns)
	conformance.Run(t, subjects.GatewayAPI(owner, world(ns, subjects.Routes, ns.Client), 10))
	t.Run("sessions", func(t *testing.T) {
		conformance.Run(t, subjects.GatewaySessions(owner, world(ns, subjects.Routes, ns.Client), 5))
	})
}

// dropNames takes the names of rules out of a CRD, and puts them back when the test has ended.
func dropNames(t *testing.T, ns *playtest.Namespace, crd string) {
	t.Helper()
	var was apiextensionsv1.CustomResourceDefinition
	if err := ns.Client.Get(t.Context(), client.ObjectKey{Name: crd}, &was); err != nil {
		t.Fatal(err)
	}
	older := was.DeepCopy()
	for _, version := range older.Spec.Versions {
		routeSpec := version.Schema.OpenAPIV3Schema.Properties["spec"]
		rules := routeSpec.Properties["rules"]
		delete(rules.Items.Schema.Properties, "name")
		rules.XValidations = slices.DeleteFunc(rules.XValidations, func(v apiextensionsv1.ValidationRule) bool {
			return v.Message == "Rule name must be unique within the route"
		})
		routeSpec.Properties["rules"] = rules
	}
	if err := ns.Client.Update(t.Context(), older); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		was.ResourceVersion = ""
		if err := ns.Client.Patch(context.Background(), &was, client.Merge); err != nil {
			t.Error(err)
		}
	})
}

// waitUntilNamesDrop tries, because an API server takes its time with a new schema and tells nobody when.
func waitUntilNamesDrop(t *testing.T, ns *playtest.Namespace, kind string) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, playtest.Patience, true, func(ctx context.Context) (bool, error) {
		o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"rules": []any{map[string]any{"name": "a"}}}}}
		o.SetGroupVersionKind(gatewayapi.GVK(kind))
		o.SetNamespace(ns.Name)
		o.SetName("probe")
		if err := ns.Client.Create(ctx, o, client.DryRunAll); err != nil {
			return false, err
		}
		rules, _, err := unstructured.NestedSlice(o.Object, "spec", "rules")
		_, named := rules[0].(map[string]any)["name"]
		return !named, err
	})
	if err != nil {
		t.Fatalf("wait until the API server drops the names of %s rules: %v", kind, err)
	}
}
