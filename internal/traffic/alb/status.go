package alb

import (
	"strings"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// Ingresses are the names of those that a Rollout's router writes to, in order.
func Ingresses(ro *v1alpha1.Rollout) []string {
	canary := ro.Spec.Strategy.Canary
	if canary == nil || canary.TrafficRouting == nil || canary.TrafficRouting.ALB == nil {
		return nil
	}
	if a := canary.TrafficRouting.ALB; a.Ingress != "" {
		return []string{a.Ingress}
	}
	return canary.TrafficRouting.ALB.Ingresses
}

// Status is how the status of a Rollout names the load balancer of an Ingress and its target groups, given by their ARNs.
func Status(ingress, balancer, canary, stable string) v1alpha1.ALBStatus {
	return v1alpha1.ALBStatus{
		Ingress: ingress, LoadBalancer: resource(balancer, 2), CanaryTargetGroup: resource(canary, 1), StableTargetGroup: resource(stable, 1),
	}
}

// resource takes the name of a resource from its ARN, which is followed by its ID: behind the slash with a number, counted from one.
func resource(arn string, slash int) v1alpha1.AwsResourceRef {
	parts := strings.Split(arn, "/")
	if len(parts) <= slash {
		return v1alpha1.AwsResourceRef{ARN: arn}
	}
	return v1alpha1.AwsResourceRef{Name: parts[slash], ARN: arn, FullName: strings.Join(parts[slash:], "/")}
}
