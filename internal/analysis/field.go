package analysis

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// Field is the value at a path of the Rollout. Paths below metadata are those of the downward API, where a label or annotation that is not
// there is empty; others go through the object's JSON, with names between dots, and list indexes or quoted keys in brackets.
func Field(ro *v1alpha1.Rollout, path string) (string, error) {
	if isMetadata(path) {
		return metadata(ro, path)
	}
	keys, err := parsePath(path)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(ro)
	if err != nil {
		return "", err
	}
	var at any
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber() // or a large number would come out as 1e+06
	if err := decoder.Decode(&at); err != nil {
		return "", err
	}
	for _, key := range keys {
		if at, err = below(at, key); err != nil {
			return "", err
		}
	}
	return asText(at)
}

func isMetadata(path string) bool { return path == "metadata" || strings.HasPrefix(path, "metadata.") }

func metadata(ro *v1alpha1.Rollout, path string) (string, error) {
	switch path {
	case "metadata.name":
		return ro.Name, nil
	case "metadata.namespace":
		return ro.Namespace, nil
	case "metadata.uid":
		return string(ro.UID), nil
	case "metadata.labels":
		return lines(ro.Labels), nil
	case "metadata.annotations":
		return lines(ro.Annotations), nil
	}
	if _, key, values, ok := metadataKey(ro, path); ok {
		return values[key], nil
	}
	return "", errors.New("write metadata.name, metadata.namespace, metadata.uid, metadata.labels['<key>'] or metadata.annotations['<key>']")
}

// metadataKey is the one label or annotation that a path names, and those that the Rollout has.
func metadataKey(ro *v1alpha1.Rollout, path string) (noun, key string, values map[string]string, ok bool) {
	for _, m := range []struct {
		prefix, noun string
		values       map[string]string
	}{{"metadata.labels", "label", ro.Labels}, {"metadata.annotations", "annotation", ro.Annotations}} {
		if rest, found := strings.CutPrefix(path, m.prefix); found {
			if key, quoted := quotedKey(rest); quoted {
				return m.noun, key, m.values, true
			}
		}
	}
	return "", "", nil, false
}

// absent says that the label or annotation that a path names is not there, if so.
func absent(ro *v1alpha1.Rollout, path string) string {
	noun, key, values, ok := metadataKey(ro, path)
	if _, there := values[key]; !ok || there {
		return ""
	}
	return fmt.Sprintf("the Rollout has no %s %q, so the argument is empty: add it, or name another", noun, key)
}

// lines are labels or annotations as the downward API writes them into a file.
func lines(values map[string]string) string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		out = append(out, fmt.Sprintf("%s=%q", key, values[key]))
	}
	return strings.Join(out, "\n")
}

// quotedKey reads ['key'] or ["key"].
func quotedKey(text string) (string, bool) {
	for _, quote := range []string{"'", `"`} {
		if key, ok := strings.CutPrefix(text, "["+quote); ok {
			return strings.CutSuffix(key, quote+"]")
		}
	}
	return "", false
}

var errPath = errors.New(`write names with dots between them and list indexes in brackets, such as spec.template.spec.containers[0].image`)

// parsePath cuts a path at its dots and brackets.
func parsePath(path string) ([]string, error) {
	var keys []string
	for rest := path; rest != ""; {
		if rest[0] != '[' {
			end := strings.IndexAny(rest, ".[")
			if end < 0 {
				end = len(rest)
			}
			if end == 0 {
				return nil, errPath
			}
			keys, rest = append(keys, rest[:end]), rest[end:]
		} else {
			end := strings.Index(rest, "]")
			if end < 0 {
				return nil, errPath
			}
			key, quoted := quotedKey(rest[:end+1])
			if !quoted {
				key = rest[1:end]
			}
			keys, rest = append(keys, key), rest[end+1:]
		}
		switch {
		case rest == ".":
			return nil, errPath
		case strings.HasPrefix(rest, "."):
			rest = rest[1:]
		}
	}
	if len(keys) == 0 {
		return nil, errPath
	}
	return keys, nil
}

func below(at any, key string) (any, error) {
	switch at := at.(type) {
	case map[string]any:
		if value, ok := at[key]; ok {
			return value, nil
		}
		return nil, fmt.Errorf("the Rollout has no %q there", key)
	case []any:
		i, err := strconv.Atoi(key)
		if err != nil || i < 0 || i >= len(at) {
			return nil, fmt.Errorf("%q is not an index of a list of %d", key, len(at))
		}
		return at[i], nil
	}
	return nil, fmt.Errorf("there is nothing below %v, and so no %q", at, key)
}

func asText(value any) (string, error) {
	switch v := value.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	case json.Number:
		return v.String(), nil
	case bool:
		return strconv.FormatBool(v), nil
	}
	text, err := json.Marshal(value)
	return string(text), err
}
