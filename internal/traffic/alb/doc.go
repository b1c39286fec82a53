// Package alb splits traffic with the AWS Load Balancer Controller: by the forward action in an annotation of an Ingress, to which the
// Ingress refers as if it were a Service.
//
// The Ingress belongs to its author. Sluice writes the action, for each header route an action, its conditions and paths, and a note of
// these keys, which is how they are found again when the Rollout is gone. The annotations have the form that the peer gave them.
//
// What the load balancer itself does is not known here: Forwards says what to ask AWS.
package alb
