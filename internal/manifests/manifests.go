// Package manifests reads the example manifests in api/v1alpha1/testdata and examples/, for tests that must hold for all of
// them. Good ones must be accepted. Each bad one has one mistake, and says at its top by which errors it must be refused:
//
//	# want: <path of the field>: <part of the message>
//
// It also finds the CRDs of the Gateway API and of Istio.
package manifests

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// Manifest is one object.
type Manifest struct {
	// Name says where it is from: its file's name, and a number if there are several in the file.
	Name   string
	Kind   string
	Object map[string]any
	// Wants is by which errors a bad manifest must be refused.
	Wants []Want
}

// Want is an error by which a manifest must be refused.
type Want struct{ Path, Message string }

// Good are the manifests that must be accepted, the examples for users included.
func Good() ([]Manifest, error) {
	good, err := read("api/v1alpha1/testdata/good/*.yaml")
	if err != nil {
		return nil, err
	}
	examples, err := read("examples/*.yaml")
	return append(good, examples...), err
}

// Bad are the manifests that must be refused.
func Bad() ([]Manifest, error) {
	return read("api/v1alpha1/testdata/bad/*.yaml")
}

// Root is the folder of the repository.
func Root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(filepath.Dir(filepath.Dir(file)))
}

// read returns the objects of our own kinds in some files.
func read(pattern string) ([]Manifest, error) {
	files, err := filepath.Glob(filepath.Join(Root(), pattern))
	if err != nil {
		return nil, err
	}
	var all []Manifest
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		some, err := parse(strings.TrimSuffix(filepath.Base(file), ".yaml"), text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, some...)
	}
	return all, nil
}

func parse(name string, text []byte) ([]Manifest, error) {
	var manifests []Manifest
	for i, document := range bytes.Split(text, []byte("\n---\n")) {
		wants, err := parseWants(document)
		if err != nil {
			return nil, err
		}
		m := Manifest{Name: name, Wants: wants}
		if i > 0 {
			m.Name = fmt.Sprintf("%s-%d", name, i+1)
		}
		if err := yaml.Unmarshal(document, &m.Object); err != nil {
			return nil, err
		}
		if m.Object["apiVersion"] != v1alpha1.GroupVersion.String() {
			continue
		}
		m.Kind, m.Object = fmt.Sprint(m.Object["kind"]), normal(m.Object).(map[string]any)
		manifests = append(manifests, m)
	}
	return manifests, nil
}

func parseWants(document []byte) ([]Want, error) {
	var wants []Want
	for line := range strings.Lines(string(document)) {
		text, ok := strings.CutPrefix(strings.TrimSpace(line), "# want: ")
		if !ok {
			break
		}
		path, message, ok := strings.Cut(text, ": ")
		if !ok {
			return nil, fmt.Errorf("%q lacks a message", text)
		}
		wants = append(wants, Want{path, message})
	}
	return wants, nil
}

// normal gives numbers the types that the API server's decoder does.
func normal(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for k, v := range value {
			value[k] = normal(v)
		}
	case []any:
		for i, v := range value {
			value[i] = normal(v)
		}
	case float64:
		if value == float64(int64(value)) {
			return int64(value)
		}
	}
	return value
}
