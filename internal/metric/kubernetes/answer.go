package kubernetes

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/server"
)

// errNone is the error of an answer without numbers.
var errNone = metric.None("no values found")

// list is what both APIs answer with.
type list struct {
	Items []struct {
		Timestamp metav1.Time `json:"timestamp"`
		// Value is a quantity: "5", "1500m", "12Ki".
		Value *resource.Quantity `json:"value"`
	} `json:"items"`
}

// parse reads the numbers, and the time of the oldest one.
func parse(answer server.Answer) (values []float64, oldest time.Time, err error) {
	var out list
	if err := answer.Decode(&out); err != nil {
		return nil, time.Time{}, err
	}
	for i, item := range out.Items {
		if item.Value == nil {
			return nil, time.Time{}, fmt.Errorf("item %d of the answer has no value", i)
		}
		values = append(values, item.Value.AsApproximateFloat64())
		if at := item.Timestamp.Time; !at.IsZero() && (oldest.IsZero() || at.Before(oldest)) {
			oldest = at
		}
	}
	if len(values) == 0 {
		return nil, time.Time{}, errNone
	}
	return values, oldest, nil
}

// refusal is the error of an answer that is no success, with what to do.
func refusal(answer server.Answer, version string) error {
	var status metav1.Status
	if json.Unmarshal(answer.Body, &status) != nil || status.Kind != "Status" {
		status.Message = ""
	}
	if status.Message != "" {
		answer.Body = []byte(status.Message)
	}
	switch {
	case answer.Status == http.StatusNotFound && status.Message == "":
		return fmt.Errorf("the cluster does not serve %s: install an adapter for it, such as KEDA or prometheus-adapter", version)
	case answer.Status == http.StatusForbidden:
		return fmt.Errorf("%w: grant it, with the Helm value rbac.kubernetesMetrics=true or the kustomize component config/metrics-apis", answer.Refusal())
	}
	return answer.Refusal()
}
