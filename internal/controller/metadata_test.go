package controller_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/playtest"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// roles counts pods by their version and role, and a note if they have one: "nginx:1 stable".
func roles(pods []corev1.Pod) map[string]int {
	counts := map[string]int{}
	for _, p := range pods {
		role := p.Labels["role"]
		if note := p.Annotations["note"]; note != "" {
			role += " " + note
		}
		counts[p.Spec.Containers[0].Image+" "+role]++
	}
	return counts
}

func waitForRoles(ns *playtest.Namespace, want map[string]int) []corev1.Pod {
	return ns.WaitForPods(fmt.Sprintf("with the roles %v", want), func(pods []corev1.Pod) bool { return cmp.Equal(want, roles(pods)) })
}

// labelled waits until all pods are known to be done.
func labelled(ns *playtest.Namespace) {
	ns.WaitForReplicaSets("whose pods are all labelled", func(rs *appsv1.ReplicaSet) bool { return spec.EphemeralMetadataOf(rs).Settled() })
}

// identities are the UIDs of pods, with the number of times that their containers were started.
func identities(pods []corev1.Pod) map[types.UID]int32 {
	out := map[types.UID]int32{}
	for _, p := range pods {
		out[p.UID] = 0
		for _, c := range p.Status.ContainerStatuses {
			out[p.UID] += c.RestartCount
		}
	}
	return out
}

// versionsOf are the resourceVersions of all that an update writes, pods included.
func versionsOf(ns *playtest.Namespace) map[string]string {
	versions := ns.Versions()
	for _, p := range ns.Pods() {
		versions["Pod "+p.Name] = p.ResourceVersion
	}
	return versions
}

func TestCanaryMetadataOnRunningPods(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	ns.StartController("--rollout-threads=1")
	ns.CreateRollout(canary(2, `{maxSurge: 2, maxUnavailable: 0, steps: [{setWeight: 50}, {pause: {}}],
      canaryMetadata: {labels: {role: canary}, annotations: {note: new}}, stableMetadata: {labels: {role: stable}}}`))
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	waitForRoles(ns, map[string]int{"nginx:1 stable": 2})

	ns.SetImage("web", "nginx:2")
	ns.WaitForRollout("web", "to pause at 50 %", playtest.AtStep(1))
	waitForRoles(ns, map[string]int{"nginx:1 stable": 1, "nginx:2 canary new": 1})
	ns.Patch("web", `{"spec":{"strategy":{"canary":{"canaryMetadata":{"labels":{"role":"candidate"},"annotations":null}}}}}`)
	waitForRoles(ns, map[string]int{"nginx:1 stable": 1, "nginx:2 candidate": 1})
	if got := ns.Rollout("web").Annotations[v1alpha1.RevisionAnnotation]; got != "2" {
		t.Errorf("other metadata made revision %s", got)
	}

	ns.PatchStatus("web", resume)
	ns.WaitForRollout("web", "to be Healthy on the second version", playtest.Healthy)
	pods := waitForRoles(ns, map[string]int{"nginx:2 stable": 2})
	ns.Patch("web", `{"spec":{"strategy":{"canary":{"stableMetadata":{"labels":{"role":"steady"}}}}}}`)
	after := waitForRoles(ns, map[string]int{"nginx:2 steady": 2})
	if diff := cmp.Diff(identities(pods), identities(after)); diff != "" {
		t.Errorf("pods were restarted for a label\n%s", diff)
	}

	labelled(ns)
	ns.WaitForRollout("web", "to say so", playtest.Healthy)
	ns.RestartsQuietly(func() map[string]string { return versionsOf(ns) })
}

