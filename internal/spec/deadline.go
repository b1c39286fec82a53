package spec

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// ScaleDownDeadline is when a ReplicaSet may lose its pods, zero if it has no deadline. The annotation is wire format.
func ScaleDownDeadline(rs *appsv1.ReplicaSet) time.Time {
	t, err := time.Parse(time.RFC3339, rs.Annotations[v1alpha1.ScaleDownDeadlineAnnotation])
	if err != nil {
		return time.Time{} // none, or not one that anybody could keep: it gets a new one
	}
	return t
}
