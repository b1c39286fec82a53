package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// mayReadClusterTemplates reports whether this controller may read ClusterAnalysisTemplates. One that manages a single
// namespace may have only the permissions of a Role; otherwise a missing permission is a mistake, which the caches report.
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
			errors.New("this controller manages one namespace"))
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

// filled is a readiness probe: the caches contain everything that is watched from the start, after which the manager starts
// it. Kinds that are watched later do not count: a Rollout may name one that this controller may not list, and that does not
// make the controller unready.
type filled struct{ are atomic.Bool }

// Start is called when the caches are filled.
func (f *filled) Start(context.Context) error {
	f.are.Store(true)
	return nil
}

// NeedLeaderElection is false: a standby fills its caches too.
func (*filled) NeedLeaderElection() bool { return false }

// Check is the probe.
func (f *filled) Check(*http.Request) error {
	if !f.are.Load() {
		return errors.New("the caches are not filled yet")
	}
	return nil
}
