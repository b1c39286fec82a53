package playtest

import (
	"context"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Neighbor makes another namespace for the same test, of another tenant.
func (ns *Namespace) Neighbor() *Namespace {
	ns.t.Helper()
	made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	if err := shared.client.Create(ns.t.Context(), made); err != nil {
		ns.t.Fatal(err)
	}
	ns.t.Cleanup(func() {
		_ = shared.client.Delete(context.Background(), made) // the playground goes with all that is in it
	})
	return &Namespace{
		Name: made.Name, Client: ns.Client, Config: ns.Config, Kubeconfig: ns.Kubeconfig,
		t: ns.t, log: filepath.Join(ns.t.TempDir(), "controller.log"),
	}
}

// StartClusterController starts a controller that manages all namespaces, with the permissions of the install, but only
// Rollouts that carry the name of this namespace as their instance ID: so tests do not see each other's.
func (ns *Namespace) StartClusterController(flags ...string) {
	ns.t.Helper()
	ns.start(append([]string{"--instance-id", ns.Name}, flags...))
}
