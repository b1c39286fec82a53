package controller_test

import (
	"strings"
	"syscall"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
)

// TestC33TheStandbyTakesOver runs two controllers of which one leads, and ends the one that leads: at once where it is asked to
// stop, since it gives its lease back, and when the lease has run out where it is killed.
func TestC33TheStandbyTakesOver(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]syscall.Signal{"stopped": syscall.SIGTERM, "killed": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := playtest.New(t)
			flags := []string{
				"--leader-elect=true", "--instance-id", ns.Name, // each instance has a lease of its own
				// Long enough that a leader on a busy machine keeps its lease: one that loses it exits, as it should.
				"--leader-election-lease-duration=15s", "--leader-election-renew-deadline=12s", "--leader-election-retry-period=500ms",
			}
			ns.StartController(flags...)
			manifest := strings.Replace(canary(1, `{}`), "{name: web}", "{name: web, labels: {"+v1alpha1.InstanceIDLabel+": "+ns.Name+"}}", 1)
			ns.CreateRollout(manifest)
			ns.WaitForRollout("web", "to be Healthy under the first controller", playtest.Healthy)

			ns.StartController(flags...)
			ns.StopController(signal)
			ns.SetImage("web", "nginx:2")
			ns.WaitForRollout("web", "to be Healthy under the second", func(ro *v1alpha1.Rollout) bool {
				return playtest.Healthy(ro) && ro.Annotations[v1alpha1.RevisionAnnotation] == "2"
			})
		})
	}
}

// TestC33ALostLeaseEndsTheController: someone else has the lease, as after a network partition. The former leader exits: there must not be two.
func TestC33ALostLeaseEndsTheController(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	ns.StartController("--leader-elect=true", "--instance-id", ns.Name,
		"--leader-election-lease-duration=15s", "--leader-election-renew-deadline=12s", "--leader-election-retry-period=500ms")
	ns.CreateRollout(strings.Replace(canary(1, `{}`), "{name: web}", "{name: web, labels: {"+v1alpha1.InstanceIDLabel+": "+ns.Name+"}}", 1))
	ns.WaitForRollout("web", "to be Healthy under the leader", playtest.Healthy)

	lease := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "argo-rollouts", Name: v1alpha1.LeaseName + "-" + ns.Name}}
	lease.SetGroupVersionKind(coordinationv1.SchemeGroupVersion.WithKind("Lease"))
	patch := `{"spec": {"holderIdentity": "another", "renewTime": "` + metav1.NowMicro().Format(metav1.RFC3339Micro) + `"}}`
	if err := ns.Client.Patch(t.Context(), lease, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
	if status := ns.WaitForControllerToExit(); status != 1 {
		t.Errorf("the controller ended with status %d, want 1", status)
	}
}
