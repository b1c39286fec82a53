package alb

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// The full names are what people put together dimensions of CloudWatch from.
func TestStatus(t *testing.T) {
	for name, c := range map[string]struct {
		arn         string
		balancer    bool
		name, fully string
	}{
		"an application load balancer": {
			"arn:aws:elasticloadbalancing:us-east-2:123456789012:loadbalancer/app/my-load-balancer/50dc6c495c0c9188", true, "my-load-balancer", "my-load-balancer/50dc6c495c0c9188",
		},
		"a network load balancer": {"arn:aws:elasticloadbalancing:us-east-2:123456789012:loadbalancer/net/edge/1234567890123456", true, "edge", "edge/1234567890123456"},
		"in China":                {"arn:aws-cn:elasticloadbalancing:cn-north-1:1:loadbalancer/app/web/1", true, "web", "web/1"},
		"a target group": {
			"arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/my-targets/73e2d6bc24d8a067", false, "my-targets", "my-targets/73e2d6bc24d8a067",
		},
		"a form that is not known":    {"arn:aws:x", false, "", ""},
		"one of another kind":         {"arn:aws:elasticloadbalancing:us-east-2:1:loadbalancer/classic", true, "", ""},
		"a load balancer without one": {"", true, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			arns, want := [3]string{}, v1alpha1.ALBStatus{Ingress: "web"}
			ref := v1alpha1.AwsResourceRef{Name: c.name, ARN: c.arn, FullName: c.fully}
			if c.balancer {
				arns[0], want.LoadBalancer = c.arn, ref
			} else {
				arns[1], arns[2], want.CanaryTargetGroup, want.StableTargetGroup = c.arn, c.arn, ref, ref
			}
			if diff := cmp.Diff(want, Status("web", arns[0], arns[1], arns[2])); diff != "" {
				t.Error(diff)
			}
		})
	}
}
