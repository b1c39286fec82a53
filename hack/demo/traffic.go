//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// The requests that people would send, if the pods were real.
const (
	// eachTick is how many requests a pod that is ready serves between two looks at the pods.
	eachTick = 5
	tick     = 250 * time.Millisecond
	// faultyTag is that of the image whose pods answer faultyPercent of the requests with an error.
	faultyTag     = "1.16.0"
	faultyPercent = 30
)

// traffic counts requests to the pods of the demo's Rollout and shows the counters to Prometheus, until ctx ends. It writes its own
// address to out.
func traffic(ctx context.Context, kubeconfig string, out io.Writer) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	c := &counters{requests: map[series]float64{}}
	server := &http.Server{Handler: c, ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(listener) }() // it ends with Close
	defer server.Close()                       //nolint:errcheck // the program ends
	fmt.Fprintln(out, listener.Addr())         //nolint:errcheck // the process that waits for it finds out

	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		}
		pods, err := client.Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace("default").
			List(ctx, metav1.ListOptions{LabelSelector: v1alpha1.PodTemplateHashLabel})
		if err != nil {
			continue // the cluster is about to end, or busy
		}
		for i := range pods.Items {
			var pod corev1.Pod
			if runtime.DefaultUnstructuredConverter.FromUnstructured(pods.Items[i].Object, &pod) == nil {
				c.serve(&pod)
			}
		}
	}
}

// series are the labels of a counter.
type series struct{ version, code string }

type counters struct {
	mu       sync.Mutex
	requests map[series]float64
}

// serve has a pod answer requests, if it is ready.
func (c *counters) serve(pod *corev1.Pod) {
	ready := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
	if !ready || pod.DeletionTimestamp != nil || len(pod.Spec.Containers) == 0 {
		return
	}
	bad := 0.0
	if strings.HasSuffix(pod.Spec.Containers[0].Image, ":"+faultyTag) {
		bad = eachTick * faultyPercent / 100.0
	}
	version := pod.Labels[v1alpha1.PodTemplateHashLabel]
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests[series{version, "200"}] += eachTick - bad
	c.requests[series{version, "500"}] += bad
}

// ServeHTTP shows the counters as Prometheus reads them.
func (c *counters) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	order := func(a, b series) int { return strings.Compare(a.version+a.code, b.version+b.code) }
	for _, s := range slices.SortedFunc(maps.Keys(c.requests), order) {
		fmt.Fprintf(w, "http_requests_total{version=%q,code=%q} %g\n", s.version, s.code, c.requests[s]) //nolint:errcheck // Prometheus asks again
	}
}
