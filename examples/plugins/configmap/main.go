// Command configmap is a traffic-router plugin: it writes the weights into a ConfigMap, for a proxy that reads them from there. A sample to begin
// one's own with. The ConfigMap must exist, and the controller's service account must be allowed to get and update it.
//
//	trafficRouting:
//	  plugins:
//	    samples/configmap: {name: web-weights}
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/sluice-delivery/sluice/api/plugin"
	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// name is the one under which the administrator lists the plugin.
const name = "samples/configmap"

// patience is how long one request to the API server may take.
const patience = 10 * time.Second

func main() { plugin.ServeRouter(&router{}) }

// settings are what stands below the plugin's name in a Rollout.
type settings struct {
	Name string `json:"name"`
}

type router struct{ client kubernetes.Interface }

// Init connects to the cluster: by $KUBECONFIG, or by the pod's service account.
func (r *router) Init() error {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	if err != nil {
		return err
	}
	r.client, err = kubernetes.NewForConfig(config)
	return err
}

// SetWeight writes the weights. It may be called again with the same ones.
func (r *router) SetWeight(a plugin.SetWeightAndVerifyWeightArgs) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	weights, err := r.read(ctx, &a.Rollout)
	if err != nil {
		return err
	}
	canary := a.Rollout.Spec.Strategy.Canary
	weights.Data = map[string]string{
		canary.CanaryService: strconv.Itoa(int(a.DesiredWeight)), canary.StableService: strconv.Itoa(int(100 - a.DesiredWeight)),
	}
	_, err = r.client.CoreV1().ConfigMaps(a.Rollout.Namespace).Update(ctx, weights, metav1.UpdateOptions{})
	return err
}

// VerifyWeight says whether the weights are in force.
func (r *router) VerifyWeight(a plugin.SetWeightAndVerifyWeightArgs) (plugin.Verified, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	weights, err := r.read(ctx, &a.Rollout)
	if err != nil || weights.Data[a.Rollout.Spec.Strategy.Canary.CanaryService] != strconv.Itoa(int(a.DesiredWeight)) {
		return plugin.NotVerified, err
	}
	return plugin.IsVerified, nil
}

// read reads the ConfigMap that a Rollout names.
func (r *router) read(ctx context.Context, ro *v1alpha1.Rollout) (*corev1.ConfigMap, error) {
	var s settings
	if err := json.Unmarshal(ro.Spec.Strategy.Canary.TrafficRouting.Plugins[name], &s); err != nil || s.Name == "" {
		return nil, fmt.Errorf("settings of %s: name the ConfigMap with the weights", name)
	}
	return r.client.CoreV1().ConfigMaps(ro.Namespace).Get(ctx, s.Name, metav1.GetOptions{})
}

// UpdateHash is for routers that send to pods by their hash.
func (*router) UpdateHash(plugin.UpdateHashArgs) error { return nil }

// SetHeaderRoute says that it cannot.
func (*router) SetHeaderRoute(plugin.SetHeaderArgs) error {
	return fmt.Errorf("%s cannot route by header", name)
}

// SetMirrorRoute says that it cannot.
func (*router) SetMirrorRoute(plugin.SetMirrorArgs) error {
	return fmt.Errorf("%s cannot mirror", name)
}

// RemoveManagedRoutes has none to remove.
func (*router) RemoveManagedRoutes(plugin.RemoveManagedRoutesArgs) error { return nil }
