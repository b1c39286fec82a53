package subjects

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/manifests"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/alb"
	"github.com/sluice-delivery/sluice/internal/traffic/ambassador"
	"github.com/sluice-delivery/sluice/internal/traffic/apisix"
	"github.com/sluice-delivery/sluice/internal/traffic/conformance"
	"github.com/sluice-delivery/sluice/internal/traffic/custom"
	"github.com/sluice-delivery/sluice/internal/traffic/proxy"
	"github.com/sluice-delivery/sluice/internal/traffic/smi"
	"github.com/sluice-delivery/sluice/internal/traffic/traefik"
)

// Traefik is the router of Traefik, with one TraefikService.
func Traefik(owner traffic.Owner, world func(testing.TB) conformance.World, splits int) conformance.Subject {
	field := routing + ".traefik"
	s := spec.Traefik{Field: field, ServiceField: field + ".weightedTraefikServiceName", Service: "web"}
	return conformance.Subject{Router: traefik.New(owner, s), World: world, Weights: listedWeights, Bare: bareList, Splits: splits}
}

// TraefikMirrors is the router of Traefik, with a TraefikService that mirrors in front of the one that splits.
func TraefikMirrors(owner traffic.Owner, world func(testing.TB) conformance.World, splits int) conformance.Subject {
	field := routing + ".traefik"
	s := spec.Traefik{
		Field: field, ServiceField: field + ".weightedTraefikServiceName", Service: "web", MirroringField: field + ".mirroringTraefikServiceName", Mirroring: "web-mirroring",
	}
	return conformance.Subject{Router: traefik.New(owner, s), World: world, Weights: listedWeights, Bare: bareList, Splits: splits}
}

// ALB is the router of the AWS Load Balancer Controller, with two Ingresses.
func ALB(owner traffic.Owner, world func(testing.TB) conformance.World, splits int) conformance.Subject {
	field := routing + ".alb"
	a := spec.ALB{Field: field, Port: 80, Prefix: "alb.ingress.kubernetes.io", StickySeconds: 60, Ingresses: []spec.NamedObject{
		{Field: field + ".ingresses[0]", Name: "web"}, {Field: field + ".ingresses[1]", Name: "web-internal"},
	}}
	return conformance.Subject{Router: alb.New(owner, a), World: world, Weights: listedWeights, Bare: bareALB, Splits: splits}
}

// bareALB is an Ingress without the action that stays.
func bareALB(o *unstructured.Unstructured) *unstructured.Unstructured {
	out := o.DeepCopy()
	unstructured.RemoveNestedField(out.Object, "metadata", "annotations", "alb.ingress.kubernetes.io/actions."+conformance.Stable)
	return out
}

// Apisix is the router of Apache APISIX, with one ApisixRoute.
func Apisix(owner traffic.Owner, world func(testing.TB) conformance.World, splits int) conformance.Subject {
	field := routing + ".apisix"
	a := spec.Apisix{Field: field, RouteField: field + ".route.name", Route: "web", Managed: []string{"beta", "copy"}}
	return conformance.Subject{Router: apisix.New(owner, a), World: world, Weights: listedWeights, Bare: bareList, Splits: splits}
}

// SMI is the router of the Service Mesh Interface, with a TrafficSplit.
func SMI(owner traffic.Owner, world func(testing.TB) conformance.World, splits int) conformance.Subject {
	field := routing + ".smi"
	s := spec.SMI{Field: field, NameField: field + ".trafficSplitName", RootService: "web", Split: "web"}
	return conformance.Subject{Router: smi.New(owner, s), World: world, Weights: listedWeights, Bare: bareList, MakesRoute: true, Splits: splits}
}

// Ambassador is the router of Ambassador, with two Mappings.
func Ambassador(owner traffic.Owner, world func(testing.TB) conformance.World, splits int) conformance.Subject {
	field := routing + ".ambassador"
	a := spec.Ambassador{Field: field, Mappings: []spec.NamedObject{{Field: field + ".mappings[0]", Name: "web"}, {Field: field + ".mappings[1]", Name: "web-internal"}}}
	return conformance.Subject{Router: ambassador.New(owner, a), World: world, Weights: weightsOfMappings, Bare: bareList, Splits: splits}
}

// CustomExamples are examples of the router of other kinds.
func CustomExamples() []string { return []string{"contour", "gloo", "kuma", "skipper"} }

// Custom is the router of other kinds as an example sets it up, with the example's object.
func Custom(t testing.TB, owner traffic.Owner, example string, world func(testing.TB) conformance.World, splits int) conformance.Subject {
	t.Helper()
	for _, o := range Example(t, example, owner.Namespace) {
		var ro v1alpha1.Rollout
		if o.GetKind() != v1alpha1.KindRollout {
			continue
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &ro); err != nil {
			t.Fatal(err)
		}
		for _, r := range spec.Routers(&ro) {
			return conformance.Subject{Router: custom.New(owner, r.(spec.Custom), spec.Policy{}), World: world, Weights: listedWeights, Bare: bareList, Splits: splits}
		}
	}
	t.Fatalf("the example %s has no router", example)
	return conformance.Subject{}
}

// Example are the objects of an example, which are called web-EXAMPLE there, under the names of the suite.
func Example(t testing.TB, example, namespace string) traffic.Objects {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(manifests.Root(), "examples", "canary-"+example+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return conformance.Parse(t, strings.ReplaceAll(string(text), "web-"+example, "web"), namespace)
}

// Routing are the objects of an example that split its traffic.
func Routing(t testing.TB, example, namespace string) traffic.Objects {
	t.Helper()
	all := Example(t, example, namespace)
	maps.DeleteFunc(all, func(key traffic.Key, _ *unstructured.Unstructured) bool {
		return key.Kind == v1alpha1.KindRollout || key.Kind == "Service"
	})
	return all
}

// weightsOfMappings are the weights in each place: those of canary Mappings, and all for the stable Service where there is none.
func weightsOfMappings(objects traffic.Objects) []map[string]int64 {
	var all []map[string]int64
	for key, o := range objects {
		if weights, ok := proxy.Weights(o); ok {
			all = append(all, weights)
			continue
		}
		key.Name = spec.CanaryMapping(key.Name)
		if objects[key] == nil {
			all = append(all, map[string]int64{conformance.Stable: 100})
		}
	}
	return all
}

// listedWeights are the weights of all objects that list Services.
func listedWeights(objects traffic.Objects) []map[string]int64 {
	var all []map[string]int64
	for _, o := range objects {
		if weights, ok := proxy.Weights(o); ok {
			all = append(all, weights)
		}
	}
	return all
}

func bareList(o *unstructured.Unstructured) *unstructured.Unstructured {
	out := o.DeepCopy()
	dropWeights(out.Object["spec"])
	return out
}

// dropWeights removes all weights below a value.
func dropWeights(value any) {
	switch v := value.(type) {
	case map[string]any:
		delete(v, "weight")
		for _, below := range v {
			dropWeights(below)
		}
	case []any:
		for _, below := range v {
			dropWeights(below)
		}
	}
}
