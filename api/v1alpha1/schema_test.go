package v1alpha1_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
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
	for _, object := range goodObjects(t) {
		kind := fmt.Sprint(object["kind"])
		t.Run(fmt.Sprintf("%s %s", kind, object["metadata"].(map[string]any)["name"]), func(t *testing.T) {
			for _, err := range kinds[kind].admit(t.Context(), object, nil) {
				t.Error(err)
			}
		})
	}
}

// Each file in testdata/bad is a manifest with one mistake. The comments at its top say by which errors it must be refused:
//
//	# want: <path of the field>: <part of the message>
func TestBadManifestsAreRefused(t *testing.T) {
	kinds := loadKinds(t)
	files, _ := filepath.Glob("testdata/bad/*.yaml")
	if len(files) < 60 {
		t.Errorf("found only %d bad manifests", len(files))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			object := readObjects(t, file)[0]
			errs := kinds[fmt.Sprint(object["kind"])].admit(t.Context(), object, nil)
			wants := readWants(t, file)
			for _, want := range wants {
				if !refusedFor(errs, want) {
					t.Errorf("want an error at %s that says %q, got:\n%v", want.path, want.message, errs.ToAggregate())
				}
			}
			if len(errs) > len(wants) {
				t.Errorf("want %d errors, got:\n%v", len(wants), errs.ToAggregate())
			}
		})
	}
}

// want is an error that a bad manifest must be refused by.
type want struct{ path, message string }

func refusedFor(errs field.ErrorList, want want) bool {
	for _, err := range errs {
		if err.Field == want.path && strings.Contains(err.Error(), want.message) {
			return true
		}
	}
	return false
}

func readWants(t *testing.T, file string) []want {
	t.Helper()
	var wants []want
	lines := bufio.NewScanner(bytes.NewReader(readFile(t, file)))
	for lines.Scan() {
		text, ok := strings.CutPrefix(lines.Text(), "# want: ")
		if !ok {
			break
		}
		path, message, ok := strings.Cut(text, ": ")
		if !ok {
			t.Fatalf("%s: %q lacks a message", file, text)
		}
		wants = append(wants, want{path, message})
	}
	if len(wants) == 0 {
		t.Fatalf("%s does not begin with # want: <path>: <message>", file)
	}
	return wants
}

func readObjects(t *testing.T, file string) []map[string]any {
	t.Helper()
	var objects []map[string]any
	for _, document := range bytes.Split(readFile(t, file), []byte("\n---\n")) {
		var object map[string]any
		if err := yaml.Unmarshal(document, &object); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if len(object) > 0 {
			objects = append(objects, normal(object).(map[string]any))
		}
	}
	return objects
}

// normal gives numbers the types that the API server's decoder does.
func normal(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for k, v := range value {
			value[k] = normal(v)
		}
		return value
	case []any:
		for i, v := range value {
			value[i] = normal(v)
		}
		return value
	case float64:
		if value == float64(int64(value)) {
			return int64(value)
		}
	}
	return value
}

func readFile(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
