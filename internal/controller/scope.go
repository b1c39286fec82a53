package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// mayReadClusterTemplates reports whether this controller may read ClusterAnalysisTemplates. One that looks after a single namespace
// may have the rights of a Role alone; elsewhere a right that is missing is a mistake, which the caches tell of.
func mayReadClusterTemplates(ctx context.Context, config *rest.Config, o Options) (bool, error) {
	if o.Namespace == "" {
		return true, nil
	}
	live, err := client.New(config, client.Options{Scheme: Scheme()})
	if err != nil {
		return false, err
	}
	err = live.List(ctx, &v1alpha1.ClusterAnalysisTemplateList{}, client.Limit(1))
	if apierrors.IsForbidden(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("list ClusterAnalysisTemplates: %w", err)
	}
	return true, nil
}

// namespaced is a client without the right to read ClusterAnalysisTemplates, which knows so without asking.
type namespaced struct{ client.Client }

// Get reads an object.
func (n namespaced) Get(ctx context.Context, key client.ObjectKey, obj client.Object, options ...client.GetOption) error {
	if _, ok := obj.(*v1alpha1.ClusterAnalysisTemplate); ok {
		return apierrors.NewForbidden(v1alpha1.GroupVersion.WithResource("clusteranalysistemplates").GroupResource(), key.Name,
			errors.New("this controller looks after one namespace"))
	}
	return n.Client.Get(ctx, key, obj, options...)
}

// List lists objects.
func (n namespaced) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if _, ok := list.(*v1alpha1.ClusterAnalysisTemplateList); ok {
		return nil
	}
	return n.Client.List(ctx, list, options...)
}

// synced is a readiness probe: the caches show what there is.
func synced(caches cache.Cache) func(*http.Request) error {
	return func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		if !caches.WaitForCacheSync(ctx) {
			return errors.New("the caches are not filled yet")
		}
		return nil
	}
}
