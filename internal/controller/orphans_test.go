package controller_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
)

// TestOrphansAreAdopted deletes a Rollout but not what it owns, as users do who move it or remove the CRDs for a
// while. Created again, the Rollout adopts its ReplicaSet, and no pod is created or deleted.
func TestOrphansAreAdopted(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	ns.StartController()
	manifest := canary(3, `{steps: [{setWeight: 50}, {pause: {}}]}`)
	old := ns.CreateRollout(manifest)
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	before := podNames(ns.WaitForPods("to be three", func(pods []corev1.Pod) bool { return len(pods) == 3 }))

	if err := ns.Client.Delete(t.Context(), old, client.PropagationPolicy(metav1.DeletePropagationOrphan)); err != nil {
		t.Fatal(err)
	}
	ns.WaitUntil("the Rollout is gone", func() error {
		err := ns.Client.Get(t.Context(), client.ObjectKeyFromObject(old), &v1alpha1.Rollout{})
		if err == nil {
			return errors.New("it is there still")
		}
		return client.IgnoreNotFound(err)
	})
	if sets := ns.ReplicaSets(); len(sets) != 1 || metav1.GetControllerOf(&sets[0]) != nil {
		t.Fatalf("left behind: %v, want one ReplicaSet that nobody controls", sets)
	}

	ro := ns.CreateRollout(manifest)
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	if sets := ns.ReplicaSets(); len(sets) != 1 || !metav1.IsControlledBy(&sets[0], ro) {
		t.Errorf("there are the ReplicaSets %v, want one that the new Rollout controls", sets)
	}
	if after := podNames(ns.Pods()); after != before {
		t.Errorf("the pods were %s, and are %s", before, after)
	}
}

func podNames(pods []corev1.Pod) string {
	var all []string
	for _, p := range pods {
		all = append(all, p.Name)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}
