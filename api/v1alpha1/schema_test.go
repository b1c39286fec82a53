package v1alpha1_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	schemavalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/internal/manifests"
)

const crdFolder = "../../config/crd"

// kind is what the API server knows of a kind from its CRD.
type kind struct {
	structural *structuralschema.Structural
	openAPI    schemavalidation.SchemaValidator
	rules      *cel.Validator
}

// loadCRDs reads the CRDs by kind, completed with the defaults that the API server gives to a CRD.
func loadCRDs(t *testing.T) map[string]*apiextensions.CustomResourceDefinition {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(crdFolder, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no CRDs in %s: %v", crdFolder, err)
	}
	crds := make(map[string]*apiextensions.CustomResourceDefinition)
	for _, file := range files {
		var versioned apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(readFile(t, file), &versioned); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		apiextensionsv1.SetDefaults_CustomResourceDefinition(&versioned)
		apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&versioned.Spec)
		versioned.Status.StoredVersions = []string{"v1alpha1"}
		var crd apiextensions.CustomResourceDefinition
		if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&versioned, &crd, nil); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		crds[crd.Spec.Names.Kind] = &crd
	}
	return crds
}

func loadKinds(t *testing.T) map[string]kind {
	t.Helper()
	kinds := make(map[string]kind)
	for name, crd := range loadCRDs(t) {
		schema := crd.Spec.Validation.OpenAPIV3Schema
		structural, err := structuralschema.NewStructural(schema)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		openAPI, _, err := schemavalidation.NewSchemaValidator(schema)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		kinds[name] = kind{structural, openAPI, cel.NewValidator(structural, true, celconfig.PerCallLimit)}
	}
	return kinds
}

// admit does to an object what the API server does before it stores it, and returns what it refuses it for. With an old
// object it is an update. Unknown fields are reported too, as kubectl apply does.
func (k kind) admit(ctx context.Context, object, old map[string]any) field.ErrorList {
	var errs field.ErrorList
	unknown := pruning.PruneWithOptions(object, k.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	for _, path := range unknown {
		errs = append(errs, field.Invalid(field.NewPath(path), nil, "unknown field"))
	}
	defaulting.Default(object, k.structural)
	errs = append(errs, schemavalidation.ValidateCustomResource(nil, object, k.openAPI)...)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, k.structural, object)...)
	if len(errs) > 0 {
		return errs
	}
	var oldObject any
	if old != nil {
		oldObject = old
	}
	errs, _ = k.rules.Validate(ctx, nil, k.structural, object, oldObject, celconfig.RuntimeCELCostBudget)
	return errs
}

// The API server accepts the CRDs: they are structural, the rules compile, and their estimated cost is within the budget.
func TestCRDsAreValid(t *testing.T) {
	for name, crd := range loadCRDs(t) {
		t.Run(name, func(t *testing.T) {
			for _, err := range crdvalidation.ValidateCustomResourceDefinition(t.Context(), crd) {
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
	kinds := loadKinds(t)
	for _, m := range must(manifests.Good())(t) {
		t.Run(m.Name, func(t *testing.T) {
			for _, err := range kinds[m.Kind].admit(t.Context(), m.Object, nil) {
				t.Error(err)
			}
		})
	}
}

func TestBadManifestsAreRefused(t *testing.T) {
	kinds := loadKinds(t)
	bad := must(manifests.Bad())(t)
	if len(bad) < 60 {
		t.Errorf("found only %d bad manifests", len(bad))
	}
	for _, m := range bad {
		t.Run(m.Name, func(t *testing.T) {
			if len(m.Wants) == 0 {
				t.Fatal("does not begin with # want: <path>: <message>")
			}
			errs := kinds[m.Kind].admit(t.Context(), m.Object, nil)
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
