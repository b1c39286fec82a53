package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

type props = apiextensionsv1.JSONSchemaProps

// kind is one of ours with its schema.
type kind struct {
	name    string
	version string // group/version
	schema  props
}

func readKinds(folder string) (all []kind, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(text, &crd); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if crd.Kind != "CustomResourceDefinition" {
			continue
		}
		for _, v := range crd.Spec.Versions {
			all = append(all, kind{name: crd.Spec.Names.Kind, version: crd.Spec.Group + "/" + v.Name, schema: *v.Schema.OpenAPIV3Schema})
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no CRDs", folder)
	}
	return all, nil
}

func (k kind) file() string { return strings.ToLower(k.name) + ".md" }

func (k kind) description() string { return k.schema.Description }

func (k kind) page() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n`apiVersion: %s`, `kind: %s`\n\n%s\n", k.name, k.version, k.name, cell(k.description()))
	for _, part := range []string{"spec", "status"} {
		top, has := k.schema.Properties[part]
		if !has {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n", part)
		if top.Description != "" {
			fmt.Fprintf(&b, "%s\n\n", cell(top.Description))
		}
		b.WriteString("| field | type | |\n|---|---|---|\n")
		fields(&b, "", top)
	}
	return b.String()
}

// fields writes a row for each field below a schema.
func fields(b *strings.Builder, path string, s props) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		field, below := s.Properties[name], strings.TrimPrefix(path+"."+name, ".")
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", below, typeOf(field), cell(about(field, slices.Contains(s.Required, name))))
		if inner, suffix := within(field); described(inner) {
			fields(b, below+suffix, inner)
		}
	}
}

// within is what holds a field's own fields: itself, or the items of a list or of a map.
func within(s props) (inner props, suffix string) {
	switch {
	case s.Items != nil && s.Items.Schema != nil:
		inner, suffix = within(*s.Items.Schema)
		return inner, "[]" + suffix
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		inner, suffix = within(*s.AdditionalProperties.Schema)
		return inner, ".*" + suffix
	}
	return s, ""
}

// described reports whether fields are ours to describe: those of pod templates and of Jobs are Kubernetes', and have no text.
func described(s props) bool {
	for _, field := range s.Properties {
		if field.Description != "" {
			return true
		}
	}
	return false
}

func typeOf(s props) string {
	switch {
	case s.XIntOrString:
		return "integer or string"
	case s.Items != nil && s.Items.Schema != nil:
		return "list of " + typeOf(*s.Items.Schema)
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		return "map of " + typeOf(*s.AdditionalProperties.Schema)
	case s.Type == "":
		return "any"
	case s.Format == "date-time":
		return "time"
	}
	return s.Type
}

// about is the text of a field, with what its schema demands.
func about(s props, required bool) string {
	var parts []string
	if required {
		parts = append(parts, "Required.")
	}
	if s.Description != "" {
		parts = append(parts, s.Description)
	}
	if len(s.Enum) > 0 {
		var values []string
		for _, v := range s.Enum {
			values = append(values, "`"+strings.Trim(string(v.Raw), `"`)+"`")
		}
		parts = append(parts, "One of "+strings.Join(values, ", ")+".")
	}
	if s.Default != nil {
		parts = append(parts, "Default: `"+string(s.Default.Raw)+"`.")
	}
	if s.Minimum != nil {
		parts = append(parts, fmt.Sprintf("Minimum: %g.", *s.Minimum))
	}
	if s.Maximum != nil {
		parts = append(parts, fmt.Sprintf("Maximum: %g.", *s.Maximum))
	}
	if s.MaxItems != nil {
		parts = append(parts, fmt.Sprintf("At most %d items.", *s.MaxItems))
	}
	for _, rule := range s.XValidations {
		if rule.Message != "" {
			parts = append(parts, "Rule: "+rule.Message+".")
		}
	}
	return strings.Join(parts, " ")
}
