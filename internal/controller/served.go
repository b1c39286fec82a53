package controller

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/internal/traffic/routers"
)

// served is a client that reads and writes objects of traffic routers in the version in which the API server has their kind, which need not be
// the one in which they are rendered. Requests for metadata alone find that version by themselves: they go by the resource that the mapper names.
type served struct{ client.Client }

// Get reads an object.
func (s served) Get(ctx context.Context, key client.ObjectKey, obj client.Object, options ...client.GetOption) error {
	return inVersion(s.RESTMapper(), obj, func() error { return s.Client.Get(ctx, key, obj, options...) })
}

// Create creates an object.
func (s served) Create(ctx context.Context, obj client.Object, options ...client.CreateOption) error {
	return inVersion(s.RESTMapper(), obj, func() error { return s.Client.Create(ctx, obj, options...) })
}

// Delete deletes an object.
func (s served) Delete(ctx context.Context, obj client.Object, options ...client.DeleteOption) error {
	if o, ok := obj.(*unstructured.Unstructured); ok {
		obj = o.DeepCopy() // others read it meanwhile
	}
	return inVersion(s.RESTMapper(), obj, func() error { return s.Client.Delete(ctx, obj, options...) })
}

// servedReader reads as served does.
type servedReader struct {
	client.Reader
	mapper meta.RESTMapper
}

// Get reads an object.
func (s servedReader) Get(ctx context.Context, key client.ObjectKey, obj client.Object, options ...client.GetOption) error {
	return inVersion(s.mapper, obj, func() error { return s.Reader.Get(ctx, key, obj, options...) })
}

// servedCache has such objects in the version in which the API server has them, and hands them out in the other one. The events of its
// informers have them as they are.
type servedCache struct {
	cache.Cache
	mapper meta.RESTMapper
}

// Get reads an object.
func (s servedCache) Get(ctx context.Context, key client.ObjectKey, obj client.Object, options ...client.GetOption) error {
	return inVersion(s.mapper, obj, func() error { return s.Cache.Get(ctx, key, obj, options...) })
}

// List lists objects. Those of another version are copies: nobody asks for the cache's own.
func (s servedCache) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	objects, ok := list.(*unstructured.UnstructuredList)
	if !ok {
		return s.Cache.List(ctx, list, options...)
	}
	asked := objects.GroupVersionKind()
	gvk := asked.GroupVersion().WithKind(strings.TrimSuffix(asked.Kind, "List"))
	version, err := servedVersion(s.mapper, emptyOf(gvk))
	switch {
	case err != nil:
		return err
	case version == gvk.Version:
		return s.Cache.List(ctx, list, options...)
	}
	objects.SetGroupVersionKind(asked.GroupKind().WithVersion(version))
	defer objects.SetGroupVersionKind(asked)
	if err := s.Cache.List(ctx, objects, options...); err != nil {
		return err
	}
	for i := range objects.Items {
		objects.Items[i].SetGroupVersionKind(gvk)
	}
	return nil
}

// GetInformer returns the informer of a kind.
func (s servedCache) GetInformer(ctx context.Context, obj client.Object, options ...cache.InformerGetOption) (informer cache.Informer, err error) {
	err = s.with(obj, func(as client.Object) error {
		informer, err = s.Cache.GetInformer(ctx, as, options...)
		return err
	})
	return informer, err
}

// IndexField adds an index.
func (s servedCache) IndexField(ctx context.Context, obj client.Object, field string, values client.IndexerFunc) error {
	return s.with(obj, func(as client.Object) error { return s.Cache.IndexField(ctx, as, field, values) })
}

// with does something with an object of the version in which the API server has its kind, which may be kept.
func (s servedCache) with(obj client.Object, do func(client.Object) error) error {
	o, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return do(obj)
	}
	version, err := servedVersion(s.mapper, o)
	if err != nil {
		return err
	}
	return do(emptyOf(o.GroupVersionKind().GroupKind().WithVersion(version)))
}

// inVersion does something with an object in the version in which the API server has its kind.
func inVersion(mapper meta.RESTMapper, obj client.Object, do func() error) error {
	o, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return do()
	}
	is := o.GroupVersionKind()
	version, err := servedVersion(mapper, o)
	if err != nil {
		return err
	}
	o.SetGroupVersionKind(is.GroupKind().WithVersion(version))
	defer o.SetGroupVersionKind(is)
	return do()
}

// servedVersion is the version in which the API server has the kind of an object: its own, if it is not one of a router.
func servedVersion(mapper meta.RESTMapper, o *unstructured.Unstructured) (string, error) {
	gvk := o.GroupVersionKind()
	if !routers.Writes(gvk) || len(routers.Versions(gvk)) == 1 {
		return gvk.Version, nil
	}
	mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return "", err
	}
	return mapping.GroupVersionKind.Version, nil
}
