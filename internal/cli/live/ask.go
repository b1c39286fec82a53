package live

import (
	"cmp"
	"context"
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

var (
	events                   = corev1.SchemeGroupVersion.WithResource("events")
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
	review := &authorizationv1.SelfSubjectAccessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: authorizationv1.SchemeGroupVersion.String(), Kind: "SelfSubjectAccessReview"},
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: c.Namespace, Verb: verb, Group: Rollouts.Group, Resource: Rollouts.Resource, Subresource: subresource,
		}},
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
	return answered.Status.Allowed, cmp.Or(answered.Status.Reason, "RBAC allows no role of yours to "+verb+" rollouts here"), nil
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
