package kubelet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// place chooses the node for a pod among those that it fits on: the one with the fewest neighbours it would rather not have,
// then with the fewest pods of the same controller, then with the fewest pods. If there is none it says why, in the words of the
// real scheduler. bound are the pods that have a node.
func place(pod *corev1.Pod, nodes []*corev1.Node, bound []*corev1.Pod) (node, problem string) {
	c := newCluster(nodes, bound)
	refusals := map[string]int{}
	var fitting []*corev1.Node
	for _, n := range nodes {
		if reason := c.refuses(n, pod); reason != "" {
			refusals[reason]++
			continue
		}
		fitting = append(fitting, n)
	}
	if len(fitting) == 0 {
		return "", explain(len(nodes), refusals)
	}
	best := slices.MinFunc(fitting, func(a, b *corev1.Node) int {
		return cmp.Or(
			cmp.Compare(c.dislike(a, pod), c.dislike(b, pod)),
			cmp.Compare(c.siblings(a, pod), c.siblings(b, pod)),
			cmp.Compare(len(c.pods[a.Name]), len(c.pods[b.Name])),
			cmp.Compare(a.Name, b.Name))
	})
	return best.Name, ""
}

func explain(nodes int, refusals map[string]int) string {
	var reasons []string
	for _, reason := range slices.Sorted(maps.Keys(refusals)) {
		reasons = append(reasons, fmt.Sprintf("%d %s", refusals[reason], reason))
	}
	if nodes == 0 {
		return "no nodes available to schedule pods"
	}
	return fmt.Sprintf("0/%d nodes are available: %s.", nodes, strings.Join(reasons, ", "))
}

// cluster is which pods are where.
type cluster struct {
	nodes []*corev1.Node
	pods  map[string][]*corev1.Pod
}

func newCluster(nodes []*corev1.Node, bound []*corev1.Pod) cluster {
	c := cluster{nodes: nodes, pods: map[string][]*corev1.Pod{}}
	for _, pod := range bound {
		if !finished(pod) {
			c.pods[pod.Spec.NodeName] = append(c.pods[pod.Spec.NodeName], pod)
		}
	}
	return c
}

// refuses is why a pod cannot run on a node; empty if it can.
func (c cluster) refuses(node *corev1.Node, pod *corev1.Pod) string {
	switch {
	case node.Spec.Unschedulable && !tolerates(pod, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}):
		return "node(s) were unschedulable"
	case !matchesNode(pod, node):
		return "node(s) didn't match Pod's node affinity/selector"
	case !c.attracted(node, pod):
		return "node(s) didn't match pod affinity rules"
	case c.repelled(node, pod):
		return "node(s) didn't match pod anti-affinity rules"
	case c.repels(node, pod):
		return "node(s) didn't satisfy existing pods anti-affinity rules"
	}
	for _, taint := range node.Spec.Taints {
		if taint.Effect != corev1.TaintEffectPreferNoSchedule && taint.Key != corev1.TaintNodeUnschedulable && !tolerates(pod, taint) {
			return fmt.Sprintf("node(s) had untolerated taint(s) {%s: %s}", taint.Key, taint.Value)
		}
	}
	return c.lacks(node, pod)
}

// lacks names the first resource that a node has too little of.
func (c cluster) lacks(node *corev1.Node, pod *corev1.Pod) string {
	if limit, ok := node.Status.Allocatable[corev1.ResourcePods]; ok && int64(len(c.pods[node.Name])) >= limit.Value() {
		return "Too many pods"
	}
	wanted := requests(pod)
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		free := node.Status.Allocatable[name].DeepCopy()
		for _, other := range c.pods[node.Name] {
			free.Sub(requests(other)[name])
		}
		if want := wanted[name]; !want.IsZero() && free.Cmp(want) < 0 {
			return "Insufficient " + string(name)
		}
	}
	return ""
}

// requests adds up what the containers of a pod ask for. Init containers that end before the others start are not counted.
func requests(pod *corev1.Pod) corev1.ResourceList {
	sum := corev1.ResourceList{}
	add := func(c *corev1.Container) {
		for name, q := range c.Resources.Requests {
			total := sum[name]
			total.Add(q)
			sum[name] = total
		}
	}
	for i := range pod.Spec.Containers {
		add(&pod.Spec.Containers[i])
	}
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			add(c)
		}
	}
	return sum
}

// siblings counts the pods of the same controller on a node.
func (c cluster) siblings(node *corev1.Node, pod *corev1.Pod) int {
	owner := metav1.GetControllerOf(pod)
	n := 0
	for _, other := range c.pods[node.Name] {
		if theirs := metav1.GetControllerOf(other); owner != nil && theirs != nil && theirs.UID == owner.UID {
			n++
		}
	}
	return n
}

func tolerates(pod *corev1.Pod, taint corev1.Taint) bool {
	return slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool {
		sameEffect := t.Effect == "" || t.Effect == taint.Effect
		sameKey := t.Key == taint.Key || t.Key == "" && t.Operator == corev1.TolerationOpExists
		return sameEffect && sameKey && (t.Operator == corev1.TolerationOpExists || t.Value == taint.Value)
	})
}
