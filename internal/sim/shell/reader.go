package shell

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/controller"
	"github.com/sluice-delivery/sluice/internal/sim"
	"github.com/sluice-delivery/sluice/internal/traffic/gatewayapi"
	"github.com/sluice-delivery/sluice/internal/traffic/istio"
	"github.com/sluice-delivery/sluice/internal/traffic/nginx"
)

var (
	scheme = controller.Scheme()
	// routeless is the mapper of a World that does not know the kinds of routers, routed that of one that knows the first of them, and
	// routedByAll that of one that knows all: each kind is a request more, with a fate of its own.
	routeless, routed, routedByAll = mapper(), mapper(few...), mapper(routeKinds...)

	few = []schema.GroupVersionKind{gatewayapi.GVK("HTTPRoute"), nginx.GVK, istio.VirtualService}
)

func mapper(routes ...schema.GroupVersionKind) meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	m.Add(v1alpha1.GroupVersion.WithKind(v1alpha1.KindRollout), meta.RESTScopeNamespace)
	m.Add(v1alpha1.GroupVersion.WithKind(v1alpha1.KindExperiment), meta.RESTScopeNamespace)
	for _, k := range own {
		m.Add(k.WithVersion("v1"), meta.RESTScopeNamespace)
	}
	for _, k := range routes {
		m.Add(k, meta.RESTScopeNamespace)
	}
	return m
}

func gvkOf(o runtime.Object) schema.GroupVersionKind {
	gvk, err := apiutil.GVKForObject(o, scheme)
	if err != nil {
		panic(err) // the shell reads nothing that its scheme does not have
	}
	return gvk
}

func kindOf(o runtime.Object) kind {
	k := gvkOf(o).GroupKind()
	k.Kind = strings.TrimSuffix(k.Kind, "List")
	return k
}

// caches are those of a process, as the reconciler sees them.
type caches struct{ *process }

var _ cache.Cache = &caches{}

// GetInformer is not supported: [controller.RolloutReconciler.Follow] reports what is watched.
func (*caches) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return nil, errNobody
}

// GetInformerForKind is not supported.
func (*caches) GetInformerForKind(context.Context, schema.GroupVersionKind, ...cache.InformerGetOption) (cache.Informer, error) {
	return nil, errNobody
}

// RemoveInformer is for nobody.
func (*caches) RemoveInformer(context.Context, client.Object) error { return errNobody }

// Start is for nobody.
func (*caches) Start(context.Context) error { return errNobody }

// WaitForCacheSync is true: a cache is filled when it is asked first.
func (*caches) WaitForCacheSync(context.Context) bool { return true }

// IndexField adds an index.
func (c *caches) IndexField(_ context.Context, o client.Object, field string, values client.IndexerFunc) error {
	if k := kindOf(o); c.shell.changes[k] != nil { // there are no ClusterAnalysisTemplates
		c.informer(k).indices[field] = values
	}
	return nil
}

// Get reads an object from the cache.
func (c *caches) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	c.spend()
	k := kindOf(into)
	if c.shell.changes[k] == nil {
		return notFound(k, key.Name)
	}
	objects := c.informer(k).objects
	at := indexOf(objects, key)
	if at < 0 {
		return notFound(k, key.Name)
	}
	copyInto(objects[at], into)
	return nil
}

// List lists objects of the cache, in no order, as an index has them.
func (c *caches) List(_ context.Context, into client.ObjectList, options ...client.ListOption) error {
	c.spend()
	k := kindOf(into)
	if c.shell.changes[k] == nil {
		return meta.SetList(into, nil)
	}
	var o client.ListOptions
	o.ApplyOptions(options)
	i := c.informer(k)
	var found []sim.Object
	for _, object := range i.objects {
		if i.selects(object, o) {
			found = append(found, object)
		}
	}
	c.shell.Fate.Order("listed", len(found), func(a, b int) { found[a], found[b] = found[b], found[a] })
	return setList(into, found, o.UnsafeDisableDeepCopy != nil && *o.UnsafeDisableDeepCopy)
}

