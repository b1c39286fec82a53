// Package fieldpath reads paths of fields, such as spec.routes[*].services, and finds what they lead to in objects that are decoded JSON.
//
// A path is keys separated by dots. After a key, [*] stands for every entry of a list, and ['a.b/c'] for a key that has other characters
// than letters, digits, - and _. A path ends with a key.
package fieldpath

import (
	"errors"
	"fmt"
	"strings"
)

// Path leads to fields of an object.
type Path []segment

// segment is a key, or every entry of a list if the key is empty.
type segment struct{ key string }

func (s segment) each() bool { return s.key == "" }

// most is how many segments a path may have, and how many levels deep an object is read.
const most = 32

// Parse reads a path.
func Parse(text string) (Path, error) {
	var path Path
	rest := text
	for rest != "" {
		s, after, err := next(rest, len(path) == 0)
		if err != nil {
			return nil, fmt.Errorf("%w at %q", err, rest)
		}
		path, rest = append(path, s), after
		if len(path) > most {
			return nil, fmt.Errorf("it has more than %d parts", most)
		}
	}
	switch {
	case len(path) == 0:
		return nil, errors.New("it is empty")
	case path[0].each():
		return nil, errors.New("it must begin with a key")
	case path[len(path)-1].each():
		return nil, errors.New("it must end with a key, not with [*]")
	}
	return path, nil
}

func next(rest string, first bool) (segment, string, error) {
	switch {
	case strings.HasPrefix(rest, "[*]"):
		return segment{}, rest[len("[*]"):], nil
	case strings.HasPrefix(rest, "['"):
		key, after, found := strings.Cut(rest[len("['"):], "']")
		if !found || key == "" {
			return segment{}, "", errors.New("a key in brackets must look like ['key']")
		}
		return segment{key}, after, nil
	case rest[0] == '.' && !first:
		rest = rest[1:]
	case !first:
		return segment{}, "", errors.New("a key must follow a dot")
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return !isKey(r) })
	if end < 0 {
		end = len(rest)
	}
	if end == 0 {
		return segment{}, "", errors.New("a key of letters, digits, - and _ is missing")
	}
	return segment{rest[:end]}, rest[end:], nil
}

func isKey(r rune) bool {
	return r == '-' || r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// String writes the path.
func (p Path) String() string {
	var text strings.Builder
	for i, s := range p {
		switch {
		case s.each():
			text.WriteString("[*]")
		case strings.IndexFunc(s.key, func(r rune) bool { return !isKey(r) }) >= 0:
			text.WriteString("['" + s.key + "']")
		case i > 0:
			text.WriteString("." + s.key)
		default:
			text.WriteString(s.key)
		}
	}
	return text.String()
}

// Root is the first key.
func (p Path) Root() string { return p[0].key }

// Below is the rest of a path that leads into the entries of the lists to which an outer path leads.
func (p Path) Below(outer Path) (rest Path, ok bool) {
	if len(p) < len(outer)+2 || !p[len(outer)].each() {
		return nil, false
	}
	for i, s := range outer {
		if p[i] != s {
			return nil, false
		}
	}
	rest = p[len(outer)+1:]
	return rest, !rest[0].each()
}

// HasLists reports whether the path leads through lists.
func (p Path) HasLists() bool {
	for _, s := range p {
		if s.each() {
			return true
		}
	}
	return false
}

// Place is where a field is, or may be.
type Place struct {
	// In is the map that has the field, Key its key there.
	In  map[string]any
	Key string
	// Entry is the innermost entry of a list on the way there, nil for none.
	Entry map[string]any
	// way are the maps on the way to In with the keys that lead on, as far as they are not entries of lists.
	way []Place
}

// Value is what the field is; nil if it is not there.
func (p Place) Value() any { return p.In[p.Key] }

// List is the field as a list.
func (p Place) List() ([]any, bool) {
	list, ok := p.In[p.Key].([]any)
	return list, ok
}

// Set sets the field.
func (p Place) Set(to any) { p.In[p.Key] = to }

// Remove removes the field, and the maps that are empty without it.
func (p Place) Remove() {
	delete(p.In, p.Key)
	empty := len(p.In) == 0
	for i := len(p.way) - 1; i >= 0 && empty; i-- {
		delete(p.way[i].In, p.way[i].Key)
		empty = len(p.way[i].In) == 0
	}
}

// Places are where the path leads in an object. Maps on the way that are missing are made if they are to be.
func (p Path) Places(in map[string]any, creating bool) []Place {
	return p.places(Place{In: in}, creating)
}

func (p Path) places(from Place, creating bool) []Place {
	at := from
	for i, s := range p {
		at.Key = s.key
		if i == len(p)-1 {
			return []Place{at}
		}
		if p[i+1].each() {
			return p[i+1:].entries(at, creating)
		}
		inner, ok := at.In[s.key].(map[string]any)
		switch {
		case ok:
		case creating && at.In[s.key] == nil:
			inner = map[string]any{}
			at.In[s.key] = inner
		default:
			return nil
		}
		at.way = append(at.way[:len(at.way):len(at.way)], Place{In: at.In, Key: s.key})
		at.In = inner
	}
	return nil
}

// entries are the places in all entries of a list, of which the path has the [*] first.
func (p Path) entries(of Place, creating bool) []Place {
	list, _ := of.List()
	var all []Place
	for _, value := range list {
		if entry, ok := value.(map[string]any); ok && !p[1].each() {
			all = append(all, p[1:].places(Place{In: entry, Entry: entry}, creating)...)
		}
	}
	return all
}
