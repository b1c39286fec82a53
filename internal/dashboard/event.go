package dashboard

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/clean"
)

// announce writes an event that says who did what, and returns what the person should know if it cannot be written. People need no right to
// write events; the dashboard has it. The audit log of the API server has the person's name in any case.
func (s *Server) announce(ctx context.Context, p *person, ro *v1alpha1.Rollout, a action) string {
	if p.own {
		return ""
	}
	now := metav1.NewTime(s.Clock.Now())
	event := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: ro.Namespace, Name: fmt.Sprintf("%s.%x", ro.Name, now.UnixNano())},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "Rollout", Namespace: ro.Namespace, Name: ro.Name, UID: ro.UID, ResourceVersion: ro.ResourceVersion,
		},
		Reason: v1alpha1.EventUserAction, Message: clean.Text(a.Past + " by " + p.Name), Type: corev1.EventTypeNormal,
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
		Source: corev1.EventSource{Component: "sluice-dashboard"}, ReportingController: "sluice-dashboard",
	}
	if err := s.Client.WriteEvent(ctx, event); err != nil {
		return " No event could be written: " + err.Error()
	}
	return ""
}
