package elb

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	api "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// Group is a target group, and what should be registered in it.
type Group struct {
	ARN     string
	Service string
	// Addresses are those of pods, as HOST:PORT.
	Addresses []string
}

// Unregistered says which target groups lack addresses, empty if none does. A target that AWS is deregistering is not registered. Whether the others
// are healthy does not matter: readiness gates of pods see to that.
func (a *Asker) Unregistered(ctx context.Context, groups []Group) (string, error) {
	for _, g := range groups {
		have, err := a.targets(ctx, g.ARN)
		if err != nil {
			return "", err
		}
		registered := 0
		for _, address := range g.Addresses {
			if have[address] {
				registered++
			}
		}
		if registered < len(g.Addresses) {
			return fmt.Sprintf("target group %s to register the pods of Service %q: %d of %d are registered", groupName(g.ARN), g.Service, registered, len(g.Addresses)), nil
		}
	}
	return "", nil
}

// targets are the addresses that are registered in a target group.
func (a *Asker) targets(ctx context.Context, arn string) (map[string]bool, error) {
	if err := a.limit.Wait(ctx); err != nil {
		return nil, err
	}
	answer, err := a.client.DescribeTargetHealth(ctx, &api.DescribeTargetHealthInput{TargetGroupArn: &arn}) // which has no pages
	if err != nil {
		return nil, fmt.Errorf("describe target health: %w", err)
	}
	have := map[string]bool{}
	for _, d := range answer.TargetHealthDescriptions {
		if d.Target == nil || d.TargetHealth != nil && d.TargetHealth.State == types.TargetHealthStateEnumDraining {
			continue
		}
		have[net.JoinHostPort(sdk.ToString(d.Target.Id), strconv.Itoa(int(sdk.ToInt32(d.Target.Port))))] = true
	}
	return have, nil
}

// groupName is NAME/ID from an ARN, or the ARN if it has another form.
func groupName(arn string) string {
	if _, name, ok := strings.Cut(arn, ":targetgroup/"); ok {
		return name
	}
	return arn
}
