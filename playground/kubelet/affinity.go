package kubelet

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// matchesNode tells whether a node has the labels that a pod's nodeSelector and required node affinity ask for.
func matchesNode(pod *corev1.Pod, node *corev1.Node) bool {
	if !labels.SelectorFromSet(pod.Spec.NodeSelector).Matches(labels.Set(node.Labels)) {
		return false
	}
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil {
		return true
	}
	required := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	return required == nil || slices.ContainsFunc(required.NodeSelectorTerms, func(t corev1.NodeSelectorTerm) bool {
		return len(t.MatchExpressions)+len(t.MatchFields) > 0 &&
			allMatch(t.MatchExpressions, node.Labels) &&
			allMatch(t.MatchFields, labels.Set{metav1.ObjectNameField: node.Name})
	})
}

func allMatch(expressions []corev1.NodeSelectorRequirement, set labels.Set) bool {
	operators := map[corev1.NodeSelectorOperator]selection.Operator{
		corev1.NodeSelectorOpIn: selection.In, corev1.NodeSelectorOpNotIn: selection.NotIn,
		corev1.NodeSelectorOpExists: selection.Exists, corev1.NodeSelectorOpDoesNotExist: selection.DoesNotExist,
		corev1.NodeSelectorOpGt: selection.GreaterThan, corev1.NodeSelectorOpLt: selection.LessThan,
	}
	for _, e := range expressions {
		r, err := labels.NewRequirement(e.Key, operators[e.Operator], e.Values)
		if err != nil || !r.Matches(set) {
			return false
		}
	}
	return true
}

// attracted tells whether each required pod affinity finds a matching pod in the node's domain. The first of a group that is
// attracted to itself finds none anywhere, and may go where it likes.
func (c cluster) attracted(node *corev1.Node, pod *corev1.Pod) bool {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.PodAffinity == nil {
		return true
	}
	for _, term := range pod.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		first := matches(term, pod, pod) && !slices.ContainsFunc(c.nodes, func(n *corev1.Node) bool { return c.matchesIn(n, term, pod) > 0 })
		if c.matchesIn(node, term, pod) == 0 && !first {
			return false
		}
	}
	return true
}

// repelled tells whether a pod's required anti-affinity keeps it away from a node.
func (c cluster) repelled(node *corev1.Node, pod *corev1.Pod) bool {
	return slices.ContainsFunc(requiredAntiAffinity(pod), func(t corev1.PodAffinityTerm) bool { return c.matchesIn(node, t, pod) > 0 })
}

// repels tells whether the required anti-affinity of a pod already there keeps this one away.
func (c cluster) repels(node *corev1.Node, pod *corev1.Pod) bool {
	for _, n := range c.nodes {
		for _, other := range c.pods[n.Name] {
			for _, term := range requiredAntiAffinity(other) {
				if sameDomain(n, node, term.TopologyKey) && matches(term, other, pod) {
					return true
				}
			}
		}
	}
	return false
}

// dislike weighs the preferred anti-affinity of a pod against a node.
func (c cluster) dislike(node *corev1.Node, pod *corev1.Pod) int {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.PodAntiAffinity == nil {
		return 0
	}
	weight := 0
	for _, p := range pod.Spec.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
		weight += int(p.Weight) * c.matchesIn(node, p.PodAffinityTerm, pod)
	}
	return weight
}

func requiredAntiAffinity(pod *corev1.Pod) []corev1.PodAffinityTerm {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.PodAntiAffinity == nil {
		return nil
	}
	return pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
}

// matchesIn counts the pods that owner's term matches in the domain of a node.
func (c cluster) matchesIn(node *corev1.Node, term corev1.PodAffinityTerm, owner *corev1.Pod) int {
	count := 0
	for _, n := range c.nodes {
		if !sameDomain(n, node, term.TopologyKey) {
			continue
		}
		for _, other := range c.pods[n.Name] {
			if matches(term, owner, other) {
				count++
			}
		}
	}
	return count
}

func sameDomain(a, b *corev1.Node, key string) bool {
	domain, has := a.Labels[key]
	return has && domain == b.Labels[key]
}

// matches tells whether owner's term means the other pod. Namespaces are compared by name: of namespaceSelector only the empty
// one, which means all, is known.
func matches(term corev1.PodAffinityTerm, owner, other *corev1.Pod) bool {
	everywhere := term.NamespaceSelector != nil
	named := slices.Contains(term.Namespaces, other.Namespace)
	own := len(term.Namespaces) == 0 && owner.Namespace == other.Namespace
	if !everywhere && !named && !own {
		return false
	}
	selector, err := metav1.LabelSelectorAsSelector(term.LabelSelector)
	return err == nil && selector.Matches(labels.Set(other.Labels))
}
