package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/sluice-delivery/sluice/internal/lint"
)

// source is the text of a file.
type source struct {
	// name is how the user calls it.
	name string
	text []byte
}

// stdin is the name of the file that is read from the standard input.
const stdin = "-"

// readSources reads files. A folder is all manifests in it, of those below it too if that is wanted.
func readSources(paths []string, deep bool, in io.Reader) ([]source, error) {
	var sources []source
	for _, path := range paths {
		if path == stdin {
			text, err := io.ReadAll(in)
			if err != nil {
				return nil, fmt.Errorf("read the standard input: %w", err)
			}
			sources = append(sources, source{lint.Stdin, text})
			continue
		}
		files, err := manifestFiles(path, deep)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			sources = append(sources, source{file, text})
		}
	}
	return sources, nil
}

func manifestFiles(path string, deep bool) ([]string, error) {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("there is no file %s", path)
	}
	if err != nil || !info.IsDir() {
		return []string{path}, err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		below := filepath.Join(path, e.Name())
		switch {
		case e.IsDir() && deep:
			more, err := manifestFiles(below, deep)
			if err != nil && !errors.As(err, new(emptyFolder)) {
				return nil, err
			}
			files = append(files, more...)
		case !e.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(e.Name())):
			files = append(files, below)
		}
	}
	if len(files) == 0 {
		return nil, emptyFolder{path, deep}
	}
	return files, nil
}

// emptyFolder is the error that a folder has no manifests.
type emptyFolder struct {
	path string
	deep bool
}

func (e emptyFolder) Error() string {
	text := fmt.Sprintf("folder %s has no manifests: no .yaml, .yml or .json file", e.path)
	if !e.deep {
		text += "; to look into folders below it too, use -R"
	}
	return text
}

// objects are those that a file describes, lists taken apart.
func (s source) objects() ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(s.text)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &u.Object); err != nil {
			if yaml.Unmarshal(document, new(any)) == nil {
				return nil, fmt.Errorf("%s: this is YAML, but no manifest: there are no fields such as kind", s.name)
			}
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		if len(u.Object) == 0 { // only comments
			continue
		}
		items, err := itemsOf(u)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		for _, item := range items {
			if item.GetKind() == "" || item.GetAPIVersion() == "" {
				return nil, fmt.Errorf("%s: an object has no apiVersion or no kind: add them", s.name)
			}
		}
		objects = append(objects, items...)
	}
}

// itemsOf are the objects of a list, or the object itself.
func itemsOf(u *unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	if !u.IsList() {
		return []*unstructured.Unstructured{u}, nil
	}
	list, err := u.ToList()
	if err != nil {
		return nil, err
	}
	var items []*unstructured.Unstructured
	for i := range list.Items {
		items = append(items, &list.Items[i])
	}
	return items, nil
}

// titled is what results call an object: rollout.argoproj.io/web.
func titled(u *unstructured.Unstructured) string {
	return fmt.Sprintf("%s.%s/%s", strings.ToLower(u.GetKind()), u.GroupVersionKind().Group, u.GetName())
}
