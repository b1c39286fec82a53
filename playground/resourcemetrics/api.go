package resourcemetrics

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/sluice-delivery/sluice/playground/serve"
)

// Usage is how many processors a container needs, and whether that is known. *serve.Pods has it.
type Usage interface {
	Usage(container serve.Key, at time.Time) (processors float64, known bool)
}

// What a container that only exists needs.
var (
	idle   = resource.MustParse("1m")
	memory = resource.MustParse("16Mi")
)

// api answers requests for metrics by listing pods: what asks is one autoscaler every few seconds, and people.
type api struct {
	client kubernetes.Interface
	usage  Usage
	now    func() time.Time
}

const root = "/apis/metrics.k8s.io"

func (a *api) handler() http.Handler {
	routes := http.NewServeMux()
	for path, answer := range map[string]func(context.Context, *http.Request) (any, error){
		root:                                   a.group,
		root + "/v1beta1":                      a.resources,
		root + "/v1beta1/pods":                 a.pods,
		root + "/v1beta1/namespaces/{ns}/pods": a.pods,
		root + "/v1beta1/namespaces/{ns}/pods/{name}": a.pod,
		root + "/v1beta1/nodes":                       a.nodes,
		root + "/v1beta1/nodes/{name}":                a.node,
	} {
		routes.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			body, err := answer(r.Context(), r)
			write(w, body, err)
		})
	}
	return routes
}

// write sends an answer, or an error as the API server does.
func write(w http.ResponseWriter, body any, err error) {
	code := http.StatusOK
	if err != nil {
		var status apierrors.APIStatus
		if !errors.As(err, &status) {
			status = apierrors.NewInternalError(err)
		}
		s := status.Status()
		s.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
		body, code = s, int(s.Code)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // the client may be gone
}

var version = metav1.GroupVersionForDiscovery{GroupVersion: metricsv1beta1.SchemeGroupVersion.String(), Version: "v1beta1"}

func (*api) group(context.Context, *http.Request) (any, error) {
	return metav1.APIGroup{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}, Name: metricsv1beta1.GroupName,
		Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version,
	}, nil
}

func (*api) resources(context.Context, *http.Request) (any, error) {
	verbs := metav1.Verbs{"get", "list"}
	return metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: version.GroupVersion,
		APIResources: []metav1.APIResource{
			{Name: "nodes", SingularName: "node", Kind: "NodeMetrics", Verbs: verbs},
			{Name: "pods", SingularName: "pod", Kind: "PodMetrics", Namespaced: true, Verbs: verbs},
		},
	}, nil
}

func typeMeta(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{Kind: kind, APIVersion: version.GroupVersion}
}

func (a *api) pods(ctx context.Context, r *http.Request) (any, error) {
	query := r.URL.Query()
	options := metav1.ListOptions{LabelSelector: query.Get("labelSelector"), FieldSelector: query.Get("fieldSelector")}
	all, err := a.client.CoreV1().Pods(r.PathValue("ns")).List(ctx, options)
	if err != nil {
		return nil, err
	}
	list := metricsv1beta1.PodMetricsList{TypeMeta: typeMeta("PodMetricsList"), Items: []metricsv1beta1.PodMetrics{}}
	for _, pod := range all.Items {
		if m, running := a.podMetrics(&pod); running {
			list.Items = append(list.Items, m)
		}
	}
	return list, nil
}

func (a *api) pod(ctx context.Context, r *http.Request) (any, error) {
	pod, err := a.client.CoreV1().Pods(r.PathValue("ns")).Get(ctx, r.PathValue("name"), metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	m, running := a.podMetrics(pod)
	if !running {
		return nil, apierrors.NewNotFound(metricsv1beta1.Resource("pods"), pod.Name)
	}
	return m, nil
}

// podMetrics reports false for a pod that does not run: it has no metrics.
func (a *api) podMetrics(pod *corev1.Pod) (m metricsv1beta1.PodMetrics, running bool) {
	now := a.now()
	m = metricsv1beta1.PodMetrics{
		TypeMeta:   typeMeta("PodMetrics"),
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, Labels: pod.Labels, CreationTimestamp: metav1.NewTime(now)},
		Timestamp:  metav1.NewTime(now), Window: metav1.Duration{Duration: serve.Window}, Containers: []metricsv1beta1.ContainerMetrics{},
	}
	for _, c := range pod.Status.ContainerStatuses {
		if c.State.Running == nil {
			continue
		}
		cpu := idle
		if n, known := a.usage.Usage(serve.Key{Pod: string(pod.UID), Container: c.ContainerID}, now); known {
			cpu = *resource.NewScaledQuantity(int64(n*1e9), resource.Nano)
		}
		m.Containers = append(m.Containers, metricsv1beta1.ContainerMetrics{
			Name: c.Name, Usage: corev1.ResourceList{corev1.ResourceCPU: cpu, corev1.ResourceMemory: memory},
		})
	}
	return m, len(m.Containers) > 0
}

func (a *api) nodes(ctx context.Context, r *http.Request) (any, error) {
	all, err := a.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: r.URL.Query().Get("labelSelector")})
	if err != nil {
		return nil, err
	}
	list := metricsv1beta1.NodeMetricsList{TypeMeta: typeMeta("NodeMetricsList"), Items: []metricsv1beta1.NodeMetrics{}}
	for _, node := range all.Items {
		m, err := a.nodeMetrics(ctx, &node)
		if err != nil {
			return nil, err
		}
		list.Items = append(list.Items, m)
	}
	return list, nil
}

func (a *api) node(ctx context.Context, r *http.Request) (any, error) {
	node, err := a.client.CoreV1().Nodes().Get(ctx, r.PathValue("name"), metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return a.nodeMetrics(ctx, node)
}

// nodeMetrics are the sums of a node's pods.
func (a *api) nodeMetrics(ctx context.Context, node *corev1.Node) (m metricsv1beta1.NodeMetrics, err error) {
	now := a.now()
	pods, err := a.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node.Name})
	if err != nil {
		return m, fmt.Errorf("pods of node %s: %w", node.Name, err)
	}
	var cpu, used resource.Quantity
	for _, pod := range pods.Items {
		p, _ := a.podMetrics(&pod)
		for _, c := range p.Containers {
			cpu.Add(c.Usage[corev1.ResourceCPU])
			used.Add(c.Usage[corev1.ResourceMemory])
		}
	}
	return metricsv1beta1.NodeMetrics{
		TypeMeta:   typeMeta("NodeMetrics"),
		ObjectMeta: metav1.ObjectMeta{Name: node.Name, Labels: node.Labels, CreationTimestamp: metav1.NewTime(now)},
		Timestamp:  metav1.NewTime(now), Window: metav1.Duration{Duration: serve.Window},
		Usage: corev1.ResourceList{corev1.ResourceCPU: cpu, corev1.ResourceMemory: used},
	}, nil
}
