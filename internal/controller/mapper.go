package controller

import (
	"net/http"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// mapper remembers under which resource the API server has a kind. To look that up in what discovery has told costs a good part of what
// a write does, and each event and each write asks for it. What a kind is called does not change while it is there; what was not found
// is looked for again.
type mapper struct {
	meta.RESTMapper
	known sync.Map // of *meta.RESTMapping by schema.GroupVersionKind
}

// newMapper returns a mapper that asks the API server.
func newMapper(config *rest.Config, client *http.Client) (meta.RESTMapper, error) {
	discovering, err := apiutil.NewDynamicRESTMapper(config, client)
	if err != nil {
		return nil, err
	}
	return &mapper{RESTMapper: discovering}, nil
}

// RESTMapping returns the resource of a kind in one version.
func (m *mapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if len(versions) != 1 { // which version is preferred may change
		return m.RESTMapper.RESTMapping(kind, versions...)
	}
	key := kind.WithVersion(versions[0])
	if known, ok := m.known.Load(key); ok {
		return known.(*meta.RESTMapping), nil
	}
	found, err := m.RESTMapper.RESTMapping(kind, versions...)
	if err != nil {
		return nil, err
	}
	m.known.Store(key, found)
	return found, nil
}