func (i *informer) selects(object sim.Object, o client.ListOptions) bool {
	if o.Namespace != "" && o.Namespace != sim.KeyOf(object).Namespace || o.LabelSelector != nil && !o.LabelSelector.Matches(labels.Set(object.GetLabels())) {
		return false
	}
	if o.FieldSelector == nil {
		return true
	}
	return !slices.ContainsFunc(o.FieldSelector.Requirements(), func(r fields.Requirement) bool {
		values := i.indices[r.Field]
		if values == nil {
			panic(fmt.Sprintf("%s has no index %q", i.kind, r.Field))
		}
		return !slices.Contains(values(object), r.Value)
	})
}

// live reads from the API server.
type live struct{ *process }

// Get reads an object.
func (l live) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	l.spend()
	if err := l.lost(kindOf(into), "get"); err != nil {
		return err
	}
	o := l.shell.server.Get(kindOf(into), key)
	if o == nil {
		return notFound(kindOf(into), key.Name)
	}
	copyInto(o, into)
	return nil
}

// List lists objects.
func (l live) List(_ context.Context, into client.ObjectList, options ...client.ListOption) error {
	endpoints, isEndpoints := into.(*discoveryv1.EndpointSliceList)
	if isEndpoints && l.shell.World.EndpointLag == 0 {
		return apierrors.NewForbidden(schema.GroupResource{Group: discoveryv1.GroupName, Resource: "endpointslices"}, "", errNobody)
	}
	l.spend()
	if err := l.lost(kindOf(into), "list"); err != nil {
		return err
	}
	var o client.ListOptions
	o.ApplyOptions(options)
	if isEndpoints {
		for _, slice := range l.shell.World.EndpointSlices() {
			if o.LabelSelector.Matches(labels.Set(slice.Labels)) {
				endpoints.Items = append(endpoints.Items, *slice)
			}
		}
		return nil
	}
	var found []sim.Object
	for _, object := range l.shell.server.Objects(kindOf(into)) {
		if (o.Namespace == "" || o.Namespace == sim.KeyOf(object).Namespace) &&
			(o.LabelSelector == nil || o.LabelSelector.Matches(labels.Set(object.GetLabels()))) {
			found = append(found, object)
		}
	}
	return setList(into, found, false)
}

// lost is what becomes of a request that gets no answer.
func (p *process) lost(k kind, verb string) error {
	if p.shell.Fate.Happens("no answer", p.shell.Weather.Timeout) {
		return apierrors.NewServerTimeoutForKind(k, verb, 1)
	}
	return nil
}

func notFound(k kind, name string) error {
	return apierrors.NewNotFound(schema.GroupResource{Group: k.Group, Resource: k.Kind}, name)
}

func copyInto(o sim.Object, into client.Object) {
	gvk := gvkOf(into)
	if _, ok := into.(*metav1.PartialObjectMetadata); ok {
		o = metadataOf(o)
	}
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(o.DeepCopyObject()).Elem())
	into.GetObjectKind().SetGroupVersionKind(gvk)
}

// metadataOf is an object as the API server answers who asks for no more.
func metadataOf(o sim.Object) sim.Object {
	if whole, ok := o.(metav1.ObjectMetaAccessor); ok {
		return &metav1.PartialObjectMetadata{ObjectMeta: *whole.GetObjectMeta().(*metav1.ObjectMeta)}
	}
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ // of a route
		Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(),
		Annotations: o.GetAnnotations(), OwnerReferences: o.GetOwnerReferences(),
	}}
}

func setList(into client.ObjectList, found []sim.Object, shared bool) error {
	if _, ok := into.(*metav1.PartialObjectMetadataList); ok {
		for i := range found {
			found[i] = metadataOf(found[i])
		}
	}
	out := make([]runtime.Object, len(found))
	for i, o := range found {
		out[i] = o
		if !shared {
			out[i] = o.DeepCopyObject()
		}
	}
	return meta.SetList(into, out)
}
