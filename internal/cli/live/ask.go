package live

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

var (
	events                   = corev1.SchemeGroupVersion.WithResource("events")
	selfReviews              = authenticationv1.SchemeGroupVersion.WithResource("selfsubjectreviews")
	selfSubjectReviews       = authorizationv1.SchemeGroupVersion.WithResource("selfsubjectaccessreviews")
	eventsAtOnce       int64 = 200
)

// Events reads the events of an object, the newest first.
func (c Client) Events(ctx context.Context, uid types.UID) ([]*corev1.Event, error) {
	found, err := listed[corev1.Event](ctx, c, events, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("involvedObject.uid", string(uid)).String(), Limit: eventsAtOnce,
	})
	slices.SortStableFunc(found, func(a, b *corev1.Event) int { return EventTime(b).Compare(EventTime(a).Time) })
	return found, err
}

// EventTime is when an event happened last. Which field says so depends on who wrote it.
func EventTime(e *corev1.Event) metav1.Time {
	switch {
	case e.Series != nil && !e.Series.LastObservedTime.IsZero():
		return metav1.NewTime(e.Series.LastObservedTime.Time)
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp
	case !e.EventTime.IsZero():
		return metav1.NewTime(e.EventTime.Time)
	}
	return e.CreationTimestamp
}

// May asks the API server whether one may do something with Rollouts, or with a subresource of them. Why is its reason if one may not.
func (c Client) May(ctx context.Context, verb, subresource string) (allowed bool, why string, err error) {
	allowed, why, err = c.review(ctx, authorizationv1.ResourceAttributes{Verb: verb, Group: Rollouts.Group, Resource: Rollouts.Resource, Subresource: subresource})
	return allowed, cmp.Or(why, "RBAC allows no role of yours to "+verb+" rollouts here"), err
}

// MayList asks the API server whether one may list a resource.
func (c Client) MayList(ctx context.Context, resource schema.GroupVersionResource) (bool, error) {
	allowed, _, err := c.review(ctx, authorizationv1.ResourceAttributes{Verb: "list", Group: resource.Group, Resource: resource.Resource})
	return allowed, err
}

func (c Client) review(ctx context.Context, what authorizationv1.ResourceAttributes) (allowed bool, why string, err error) {
	what.Namespace = c.Namespace
	review := &authorizationv1.SelfSubjectAccessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: authorizationv1.SchemeGroupVersion.String(), Kind: "SelfSubjectAccessReview"},
		Spec:     authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &what},
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(review)
	if err != nil {
		return false, "", err
	}
	answer, err := c.Resource(selfSubjectReviews).Create(ctx, &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
	if err != nil {
		return false, "", err
	}
	answered, err := typed[authorizationv1.SelfSubjectAccessReview](answer)
	if err != nil {
		return false, "", err
	}
	return answered.Status.Allowed, answered.Status.Reason, nil
}

// Everywhere is the client for all namespaces if one may list Rollouts there, and otherwise for its own.
func (c Client) Everywhere(ctx context.Context) (Client, error) {
	all := c
	all.Namespace = ""
	_, err := all.Rollouts().List(ctx, metav1.ListOptions{Limit: 1})
	if apierrors.IsForbidden(err) {
		return c, nil
	}
	return all, err
}

// Whoami is what the API server calls the one who asks, empty for someone who is not logged in.
func (c Client) Whoami(ctx context.Context) (string, error) {
	ask := &unstructured.Unstructured{Object: map[string]any{"apiVersion": authenticationv1.SchemeGroupVersion.String(), "kind": "SelfSubjectReview"}}
	answer, err := c.Resource(selfReviews).Create(ctx, ask, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	review, err := typed[authenticationv1.SelfSubjectReview](answer)
	if err != nil || review.Status.UserInfo.Username == "system:anonymous" {
		return "", err
	}
	return review.Status.UserInfo.Username, nil
}

// UserAction is the event that says who did what to a Rollout.
func UserAction(ro *v1alpha1.Rollout, did, who, component string, at time.Time) *corev1.Event {
	now := metav1.NewTime(at)
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: ro.Namespace, Name: fmt.Sprintf("%s.%x", ro.Name, now.UnixNano())},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "Rollout", Namespace: ro.Namespace, Name: ro.Name, UID: ro.UID, ResourceVersion: ro.ResourceVersion,
		},
		Reason: v1alpha1.EventUserAction, Message: did + " by " + who, Type: corev1.EventTypeNormal,
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
		Source: corev1.EventSource{Component: component}, ReportingController: component,
	}
}

// WriteEvent creates an event in its namespace.
func (c Client) WriteEvent(ctx context.Context, event *corev1.Event) error {
	event.TypeMeta = metav1.TypeMeta{APIVersion: corev1.SchemeGroupVersion.String(), Kind: "Event"}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(event)
	if err != nil {
		return err
	}
	_, err = c.Resource(events).Namespace(event.Namespace).Create(ctx, &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
	return err
}
