package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
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

// requiredKinds are those that the controllers watch.
var requiredKinds = []string{
	v1alpha1.KindRollout, v1alpha1.KindExperiment, v1alpha1.KindAnalysisRun, v1alpha1.KindAnalysisTemplate, v1alpha1.KindClusterAnalysisTemplate,
}

// requireCRDs waits until the cluster knows the kinds that are watched. Who forgot them reads what to do, and not an error about REST
// mappings.
func requireCRDs(ctx context.Context, config *rest.Config, log *slog.Logger) error {
	clients, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("set up discovery: %w", err)
	}
	var missing []string
	told := false
	err = wait.PollUntilContextTimeout(ctx, time.Second, crdPatience, true, func(context.Context) (bool, error) {
		var err error
		missing, err = missingKinds(clients)
		if len(missing) > 0 && err == nil && !told {
			log.Warn("the cluster does not know all kinds yet; waiting for the CRDs", "missing", missing, "for", crdPatience.String())
			told = true
		}
		return len(missing) == 0, err
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("the cluster does not know the kinds %s of %s; install the CRDs: kubectl apply -f config/crd",
			strings.Join(missing, ", "), v1alpha1.GroupVersion)
	}
	return err
}

// missingKinds are those of the required kinds that the cluster does not know.
func missingKinds(clients *discovery.DiscoveryClient) ([]string, error) {
	known, err := clients.ServerResourcesForGroupVersion(v1alpha1.GroupVersion.String())
	if apierrors.IsNotFound(err) {
		return requiredKinds, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ask the cluster for the kinds it knows: %w", err)
	}
	return slices.DeleteFunc(slices.Clone(requiredKinds), func(kind string) bool {
		return slices.ContainsFunc(known.APIResources, func(r metav1.APIResource) bool { return r.Kind == kind })
	}), nil
}
