//go:build linux

package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/hack/traffic/plane"
)

// answered is how many requests the pods of a version have answered, by their own metrics.
func (a *arena) answered(ctx context.Context, version string) (sum int, err error) {
	var list corev1.PodList
	if err := a.client.List(ctx, &list, client.InNamespace(a.namespace)); err != nil {
		return 0, err
	}
	for _, pod := range list.Items {
		if !strings.HasSuffix(pod.Spec.Containers[0].Image, ":"+version) || pod.Status.Phase != corev1.PodRunning {
			continue
		}
		n, err := requestsOf(ctx, pod.Status.PodIP)
		if err != nil {
			return 0, fmt.Errorf("metrics of pod %s: %w", pod.Name, err)
		}
		sum += n
	}
	return sum, nil
}

// requestsOf is http_requests_total of a pod.
func requestsOf(ctx context.Context, ip string) (int, error) {
	address, ok := plane.Loopback(ip)
	if !ok {
		return 0, fmt.Errorf("%q is not an IPv4 address of the playground", ip)
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address.String()+":8080/metrics", nil)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close() //nolint:errcheck // it was read to its end, or there is an error already
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(response.Body)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for _, m := range families["http_requests_total"].GetMetric() {
		sum += m.GetCounter().GetValue()
	}
	return int(sum), nil
}
