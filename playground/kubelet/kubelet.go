package kubelet

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// kubelet is that of all simulated nodes: the loop around next.
type kubelet struct {
	client    kubernetes.Interface
	pods      corelisters.PodLister
	nodes     corelisters.NodeLister
	queue     queue
	addresses *addresses
	records   records
	options   Options
}

func newKubelet(client kubernetes.Interface, pods corelisters.PodLister, nodes corelisters.NodeLister, o Options) *kubelet {
	return &kubelet{
		client: client, pods: pods, nodes: nodes, options: o, queue: newQueue(o.Clock),
		addresses: newAddresses(o.PodCIDR),
		records:   records{byID: map[cache.ObjectName]*record{}},
	}
}

// keepAddresses marks the addresses of the pods that are there at the start, before any new one gets its own.
func (k *kubelet) keepAddresses(pods []*corev1.Pod) {
	for _, pod := range pods {
		if r, _ := k.records.of(pod); k.addresses.keep(pod.Status.PodIP, pod.UID) {
			r.ip = pod.Status.PodIP
		}
	}
}

// visit looks at one pod, does what next decides, and asks to be woken.
func (k *kubelet) visit(ctx context.Context, name cache.ObjectName) error {
	pod, err := k.pods.Pods(name.Namespace).Get(name.Name)
	if apierrors.IsNotFound(err) {
		k.forget(k.records.drop(name))
		return nil
	}
	if err != nil {
		return err
	}
	node, err := k.nodes.Get(pod.Spec.NodeName)
	if apierrors.IsNotFound(err) || err == nil && !isSimulated(node) {
		return nil // No node of ours. Should one of that name appear, its pods are queued again.
	}
	if err != nil {
		return err
	}
	s, r, err := k.sight(pod, node)
	if err != nil {
		return err
	}
	now := k.options.Clock.Now()
	d := next(s, now, k.options)
	if err := k.serve(s, d.status, now); err != nil {
		return err
	}
	if err := k.record(ctx, r, d.status); err != nil {
		return ignoreGone(err)
	}
	if d.remove {
		return ignoreGone(k.remove(ctx, r.stored))
	}
	if !d.wake.IsZero() {
		k.queue.AddAfter(name, d.wake.Sub(now))
	}
	return nil
}

// sight gathers what next needs to see. A pod gets its address here, and keeps it for good.
func (k *kubelet) sight(pod *corev1.Pod, node *corev1.Node) (sighting, *record, error) {
	r, former := k.records.of(pod)
	k.forget(former)
	hostIP := nodeIP(node)
	switch {
	case r.ip != "":
	case pod.Spec.HostNetwork:
		r.ip = hostIP
	case !finished(pod):
		ip, err := k.addresses.take(pod.UID)
		if err != nil {
			return sighting{}, r, err
		}
		r.ip = ip
	}
	s := r.sight(pod, k.options.Clock.Now())
	s.hostIP = hostIP
	return s, r, nil
}

func (k *kubelet) forget(r *record) {
	if r != nil && k.options.Serve != nil {
		k.options.Serve.KillPod(string(r.uid))
	}
	if r != nil {
		k.addresses.free(r.ip, r.uid)
	}
}

// record writes the status, if it differs from what the API server has. The patch is for this very pod: one of the same name
// that took its place is a conflict.
func (k *kubelet) record(ctx context.Context, r *record, status corev1.PodStatus) error {
	pod := r.stored
	patch, err := statusPatch(pod, status)
	if err != nil {
		return fmt.Errorf("compare status of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	if patch != nil {
		stored, err := k.client.CoreV1().Pods(pod.Namespace).
			Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
		if err != nil {
			return fmt.Errorf("patch status of pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
		k.options.Log.Debug("pod", "name", pod.Namespace+"/"+pod.Name, "phase", status.Phase,
			"ready", statusOf(status.Conditions, corev1.PodReady))
		r.stored = stored
	}
	r.exact = &status
	return nil
}

// statusPatch is the strategic merge patch from a pod's status to another; nil if they are the same to the API.
func statusPatch(pod *corev1.Pod, status corev1.PodStatus) ([]byte, error) {
	before, err := json.Marshal(corev1.Pod{Status: pod.Status})
	if err != nil {
		return nil, err
	}
	after, err := json.Marshal(corev1.Pod{Status: status})
	if err != nil {
		return nil, err
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(before, after, corev1.Pod{})
	if err != nil || string(patch) == "{}" {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(patch, &fields); err != nil {
		return nil, err
	}
	fields["metadata"] = map[string]any{"uid": pod.UID}
	return json.Marshal(fields)
}

// remove deletes the object of a pod that has ended.
func (k *kubelet) remove(ctx context.Context, pod *corev1.Pod) error {
	err := k.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: new(int64(0)),
		Preconditions:      &metav1.Preconditions{UID: &pod.UID},
	})
	if err != nil {
		return fmt.Errorf("remove pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}

// ignoreGone drops the errors of a pod that is gone or was replaced: its event is on the way.
func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
