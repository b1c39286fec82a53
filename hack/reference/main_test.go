package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const crdText = `
kind: CustomResourceDefinition
spec:
  group: example.com
  names: {kind: Thing}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        description: Thing is a thing. It has parts.
        properties:
          spec:
            description: What to do.
            required: [parts]
            properties:
              parts:
                type: array
                maxItems: 3
                description: The parts.
                items: {type: object, properties: {size: {type: integer, minimum: 1, description: a < b | c}}}
              template:
                type: object
                description: A template.
                properties: {image: {type: string}}
`

// Each field is on the page of its kind, with what its schema demands; fields without a text, those of Kubernetes, are not.
func TestFields(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "thing.yaml"), []byte(crdText), 0o600); err != nil {
		t.Fatal(err)
	}
	kinds, err := readKinds(folder)
	if err != nil {
		t.Fatal(err)
	}
	page := kinds[0].page()
	for _, want := range []string{
		"# Thing\n\n`apiVersion: example.com/v1`, `kind: Thing`\n",
		"| `parts` | list of object | Required. The parts. At most 3 items. |\n",
		"| `parts[].size` | integer | a &lt; b \\| c Minimum: 1. |\n",
		"| `template` | object | A template. |\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q:\n%s", want, page)
		}
	}
	if strings.Contains(page, "template.image") {
		t.Errorf("the page has a field of Kubernetes:\n%s", page)
	}
}

// A constant that the code uses is on the page with its value and its comment; one that it does not use is not.
func TestNames(t *testing.T) {
	api, code := t.TempDir(), t.TempDir()
	for _, file := range files {
		text := "package v1alpha1\n"
		if file == "events.go" {
			text += `
// Reasons of events. And more.
const (
	// EventDone, a warning: it is done.
	EventDone = ReasonDone
	// EventNever is not reported.
	EventNever = "Never"
)

// Reasons.
const (
	// ReasonDone: it is done, see DoneLabel.
	ReasonDone = "Done"
	// DoneLabel says so.
	DoneLabel = "example.com/done"
)
`
		}
		if err := os.WriteFile(filepath.Join(api, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(code, "a.go"), []byte("package a\nvar _ = v1alpha1.ReasonDone\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	page, err := namesPage(api, code)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"## Reasons of events\n", "| `Done` | A warning: it is done. |\n", "| `Done` | It is done, see example.com/done. |\n"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q:\n%s", want, page)
		}
	}
	if strings.Contains(page, "Never") {
		t.Errorf("the page has an event that nobody reports:\n%s", page)
	}
}
