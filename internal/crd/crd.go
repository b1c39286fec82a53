// Package crd checks objects of our kinds as the API server does, with the schemas and the rules of the CRDs in config/crd, and
// without an API server.
package crd

import (
	"context"
	"fmt"
	"io/fs"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	schemavalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/config"
)

// Definitions are the CRDs by kind, completed with the defaults that the API server gives to a CRD.
var Definitions = sync.OnceValues(func() (map[string]*apiextensions.CustomResourceDefinition, error) {
	files, err := fs.Glob(config.CRDs, "crd/*.yaml")
	if err != nil {
		return nil, err
	}
	crds := make(map[string]*apiextensions.CustomResourceDefinition)
	for _, file := range files {
		text, err := config.CRDs.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var versioned apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(text, &versioned); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		apiextensionsv1.SetDefaults_CustomResourceDefinition(&versioned)
		apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&versioned.Spec)
		for _, v := range versioned.Spec.Versions {
			versioned.Status.StoredVersions = append(versioned.Status.StoredVersions, v.Name)
		}
		var crd apiextensions.CustomResourceDefinition
		if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&versioned, &crd, nil); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		crds[crd.Spec.Names.Kind] = &crd
	}
	return crds, nil
})

// Kind is what the API server knows of a kind from its CRD.
type Kind struct {
	structural *structuralschema.Structural
	openAPI    schemavalidation.SchemaValidator
	rules      func() *cel.Validator
}

// Of is a kind, and false for one that is not ours.
func Of(name string) (Kind, bool, error) {
	definitions, err := Definitions()
	if err != nil {
		return Kind{}, false, err
	}
	definition, ours := definitions[name]
	if !ours {
		return Kind{}, false, nil
	}
	k, err := kindOf(definition)
	if err != nil {
		return Kind{}, false, fmt.Errorf("CRD of %s: %w", name, err)
	}
	return k, true, nil
}

// kinds are those that have been asked for, by name.
var kinds sync.Map

func kindOf(definition *apiextensions.CustomResourceDefinition) (Kind, error) {
	if k, ok := kinds.Load(definition.Spec.Names.Kind); ok {
		return k.(Kind), nil
	}
	schema := definition.Spec.Validation.OpenAPIV3Schema
	structural, err := structuralschema.NewStructural(schema)
	if err != nil {
		return Kind{}, err
	}
	openAPI, _, err := schemavalidation.NewSchemaValidator(schema)
	if err != nil {
		return Kind{}, err
	}
	k := Kind{structural, openAPI, sync.OnceValue(func() *cel.Validator {
		return cel.NewValidator(structural, true, celconfig.PerCallLimit)
	})}
	kinds.Store(definition.Spec.Names.Kind, k)
	return k, nil
}

// Unknown are the paths of the fields that the schema does not know. The API server drops them.
func (k Kind) Unknown(object map[string]any) []string {
	return pruning.PruneWithOptions(object, k.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
}

// Admit does to an object what the API server does before it stores it, and returns what it refuses it for. With an old object it is an
// update. Fields that the schema does not know are dropped. As in the API server, the rules are only asked about an object whose
// shape they can rely on.
func (k Kind) Admit(ctx context.Context, object, old map[string]any) field.ErrorList {
	if errs := k.shape(object); len(errs) > 0 {
		return errs
	}
	return k.obey(ctx, object, old)
}

// shape drops unknown fields, fills defaults in, and returns where the object does not have the schema's types, limits and required fields.
func (k Kind) shape(object map[string]any) field.ErrorList {
	k.Unknown(object)
	defaulting.Default(object, k.structural)
	errs := schemavalidation.ValidateCustomResource(nil, object, k.openAPI)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, k.structural, object)...)
	for _, e := range errs {
		place(e)
	}
	return errs
}

// obey returns which of the schema's CEL rules the object breaks.
func (k Kind) obey(ctx context.Context, object, old map[string]any) field.ErrorList {
	var oldObject any
	if old != nil {
		oldObject = old
	}
	errs, _ := k.rules().Validate(ctx, nil, k.structural, object, oldObject, celconfig.RuntimeCELCostBudget)
	return errs
}