func TestBlueGreenMetadataAndAntiAffinity(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	createServices(t, ns, "active", "preview")
	ns.StartController()
	ns.CreateRollout(blueGreen(2, `{activeService: active, previewService: preview, autoPromotionEnabled: false, scaleDownDelaySeconds: 600,
      previewMetadata: {labels: {role: preview}}, activeMetadata: {labels: {role: active}},
      antiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: {weight: 50}}}`))
	first := ns.WaitForRollout("web", "to be Healthy", playtest.Healthy).Status.CurrentPodHash
	waitForRoles(ns, map[string]int{"nginx:1 active": 2})

	ns.SetImage("web", "nginx:2")
	ns.WaitForRollout("web", "to wait for a person", playtest.Paused)
	pods := waitForRoles(ns, map[string]int{"nginx:1 active": 2, "nginx:2 preview": 2})
	for _, p := range pods {
		if p.Spec.Containers[0].Image != "nginx:2" {
			continue
		}
		if a := p.Spec.Affinity; a == nil || a.PodAntiAffinity == nil ||
			a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].PodAffinityTerm.LabelSelector.MatchExpressions[0].Values[0] != first {
			t.Errorf("pod %s does not keep off the nodes of %s: %v", p.Name, first, a)
		}
	}

	ns.PatchStatus("web", resume)
	ns.WaitForRollout("web", "to be Healthy on the second version", playtest.Healthy)
	after := waitForRoles(ns, map[string]int{"nginx:1 ": 2, "nginx:2 active": 2})
	if diff := cmp.Diff(identities(pods), identities(after)); diff != "" {
		t.Errorf("pods were restarted for a promotion\n%s", diff)
	}
	ns.WaitForReplicaSets("that keep away from nobody", func(rs *appsv1.ReplicaSet) bool { return rs.Spec.Template.Spec.Affinity == nil })

	ns.SetImage("web", "nginx:1") // within the delay: back at once
	ns.WaitForRollout("web", "to be Healthy on the first version", func(ro *v1alpha1.Rollout) bool {
		return playtest.Healthy(ro) && ro.Status.StableRS == first
	})
	waitForRoles(ns, map[string]int{"nginx:1 active": 2, "nginx:2 ": 2})
}

// Required anti-affinity: the canary's pod goes to a node that has none of the stable version, and when the update is over nothing keeps
// pods from any node.
func TestRequiredAntiAffinity(t *testing.T) {
	t.Parallel()
	ns := playtest.New(t)
	manifest := routed(1, routers["GatewayAPI"], halfTheWeight, "scaleDownDelaySeconds: 1, antiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {}}")
	createRoute(t, ns, manifest)
	ns.StartController()
	ns.CreateRollout(manifest)
	first := ns.WaitForRollout("web", "to be Healthy", settledOn("1", 1)).Status.StableRS

	ns.SetImage("web", "nginx:2")
	ns.WaitForRollout("web", "to pause", both(playtest.Paused, weightIs(50)))
	nodes := map[string]string{}
	for _, p := range ns.Pods() {
		if other := nodes[p.Spec.NodeName]; other != "" {
			t.Errorf("%s and %s are both on %s", other, p.Name, p.Spec.NodeName)
		}
		nodes[p.Spec.NodeName] = p.Name
		a, of := p.Spec.Affinity, p.Labels[v1alpha1.PodTemplateHashLabel]
		if keepsOff := a != nil && a.PodAntiAffinity != nil && len(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) == 1; keepsOff != (of != first) {
			t.Errorf("pod %s of %s keeps off nodes: %t", p.Name, of, keepsOff)
		}
	}
	if len(nodes) != 2 {
		t.Errorf("pods on %v, want one of each version", nodes)
	}

	ns.PatchStatus("web", `{"status":{"promoteFull":true}}`)
	ns.WaitForRollout("web", "to be Healthy on the second version", settledOn("2", 1))
	ns.WaitForReplicaSets("that keep away from nobody", func(rs *appsv1.ReplicaSet) bool { return rs.Spec.Template.Spec.Affinity == nil })
}

// Metadata that changes again and again, under a controller that is killed again and again, ends on every pod as it was written
// last, and no earlier one is left on any.
func TestMetadataKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 3))
	ns := playtest.New(t)
	ns.StartController()
	ns.CreateRollout(canary(8, `{stableMetadata: {labels: {role: r0, r0: "yes"}}}`))
	ns.WaitForRollout("web", "to be Healthy", playtest.Healthy)
	pods := waitForRoles(ns, map[string]int{"nginx:1 r0": 8})
	for i := range 6 {
		ns.Patch("web", fmt.Sprintf(`{"spec":{"strategy":{"canary":{"stableMetadata":{"labels":{"role":"r%d","r%d":"yes","r%d":null}}}}}}`, i+1, i+1, i))
		some := 1 + random.IntN(8)
		ns.WaitForPods(fmt.Sprintf("of which %d have followed", some), func(pods []corev1.Pod) bool {
			return roles(pods)[fmt.Sprintf("nginx:1 r%d", i+1)] >= some
		})
		ns.KillController()
	}
	ns.Patch("web", `{"spec":{"strategy":{"canary":{"stableMetadata":{"labels":{"role":"last","r6":null}}}}}}`)
	after := waitForRoles(ns, map[string]int{"nginx:1 last": 8})
	labelled(ns)
	for _, p := range ns.Pods() {
		for i := range 7 {
			if key := fmt.Sprintf("r%d", i); p.Labels[key] != "" {
				t.Errorf("pod %s still has the label %s", p.Name, key)
			}
		}
	}
	if diff := cmp.Diff(identities(pods), identities(after)); diff != "" {
		t.Errorf("pods were restarted for a label\n%s", diff)
	}
}
