package kubelet

import (
	"encoding/json"
	"errors"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	core "k8s.io/client-go/testing"
)

var (
	podResource  = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	nodeResource = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
)

func (w *world) create(pod *corev1.Pod) {
	w.t.Helper()
	if _, err := w.client.CoreV1().Pods(pod.Namespace).Create(w.t.Context(), pod, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) pod(name string) *corev1.Pod {
	w.t.Helper()
	pod, err := w.client.CoreV1().Pods("default").Get(w.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return pod
}

// delete does what the API server would: the object stays while there is a grace period.
func (w *world) delete(name string, grace int64) {
	w.t.Helper()
	if grace == 0 {
		if err := w.client.Tracker().Delete(podResource, "default", name); err != nil {
			w.t.Fatal(err)
		}
		return
	}
	pod := w.pod(name)
	pod.DeletionTimestamp = &metav1.Time{Time: time.Now().Add(time.Duration(grace) * time.Second).Truncate(time.Second)}
	pod.DeletionGracePeriodSeconds = &grace
	w.put(pod)
}

func (w *world) expect(name, want string) {
	w.t.Helper()
	if got := describe(w.pod(name)); got != want {
		w.t.Errorf("pod %s is %q, want %q", name, got, want)
	}
}

func (w *world) expectGone(name string) {
	w.t.Helper()
	pod, err := w.client.CoreV1().Pods("default").Get(w.t.Context(), name, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		w.t.Errorf("pod %s is still there: %s, error %v", name, describe(pod), err)
	}
}

// put stores a pod under a new resource version, which the clientset in memory does not give by itself.
func (w *world) put(pod *corev1.Pod) {
	w.t.Helper()
	pod.ResourceVersion = strconv.FormatInt(w.version.Add(1), 10)
	if err := w.client.Tracker().Update(podResource, pod, pod.Namespace); err != nil {
		w.t.Error(err)
	}
}

func (w *world) stored(namespace, name string) (*corev1.Pod, error) {
	object, err := w.client.Tracker().Get(podResource, namespace, name)
	if err != nil {
		return nil, err
	}
	return object.(*corev1.Pod).DeepCopy(), nil
}

// bind is the binding subresource, which the clientset in memory lacks.
func (w *world) bind(action core.Action) (bool, runtime.Object, error) {
	if action.GetSubresource() != "binding" {
		return false, nil, nil
	}
	binding := action.(core.CreateAction).GetObject().(*corev1.Binding)
	pod, err := w.stored(action.GetNamespace(), binding.Name)
	if err != nil {
		return true, nil, err
	}
	pod.Spec.NodeName = binding.Target.Name
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}}
	w.put(pod)
	return true, binding, nil
}

// patch applies a patch of the status as the API server does.
func (w *world) patch(action core.Action) (bool, runtime.Object, error) {
	p := action.(core.PatchAction)
	pod, err := w.stored(p.GetNamespace(), p.GetName())
	if err != nil {
		return true, nil, err
	}
	before, err := json.Marshal(pod)
	if err != nil {
		return true, nil, err
	}
	after, err := strategicpatch.StrategicMergePatch(before, p.GetPatch(), corev1.Pod{})
	if err != nil {
		return true, nil, err
	}
	patched := &corev1.Pod{}
	if err := json.Unmarshal(after, patched); err != nil {
		return true, nil, err
	}
	if patched.UID != pod.UID {
		return true, nil, apierrors.NewConflict(podResource.GroupResource(), pod.Name, errors.New("precondition failed: UID"))
	}
	w.put(patched)
	return true, patched, nil
}

// writes counts what the loop wrote to pods.
func (w *world) writes() int {
	n := 0
	for _, action := range w.client.Actions() {
		ofTheLoop := action.Matches("patch", "pods/status") || action.Matches("create", "pods/binding") || action.Matches("delete", "pods")
		if ofTheLoop {
			n++
		}
	}
	return n
}

// taint is the admission plugin that has every node begin as not ready.
func (w *world) taint(action core.Action) (bool, runtime.Object, error) {
	node := action.(core.CreateAction).GetObject().(*corev1.Node)
	node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule})
	return true, node, w.client.Tracker().Create(nodeResource, node, "")
}

func unbound(p *corev1.Pod) { p.Spec.NodeName = "" }

func named(name string) quirk {
	return func(p *corev1.Pod) { p.Name, p.UID = name, types.UID("uid-of-"+name) }
}
