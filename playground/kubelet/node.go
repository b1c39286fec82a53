package kubelet

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// NodeLabel with any value marks the nodes that are simulated.
const NodeLabel = "playground.sluice.dev/node"

const (
	maxNodes      = 200
	leaseDuration = 40 * time.Second
	beatEvery     = 10 * time.Second
	firstBeats    = 250 * time.Millisecond // until the cluster accepts nodes
	statusAge     = 5 * time.Minute        // after which the heartbeat in a node's status is renewed
)

var everything = labels.Everything()

func isSimulated(node *corev1.Node) bool {
	_, marked := node.Labels[NodeLabel]
	return marked
}

// keepNodes creates the nodes and keeps them and their leases alive until ctx ends.
func keepNodes(ctx context.Context, client kubernetes.Interface, o Options) {
	for {
		wait := beatEvery
		if err := beat(ctx, client, o); err != nil && ctx.Err() == nil {
			o.Log.Debug("nodes are not kept yet", "error", err)
			wait = firstBeats
		}
		select {
		case <-ctx.Done():
			return
		case <-o.Clock.After(wait):
		}
	}
}

func beat(ctx context.Context, client kubernetes.Interface, o Options) error {
	now := o.Clock.Now()
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: NodeLabel})
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	nodes := list.Items
	for i := range o.Nodes {
		name := fmt.Sprintf("node-%d", i+1)
		if slices.ContainsFunc(nodes, func(n corev1.Node) bool { return n.Name == name }) {
			continue
		}
		node, err := client.CoreV1().Nodes().Create(ctx, newNode(name, i, now), metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("create node %s: %w", name, err)
		}
		nodes = append(nodes, *node)
	}
	for i := range nodes {
		if err := keepNode(ctx, client, &nodes[i], now); err != nil {
			return err
		}
		if err := renewLease(ctx, client, &nodes[i], now); err != nil {
			return err
		}
	}
	return nil
}

// keepNode makes a node ready and removes the taint that every node is born with; there is no node controller to do it.
func keepNode(ctx context.Context, client kubernetes.Interface, node *corev1.Node, now time.Time) error {
	if i := slices.IndexFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeNotReady }); i >= 0 {
		node.Spec.Taints = slices.Delete(node.Spec.Taints, i, i+1)
		updated, err := client.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{})
		if err != nil {
			return fmt.Errorf("untaint node %s: %w", node.Name, err)
		}
		node = updated
	}
	ready := slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue && now.Sub(c.LastHeartbeatTime.Time) < statusAge
	})
	if ready {
		return nil
	}
	node.Status = nodeStatus(node, now)
	if _, err := client.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("update status of node %s: %w", node.Name, err)
	}
	return nil
}

func renewLease(ctx context.Context, client kubernetes.Interface, node *corev1.Node, now time.Time) error {
	leases := client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	lease, err := leases.Get(ctx, node.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = leases.Create(ctx, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: node.Name, OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID,
			}}},
			Spec: coordinationv1.LeaseSpec{
				HolderIdentity: &node.Name, LeaseDurationSeconds: new(int32(leaseDuration.Seconds())), RenewTime: new(metav1.NewMicroTime(now)),
			},
		}, metav1.CreateOptions{})
	} else if err == nil {
		lease.Spec.RenewTime = new(metav1.NewMicroTime(now))
		_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("renew lease of node %s: %w", node.Name, err)
	}
	return nil
}

func newNode(name string, index int, now time.Time) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		NodeLabel:                            "true",
		corev1.LabelHostname:                 name,
		corev1.LabelOSStable:                 "linux",
		corev1.LabelArchStable:               runtime.GOARCH,
		corev1.LabelTopologyRegion:           "playground",
		corev1.LabelTopologyZone:             "playground-" + string(rune('a'+index%3)),
		"node-role.kubernetes.io/playground": "",
	}}}
	node.Status = nodeStatus(node, now)
	return node
}

// nodeStatus is that of a large healthy node, with what is known already kept.
func nodeStatus(node *corev1.Node, now time.Time) corev1.NodeStatus {
	status := *node.Status.DeepCopy()
	if len(status.Capacity) == 0 {
		status.Capacity = corev1.ResourceList{
			corev1.ResourceCPU:              resource.MustParse("64"),
			corev1.ResourceMemory:           resource.MustParse("256Gi"),
			corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"),
			corev1.ResourcePods:             resource.MustParse("1000"),
		}
	}
	if len(status.Allocatable) == 0 {
		status.Allocatable = status.Capacity
	}
	if len(status.Addresses) == 0 {
		status.Addresses = []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: addressOfNode(node.Name)},
			{Type: corev1.NodeHostName, Address: node.Name},
		}
	}
	status.NodeInfo.KubeletVersion = "v1.36.3-playground"
	status.NodeInfo.OperatingSystem, status.NodeInfo.Architecture = "linux", runtime.GOARCH
	status.NodeInfo.OSImage, status.NodeInfo.ContainerRuntimeVersion = "Sluice playground", "simulated://1"
	status.NodeInfo.KernelVersion = "none"
	for _, c := range []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: "the simulated kubelet is ready"},
		{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientMemory", Message: "the simulated node has enough memory"},
		{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasNoDiskPressure", Message: "the simulated node has enough disk space"},
		{Type: corev1.NodePIDPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientPID", Message: "the simulated node has enough process ids"},
	} {
		status.Conditions = setNodeCondition(status.Conditions, c, now)
	}
	return status
}

func setNodeCondition(conditions []corev1.NodeCondition, c corev1.NodeCondition, now time.Time) []corev1.NodeCondition {
	c.LastHeartbeatTime, c.LastTransitionTime = metav1.NewTime(now), metav1.NewTime(now)
	i := slices.IndexFunc(conditions, func(old corev1.NodeCondition) bool { return old.Type == c.Type })
	if i < 0 {
		return append(conditions, c)
	}
	if conditions[i].Status == c.Status {
		c.LastTransitionTime = conditions[i].LastTransitionTime
	}
	conditions[i] = c
	return conditions
}

// addressOfNode makes an address of the documentation's range from a node's name: nothing real answers there.
func addressOfNode(name string) string {
	var n int
	if _, err := fmt.Sscanf(name, "node-%d", &n); err == nil && n > 0 && n <= maxNodes {
		return fmt.Sprintf("192.0.2.%d", n)
	}
	id := digest(name)
	var a, b uint8
	_, _ = fmt.Sscanf(id[:4], "%02x%02x", &a, &b)
	return fmt.Sprintf("198.18.%d.%d", a, b)
}

func nodeIP(node *corev1.Node) string {
	for _, a := range node.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			return a.Address
		}
	}
	return addressOfNode(node.Name)
}

// nodeEvent queues the pods of a node that appeared or changed: they may have been waiting for it.
func (k *kubelet) nodeEvent(node *corev1.Node) {
	pods, err := k.pods.List(everything)
	if err != nil {
		return
	}
	for _, pod := range pods {
		if pod.Spec.NodeName == node.Name && pod.Status.StartTime == nil {
			k.queue.Add(cache.MetaObjectToName(pod))
		}
	}
}
