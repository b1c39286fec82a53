package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// crdPatience is how long to wait for CRDs that may have been applied together with the controller.
const crdPatience = 30 * time.Second

// errNoCRDs is what people read who forgot them, instead of an error about REST mappings.
var errNoCRDs = fmt.Errorf("the cluster does not know the kind %s; install the CRDs: kubectl apply -f config/crd", v1alpha1.RolloutGVK.GroupKind())

// requireCRDs waits until the cluster knows Rollouts.
func requireCRDs(ctx context.Context, config *rest.Config, log *slog.Logger) error {
	clients, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("set up discovery: %w", err)
	}
	told := false
	err = wait.PollUntilContextTimeout(ctx, time.Second, crdPatience, true, func(context.Context) (bool, error) {
		known, err := knowsRollouts(clients)
		if !known && err == nil && !told {
			log.Warn("the cluster does not know Rollouts yet; waiting for the CRDs", "for", crdPatience.String())
			told = true
		}
		return known, err
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return errNoCRDs
	}
	return err
}

func knowsRollouts(clients *discovery.DiscoveryClient) (bool, error) {
	known, err := clients.ServerResourcesForGroupVersion(v1alpha1.GroupVersion.String())
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("ask the cluster for the kinds it knows: %w", err)
	}
	return slices.ContainsFunc(known.APIResources, func(r metav1.APIResource) bool { return r.Kind == v1alpha1.KindRollout }), nil
}
