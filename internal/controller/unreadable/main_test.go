package unreadable

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
)

func TestMain(m *testing.M) { playtest.Main(m, withoutSchemas) }

// withoutSchemas has the API server store whatever it is given as one of our kinds.
func withoutSchemas(c *playtest.Cluster) error {
	ctx, cancel := context.WithTimeout(context.Background(), playtest.Patience)
	defer cancel()
	var crds apiextensionsv1.CustomResourceDefinitionList
	if err := c.Client().List(ctx, &crds); err != nil {
		return err
	}
	for i := range crds.Items {
		crd := &crds.Items[i]
		if crd.Spec.Group != v1alpha1.Group {
			continue
		}
		from := crd.DeepCopy()
		for v := range crd.Spec.Versions {
			crd.Spec.Versions[v].Schema.OpenAPIV3Schema = &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}
		}
		if err := c.Client().Patch(ctx, crd, client.MergeFrom(from)); err != nil {
			return err
		}
		if err := takesAnything(ctx, c.Client(), crd.Spec.Names.Kind); err != nil {
			return fmt.Errorf("wait until any %s is taken: %w", crd.Spec.Names.Kind, err)
		}
	}
	return nil
}

// takesAnything waits until the API server goes by the new CRD: nothing tells when it does.
func takesAnything(ctx context.Context, c client.Client, kind string) error {
	var refused error
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 10*time.Second, true, func(ctx context.Context) (bool, error) {
		o := object(kind, "probe", `{spec: {strategy: 5}}`)
		o.SetNamespace("default")
		refused = c.Create(ctx, o, client.DryRunAll)
		if apierrors.IsInvalid(refused) || apierrors.IsBadRequest(refused) {
			return false, nil
		}
		return refused == nil, refused
	})
	return errors.Join(err, refused)
}

// object is one of our kinds, with fields of YAML.
func object(kind, name, fields string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	text, err := yaml.YAMLToJSON([]byte(fields))
	if err == nil {
		err = json.Unmarshal(text, &o.Object)
	}
	if err != nil {
		panic(err) // the test is wrong
	}
	o.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	o.SetName(name)
	return o
}

// create stores an object in the test's namespace.
func create(t *testing.T, ns *playtest.Namespace, kind, name, fields string) {
	t.Helper()
	o := object(kind, name, fields)
	o.SetNamespace(ns.Name)
	if err := ns.Client.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// patch merges JSON into an object.
func patch(t *testing.T, ns *playtest.Namespace, kind, name, text string) {
	t.Helper()
	o := object(kind, name, `{}`)
	o.SetNamespace(ns.Name)
	if err := ns.Client.Patch(t.Context(), o, client.RawPatch("application/merge-patch+json", []byte(text))); err != nil {
		t.Fatal(err)
	}
}

// stored is a field of an object, as the API server has it.
func stored(t *testing.T, ns *playtest.Namespace, kind, name string, path ...string) any {
	t.Helper()
	o := object(kind, name, `{}`)
	if err := ns.Client.Get(t.Context(), client.ObjectKey{Namespace: ns.Name, Name: name}, o); err != nil {
		t.Fatal(err)
	}
	value, _, err := unstructured.NestedFieldNoCopy(o.Object, path...)
	if err != nil {
		t.Fatal(err)
	}
	return value
}
