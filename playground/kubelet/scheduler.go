package kubelet

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// scheduler binds pods to nodes: the loop around place. It chooses for one pod at a time, so that each sees where those before
// it went, even if the cache does not yet; the writes then overlap.
type scheduler struct {
	client  kubernetes.Interface
	pods    corelisters.PodLister
	nodes   corelisters.NodeLister
	queue   queue
	options Options

	choosing sync.Mutex // held from looking at the nodes until the choice is in bound

	mu      sync.Mutex
	bound   map[types.UID]string          // pods bound here, until the cache shows it
	waiting map[cache.ObjectName]struct{} // pods that fitted nowhere
}

func newScheduler(client kubernetes.Interface, pods corelisters.PodLister, nodes corelisters.NodeLister, o Options) *scheduler {
	return &scheduler{
		client: client, pods: pods, nodes: nodes, options: o, queue: newQueue(o.Clock),
		bound: map[types.UID]string{}, waiting: map[cache.ObjectName]struct{}{},
	}
}

// podEvent queues a pod that needs a node, and those that wait whenever a pod has left its own.
func (s *scheduler) podEvent(pod *corev1.Pod, gone bool) {
	if !gone && pod.Spec.NodeName == "" {
		s.queue.Add(cache.MetaObjectToName(pod))
		return
	}
	s.unbind(pod)
	if gone || finished(pod) {
		s.nodeEvent()
	}
}

// nodeEvent queues all that wait: room may have been made.
func (s *scheduler) nodeEvent() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.waiting {
		s.queue.Add(name)
	}
}

// visit finds a node for one pod.
func (s *scheduler) visit(ctx context.Context, name cache.ObjectName) error {
	pod, err := s.pods.Pods(name.Namespace).Get(name.Name)
	if apierrors.IsNotFound(err) {
		s.wait(name, false)
		return nil
	}
	if err != nil {
		return err
	}
	if !s.needsNode(pod) {
		s.wait(name, false)
		return nil
	}
	s.wait(name, true) // Before looking: room that is made from now on must find the pod among those that wait.
	node, problem, err := s.choose(pod)
	if err != nil {
		return err
	}
	if node == "" {
		return s.refuse(ctx, pod, problem)
	}
	return s.bind(ctx, pod, node)
}

// choose finds a node and marks the pod as bound to it.
func (s *scheduler) choose(pod *corev1.Pod) (node, problem string, err error) {
	s.choosing.Lock()
	defer s.choosing.Unlock()
	nodes, bound, err := s.survey()
	if err != nil {
		return "", "", err
	}
	node, problem = place(pod, nodes, bound)
	if node != "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.bound[pod.UID] = node
	}
	return node, problem, nil
}

// needsNode tells whether a pod is this scheduler's to place.
func (s *scheduler) needsNode(pod *corev1.Pod) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	mine := pod.Spec.SchedulerName == "" || pod.Spec.SchedulerName == corev1.DefaultSchedulerName
	return mine && pod.Spec.NodeName == "" && s.bound[pod.UID] == "" &&
		pod.DeletionTimestamp == nil && !finished(pod) && len(pod.Spec.SchedulingGates) == 0
}

// survey is the simulated nodes, and all pods that have a node, with those just bound.
func (s *scheduler) survey() (nodes []*corev1.Node, bound []*corev1.Pod, err error) {
	all, err := s.nodes.List(everything)
	if err != nil {
		return nil, nil, err
	}
	for _, node := range all {
		if isSimulated(node) {
			nodes = append(nodes, node)
		}
	}
	pods, err := s.pods.List(everything)
	if err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, pod := range pods {
		if node := s.bound[pod.UID]; pod.Spec.NodeName == "" && node != "" {
			copied := *pod
			copied.Spec.NodeName = node
			pod = &copied
		}
		if pod.Spec.NodeName != "" {
			bound = append(bound, pod)
		}
	}
	return nodes, bound, nil
}

func (s *scheduler) bind(ctx context.Context, pod *corev1.Pod, node string) error {
	err := s.client.CoreV1().Pods(pod.Namespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	}, metav1.CreateOptions{})
	if err != nil {
		s.unbind(pod)
		return ignoreGone(fmt.Errorf("bind pod %s/%s to %s: %w", pod.Namespace, pod.Name, node, err))
	}
	s.wait(cache.MetaObjectToName(pod), false)
	return nil
}

// refuse says on the pod why it has no node. The pod waits until something changes.
func (s *scheduler) refuse(ctx context.Context, pod *corev1.Pod, problem string) error {
	status := *pod.Status.DeepCopy()
	status.Conditions = setCondition(status.Conditions,
		no(corev1.PodScheduled, corev1.PodReasonUnschedulable, "%s", problem), pod.Generation, s.options.Clock.Now())
	patch, err := statusPatch(pod, status)
	if err != nil || patch == nil {
		return err
	}
	_, err = s.client.CoreV1().Pods(pod.Namespace).
		Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return ignoreGone(fmt.Errorf("patch status of pod %s/%s: %w", pod.Namespace, pod.Name, err))
	}
	return nil
}

// unbind forgets what was chosen for a pod: the cache knows better now, or the write failed.
func (s *scheduler) unbind(pod *corev1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.bound, pod.UID)
}

func (s *scheduler) wait(name cache.ObjectName, waits bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if waits {
		s.waiting[name] = struct{}{}
		return
	}
	delete(s.waiting, name)
}
