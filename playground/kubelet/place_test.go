package kubelet

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestPlace(t *testing.T) {
	tests := map[string]struct {
		pod     *corev1.Pod
		nodes   []*corev1.Node
		bound   []*corev1.Pod
		node    string
		problem string
	}{
		"pods spread": {
			pod: newPod(), nodes: nodes(3), bound: []*corev1.Pod{newPod(on("node-1")), newPod(on("node-3"))},
			node: "node-2",
		},
		"pods of one controller spread before all": {
			pod: newPod(ofController("web")), nodes: nodes(2),
			bound: []*corev1.Pod{newPod(on("node-1"), ofController("web")), newPod(on("node-2")), newPod(on("node-2"))},
			node:  "node-2",
		},
		"a pod that has finished takes no room": {
			pod: newPod(), nodes: nodes(2),
			bound: []*corev1.Pod{newPod(on("node-1"), func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }), newPod(on("node-2"))},
			node:  "node-1",
		},
		"a node selector is followed": {
			pod:   newPod(func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{corev1.LabelHostname: "node-3"} }),
			nodes: nodes(3), node: "node-3",
		},
		"a node selector that no node has": {
			pod:   newPod(func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "ssd"} }),
			nodes: nodes(3), problem: "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector.",
		},
		"a required node affinity by name is followed": {
			pod: newPod(func(p *corev1.Pod) {
				p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
						MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"node-2"}}},
					}}},
				}}
			}),
			nodes: nodes(3), node: "node-2",
		},
		"a pod keeps away from those it must not meet": {
			pod: newPod(away("app", "web")), nodes: nodes(2), bound: []*corev1.Pod{newPod(on("node-1"), labelled("app", "web"))},
			node: "node-2",
		},
		"a pod that must not meet others where they are everywhere": {
			pod: newPod(away("app", "web")), nodes: nodes(2),
			bound:   []*corev1.Pod{newPod(on("node-1"), labelled("app", "web")), newPod(on("node-2"), labelled("app", "web"))},
			problem: "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules.",
		},
		"a pod of another namespace is not meant": {
			pod: newPod(away("app", "web")), nodes: nodes(1),
			bound: []*corev1.Pod{newPod(on("node-1"), labelled("app", "web"), func(p *corev1.Pod) { p.Namespace = "other" })},
			node:  "node-1",
		},
		"a pod there keeps others away": {
			pod: newPod(labelled("app", "web")), nodes: nodes(1), bound: []*corev1.Pod{newPod(on("node-1"), away("app", "web"))},
			problem: "0/1 nodes are available: 1 node(s) didn't satisfy existing pods anti-affinity rules.",
		},
		"a preference is followed where it can be": {
			pod: newPod(rather("app", "web")), nodes: nodes(2),
			bound: []*corev1.Pod{newPod(on("node-1"), labelled("app", "web")), newPod(on("node-2")), newPod(on("node-2"))},
			node:  "node-2",
		},
		"cordoned nodes and tainted nodes are left alone": {
			pod: newPod(), nodes: nodes(3, func(i int, n *corev1.Node) {
				n.Spec.Unschedulable = i == 0
				if i == 1 {
					n.Spec.Taints = []corev1.Taint{{Key: "team", Value: "b", Effect: corev1.TaintEffectNoSchedule}}
				}
			}),
			node: "node-3",
		},
		"a toleration opens a tainted node": {
			pod: newPod(func(p *corev1.Pod) {
				p.Spec.Tolerations = []corev1.Toleration{{Key: "team", Operator: corev1.TolerationOpExists}}
			}),
			nodes: nodes(1, func(_ int, n *corev1.Node) {
				n.Spec.Taints = []corev1.Taint{{Key: "team", Value: "b", Effect: corev1.TaintEffectNoExecute}}
			}),
			node: "node-1",
		},
		"more than any node has": {
			pod: newPod(requesting("cpu", "65")), nodes: nodes(2), problem: "0/2 nodes are available: 2 Insufficient cpu.",
		},
		"more than is left": {
			pod: newPod(requesting("cpu", "30")), nodes: nodes(1),
			bound:   []*corev1.Pod{newPod(on("node-1"), requesting("cpu", "20")), newPod(on("node-1"), requesting("cpu", "15"))},
			problem: "0/1 nodes are available: 1 Insufficient cpu.",
		},
		"what no node has at all": {
			pod: newPod(requesting("nvidia.com/gpu", "1")), nodes: nodes(2), problem: "0/2 nodes are available: 2 Insufficient nvidia.com/gpu.",
		},
		"no nodes": {pod: newPod(), problem: "no nodes available to schedule pods"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			node, problem := place(test.pod, test.nodes, test.bound)
			if node != test.node || problem != test.problem {
				t.Errorf("got node %q, problem %q; want node %q, problem %q", node, problem, test.node, test.problem)
			}
		})
	}
}

func nodes(count int, quirks ...func(int, *corev1.Node)) []*corev1.Node {
	var list []*corev1.Node
	for i := range count {
		node := newNode(fmt.Sprintf("node-%d", i+1), i, epoch)
		for _, q := range quirks {
			q(i, node)
		}
		list = append(list, node)
	}
	return list
}

func on(node string) quirk { return func(p *corev1.Pod) { p.Spec.NodeName = node } }

func labelled(key, value string) quirk {
	return func(p *corev1.Pod) { metav1.SetMetaDataLabel(&p.ObjectMeta, key, value) }
}

func ofController(name string) quirk {
	return func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{Name: name, UID: "uid-of-" + "controller", Controller: new(true)}}
	}
}

func requesting(name corev1.ResourceName, quantity string) quirk {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{name: resource.MustParse(quantity)}
	}
}

func away(key, value string) quirk {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{hostTerm(key, value)},
		}}
	}
}

func rather(key, value string) quirk {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: hostTerm(key, value)}},
		}}
	}
}

func hostTerm(key, value string) corev1.PodAffinityTerm {
	return corev1.PodAffinityTerm{
		TopologyKey:   corev1.LabelHostname,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{key: value}},
	}
}
