package elb_test

import (
	"strings"
	"testing"

	"github.com/sluice-delivery/sluice/internal/elb"
	"github.com/sluice-delivery/sluice/internal/elb/elbtest"
)

// A pod counts when its target group has its address and port, healthy or not. An error of AWS is no answer.
func TestUnregistered(t *testing.T) {
	const arn = "arn:aws:elasticloadbalancing:eu-west-1:1:targetgroup/k8s-shop-web/73e2d6bc24d8a067"
	group := elb.Group{ARN: arn, Service: "web", Addresses: []string{"10.0.0.1:8080", "10.0.0.2:8080"}}
	missing := func(n string) string {
		return `target group k8s-shop-web/73e2d6bc24d8a067 to register the pods of Service "web": ` + n + " of 2 are registered"
	}
	targets := func(all ...string) elbtest.State { return elbtest.State{Targets: map[string][]string{arn: all}} }
	throttled := targets("10.0.0.1:8080", "10.0.0.2:8080")
	throttled.Throttle = 1
	for name, c := range map[string]struct {
		account elbtest.State
		groups  []elb.Group
		want    string
		fails   string
	}{
		"all":                       {account: targets("10.0.0.1:8080", "10.0.0.2:8080"), groups: []elb.Group{group}},
		"in any state":              {account: targets("10.0.0.1:8080 initial", "10.0.0.2:8080 unhealthy"), groups: []elb.Group{group}},
		"and others":                {account: targets("10.0.0.9:8080", "10.0.0.2:8080", "10.0.0.1:8080"), groups: []elb.Group{group}},
		"after a throttled request": {account: throttled, groups: []elb.Group{group}},
		"IPv6":                      {account: targets("[2001:db8::1]:8080"), groups: []elb.Group{{ARN: arn, Service: "web", Addresses: []string{"[2001:db8::1]:8080"}}}},
		"one is missing":            {account: targets("10.0.0.1:8080"), groups: []elb.Group{group}, want: missing("1")},
		"another port":              {account: targets("10.0.0.1:8080", "10.0.0.2:9090"), groups: []elb.Group{group}, want: missing("1")},
		"on the way out":            {account: targets("10.0.0.1:8080 draining", "10.0.0.2:8080"), groups: []elb.Group{group}, want: missing("1")},
		"nobody":                    {account: targets(), groups: []elb.Group{group}, want: missing("0")},
		"the second of two groups":  {account: targets("10.0.0.1:8080", "10.0.0.2:8080"), groups: []elb.Group{group, {ARN: arn, Service: "b", Addresses: []string{"10.0.0.3:8080"}}}, want: `of Service "b": 0 of 1 are`},
		"no such target group":      {account: targets(), groups: []elb.Group{{ARN: "arn:other", Service: "web", Addresses: group.Addresses}}, fails: "TargetGroupNotFound"},
		"no right to ask":           {account: elbtest.State{Broken: true}, groups: []elb.Group{group}, fails: "AccessDenied"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asker, _, _ := start(t, c.account)
			got, err := asker.Unregistered(t.Context(), c.groups)
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) || (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}
