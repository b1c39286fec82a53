package v1alpha1_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/internal/crd"
	"github.com/sluice-delivery/sluice/internal/manifests"
)

const crdFolder = "../../config/crd"

// admit is what the API server refuses an object for. Unknown fields are reported too, as kubectl apply does.
func admit(ctx context.Context, t *testing.T, name string, object, old map[string]any) field.ErrorList {
	t.Helper()
	k, ours, err := crd.Of(name)
	if err != nil || !ours {
		t.Fatalf("no CRD of %s: %v", name, err)
	}
	var errs field.ErrorList
	for _, path := range k.Unknown(object) {
		errs = append(errs, field.Invalid(field.NewPath(path), nil, "unknown field"))
	}
	return append(errs, k.Admit(ctx, object, old)...)
}

// The API server accepts the CRDs: they are structural, the rules compile, and their estimated cost is within the budget.
func TestCRDsAreValid(t *testing.T) {
	for name, definition := range must(crd.Definitions())(t) {
		t.Run(name, func(t *testing.T) {
			for _, err := range crdvalidation.ValidateCustomResourceDefinition(t.Context(), definition) {
				t.Error(err)
			}
		})
	}
}

// kubectl apply stores the whole manifest in an annotation, and annotations together may not be larger than 256 KiB.
func TestCRDsFitIntoAnAnnotation(t *testing.T) {
	const largest = 256 * 1024
	files, _ := filepath.Glob(filepath.Join(crdFolder, "*.yaml"))
	for _, file := range files {
		text, err := yaml.YAMLToJSON(readFile(t, file))
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > largest*9/10 {
			t.Errorf("%s is %d bytes of JSON; kubectl apply needs less than %d, and some room to grow is wanted", file, len(text), largest)
		}
	}
}

func TestGoodManifestsAreAccepted(t *testing.T) {
	for _, m := range must(manifests.Good())(t) {
		t.Run(m.Name, func(t *testing.T) {
			for _, err := range admit(t.Context(), t, m.Kind, m.Object, nil) {
				t.Error(err)
			}
		})
	}
}

func TestBadManifestsAreRefused(t *testing.T) {
	bad := must(manifests.Bad())(t)
	if len(bad) < 60 {
		t.Errorf("found only %d bad manifests", len(bad))
	}
	for _, m := range bad {
		t.Run(m.Name, func(t *testing.T) {
			if len(m.Wants) == 0 {
				t.Fatal("does not begin with # want: <path>: <message>")
			}
			errs := admit(t.Context(), t, m.Kind, m.Object, nil)
			for _, want := range m.Wants {
				if !refusedFor(errs, want) {
					t.Errorf("want an error at %s that says %q, got:\n%v", want.Path, want.Message, errs.ToAggregate())
				}
			}
			if len(errs) > len(m.Wants) {
				t.Errorf("want %d errors, got:\n%v", len(m.Wants), errs.ToAggregate())
			}
		})
	}
}

func refusedFor(errs field.ErrorList, want manifests.Want) bool {
	for _, err := range errs {
		if err.Field == want.Path && strings.Contains(err.Error(), want.Message) {
			return true
		}
	}
	return false
}

// must ends the test if a call went wrong.
func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func readFile(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
