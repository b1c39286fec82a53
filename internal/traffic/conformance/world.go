package conformance

import (
	"maps"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-delivery/sluice/internal/traffic"
)

// World is where objects are.
type World interface {
	// Have reads those of the objects that there are.
	Have(t testing.TB, refs []traffic.Ref) traffic.Objects
	// Apply writes the objects that differ from those that were read, and deletes those that are missing.
	Apply(t testing.TB, before, after traffic.Objects)
}

// Memory is a world that keeps what it is given.
type Memory traffic.Objects

// Have implements [World].
func (m Memory) Have(_ testing.TB, refs []traffic.Ref) traffic.Objects {
	have := traffic.Objects{}
	for _, ref := range refs {
		if o := m[ref.Key()]; o != nil {
			have[ref.Key()] = o.DeepCopy()
		}
	}
	return have
}

// Apply implements [World].
func (m Memory) Apply(_ testing.TB, before, after traffic.Objects) {
	for key := range before {
		if after[key] == nil {
			delete(m, key)
		}
	}
	maps.Copy(m, Memory(after))
}

// Objects are objects by their keys.
func Objects(all ...*unstructured.Unstructured) traffic.Objects {
	out := traffic.Objects{}
	for _, o := range all {
		out[traffic.KeyOf(o)] = o
	}
	return out
}

func copied(objects traffic.Objects) traffic.Objects {
	out := traffic.Objects{}
	for key, o := range objects {
		out[key] = o.DeepCopy()
	}
	return out
}
