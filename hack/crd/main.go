// Command crd finishes the CRDs that controller-gen writes, where markers on our types cannot reach: inside types of Kubernetes.
//
//   - Pod templates and Jobs have the schema that the API server checks, so that most mistakes are refused at once and not when pods are
//     created. It comes from the types of Kubernetes by way of the folder pods, without descriptions, which would be more than kubectl apply
//     can store in an annotation; without defaults, which must never be added to what is hashed; and unknown fields are kept, which other
//     versions of Kubernetes may know.
//   - Labels of selectors and texts of int-or-string fields get a largest size, without which the API server takes rules
//     about them to be too expensive.
//   - Paragraphs of descriptions become one line each, so that kubectl explain breaks them at its own width.
//
// It reads and writes the folder that it is given, and does nothing the second time.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// Largest sizes. Kubernetes refuses longer label values; the rest is generous.
const (
	maxLabels           = 100
	maxLabelValueLength = 63
	maxIntOrStringText  = 253
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: crd FOLDER")
		os.Exit(2)
	}
	if err := finishFolder(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "crd:", err)
		os.Exit(1)
	}
}

func finishFolder(folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("no CRDs in %s", folder)
	}
	for _, file := range files {
		if err := finishFile(file); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

func finishFile(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &crd); err != nil {
		return err
	}
	for i := range crd.Spec.Versions {
		if err := finish(crd.Spec.Names.Kind, crd.Spec.Versions[i].Schema.OpenAPIV3Schema); err != nil {
			return err
		}
	}
	text, err = withoutStatus(crd)
	if err != nil {
		return err
	}
	return os.WriteFile(file, append([]byte("---\n"), text...), 0o644)
}

// withoutStatus is the CRD as YAML, without the status that its Go type always writes.
func withoutStatus(crd apiextensionsv1.CustomResourceDefinition) ([]byte, error) {
	text, err := yaml.Marshal(crd)
	if err != nil {
		return nil, err
	}
	var object map[string]any
	if err := yaml.Unmarshal(text, &object); err != nil {
		return nil, err
	}
	delete(object, "status")
	return yaml.Marshal(object)
}

func finish(kind string, root *apiextensionsv1.JSONSchemaProps) error {
	p, err := readPods()
	if err != nil {
		return err
	}
	spec := root.Properties["spec"]
	if err := p.putIn(kind, &spec); err != nil {
		return err
	}
	bound(&spec)
	root.Properties["spec"] = spec
	flow(root)
	return nil
}

var lineEnd = regexp.MustCompile(`([^\n])\n([^\n])`)

// flow makes each paragraph of a description one line, which kubectl explain breaks where its width ends.
func flow(schema *apiextensionsv1.JSONSchemaProps) {
	schema.Description = lineEnd.ReplaceAllString(schema.Description, "$1 $2")
	for name, property := range schema.Properties {
		flow(&property)
		schema.Properties[name] = property
	}
	if schema.Items != nil {
		flow(schema.Items.Schema)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		flow(schema.AdditionalProperties.Schema)
	}
}

// bound gives sizes to what types of Kubernetes leave without, in a schema and all below it.
func bound(schema *apiextensionsv1.JSONSchemaProps) {
	if schema.XIntOrString && schema.MaxLength == nil {
		schema.MaxLength = new(int64(maxIntOrStringText))
	}
	if labels, ok := schema.Properties["matchLabels"]; ok {
		labels.MaxProperties = new(int64(maxLabels))
		labels.AdditionalProperties.Schema.MaxLength = new(int64(maxLabelValueLength))
		schema.Properties["matchLabels"] = labels

		expressions := schema.Properties["matchExpressions"]
		expressions.MaxItems = new(int64(maxLabels))
		schema.Properties["matchExpressions"] = expressions
	}
	for name, property := range schema.Properties {
		bound(&property)
		schema.Properties[name] = property
	}
	if schema.Items != nil {
		bound(schema.Items.Schema)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		bound(schema.AdditionalProperties.Schema)
	}
}
