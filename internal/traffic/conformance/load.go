package conformance

import (
	"bytes"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/internal/traffic"
)

// Load reads the objects of a file, in a namespace where the file names none.
func Load(t testing.TB, file, namespace string) traffic.Objects {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return Parse(t, string(text), namespace)
}

// Parse reads objects.
func Parse(t testing.TB, text, namespace string) traffic.Objects {
	t.Helper()
	out := traffic.Objects{}
	for _, document := range splitDocuments([]byte(text)) {
		o := object(t, document)
		if o.GetNamespace() == "" {
			o.SetNamespace(namespace)
		}
		out[traffic.KeyOf(o)] = o
	}
	return out
}

func splitDocuments(text []byte) [][]byte { return bytes.Split(text, []byte("\n---\n")) }

// object reads one as clients do, whole numbers being int64.
func object(t testing.TB, document []byte) *unstructured.Unstructured {
	t.Helper()
	text, err := yaml.YAMLToJSON(document)
	if err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(text); err != nil {
		t.Fatalf("%v in\n%s", err, document)
	}
	return o
}
