package elb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	api "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"golang.org/x/time/rate"
	"k8s.io/utils/clock"
)

const (
	// namesKept, groupsKept and rulesKept are how long load balancers, their target groups, and their rules are believed to be as they were read.
	namesKept, groupsKept, rulesKept = 5 * time.Minute, time.Minute, 5 * time.Second
	// missedKept is how long what was not found is believed to be missing.
	missedKept = 10 * time.Second
	// requestsPerSecond and burst limit what AWS is asked.
	requestsPerSecond, burst = 5, 20
	longestRequest           = 10 * time.Second
	// tagsAtOnce is of how many target groups AWS tells the tags in one answer.
	tagsAtOnce = 20
	// mostBalancers is of how many load balancers something is kept.
	mostBalancers = 1000
	// resourceTag is the tag by which the AWS Load Balancer Controller marks what it makes.
	resourceTag = "ingress.k8s.aws/resource"
)

// Target is a Service to which a load balancer should forward.
type Target struct {
	Service, Port string
	Weight        int32
}

// Question is how the load balancers of an Ingress should forward.
type Question struct {
	Namespace, Ingress string
	// Hosts are the names of its load balancers.
	Hosts   []string
	Targets []Target
}

// Asker asks AWS.
type Asker struct {
	client *api.Client
	clock  clock.PassiveClock
	limit  *rate.Limiter

	mu       sync.Mutex
	names    map[string]string // ARNs of load balancers by their DNS names
	namesAt  time.Time
	balancer map[string]*balancer // by ARN
}

// balancer is what is known of a load balancer.
type balancer struct {
	groups   map[string]string // ARNs of target groups by the tag resourceTag
	groupsAt time.Time
	rules    []types.Rule
	rulesAt  time.Time
}

// New returns an Asker for an account and region.
func New(config sdk.Config, c clock.PassiveClock) *Asker {
	return &Asker{client: api.NewFromConfig(config), clock: c, limit: rate.NewLimiter(requestsPerSecond, burst), balancer: map[string]*balancer{}}
}

// Open returns an Asker with the credentials of the process, which it finds as all programs do that use AWS.
func Open(ctx context.Context, c clock.PassiveClock) (*Asker, error) {
	found, err := config.LoadDefaultConfig(ctx, config.WithHTTPClient(awshttp.NewBuildableClient().WithTimeout(longestRequest)))
	switch {
	case err != nil:
		return nil, fmt.Errorf("configuration of AWS: %w", err)
	case found.Region == "":
		return nil, errors.New("there is no AWS region: set AWS_REGION in the controller's environment")
	}
	return New(found, c), nil
}

// Answer is what AWS says to a [Question].
type Answer struct {
	// Missing is what keeps the load balancers from forwarding as asked, empty if nothing does.
	Missing string
	// Balancer is the ARN of a load balancer, the last one if there are several, and Groups are those of the target groups that it has for
	// Services: empty where one of them is missing.
	Balancer string
	Groups   map[string]string
}

// Forwards says whether load balancers forward as asked, and what they are.
func (a *Asker) Forwards(ctx context.Context, q Question) (answer Answer, err error) {
	for _, host := range q.Hosts {
		answer, err = a.forwardsAt(ctx, host, q)
		if err != nil || answer.Missing != "" {
			return answer, err
		}
	}
	return answer, nil
}

func (a *Asker) forwardsAt(ctx context.Context, host string, q Question) (Answer, error) {
	arn, err := a.arn(ctx, host)
	if err != nil {
		return Answer{}, err
	}
	if arn == "" {
		return Answer{Missing: "AWS to know the load balancer " + host}, nil
	}
	groups, weights := map[string]string{}, map[string]int32{}
	for _, target := range q.Targets {
		tag := fmt.Sprintf("%s/%s-%s:%s", q.Namespace, q.Ingress, target.Service, target.Port)
		group, err := a.group(ctx, arn, tag)
		if err != nil {
			return Answer{}, err
		}
		if group == "" {
			return Answer{Missing: fmt.Sprintf("load balancer %s to have a target group of Service %q and port %s", host, target.Service, target.Port)}, nil
		}
		weights[group], groups[target.Service] = target.Weight, group
	}
	rules, err := a.rules(ctx, arn)
	if err != nil {
		return Answer{}, err
	}
	return Answer{Missing: differs(host, q, weights, rules), Balancer: arn, Groups: groups}, nil
}

// differs compares the rules that forward to the target groups of a question, all of them where there are several: one that leads to the canary
// alone is a header route.
func differs(host string, q Question, weights map[string]int32, rules []types.Rule) string {
	found := false
	for _, rule := range rules {
		for _, action := range rule.Actions {
			if action.ForwardConfig == nil {
				continue
			}
			have := map[string]int32{}
			for _, tuple := range action.ForwardConfig.TargetGroups {
				have[sdk.ToString(tuple.TargetGroupArn)] = sdk.ToInt32(tuple.Weight)
			}
			ours := 0
			for group := range weights {
				if _, there := have[group]; there {
					ours++
				}
			}
			if ours == 0 || ours == 1 && len(weights) > 1 {
				continue
			}
			found = true
			for group, weight := range have {
				if wanted, known := weights[group]; weight != wanted || !known {
					return waitsFor(host, q)
				}
			}
			if len(have) != len(weights) {
				return waitsFor(host, q)
			}
		}
	}
	if !found {
		return waitsFor(host, q)
	}
	return ""
}

func waitsFor(host string, q Question) string {
	var shares []string
	for _, target := range q.Targets {
		shares = append(shares, fmt.Sprintf("%d to Service %q", target.Weight, target.Service))
	}
	return fmt.Sprintf("load balancer %s to forward %s", host, strings.Join(shares, ", "))
}

// arn is the ARN of the load balancer with a DNS name, empty if there is none.
func (a *Asker) arn(ctx context.Context, host string) (string, error) {
	a.mu.Lock()
	arn, age, never := a.names[strings.ToLower(host)], a.clock.Since(a.namesAt), a.names == nil
	a.mu.Unlock()
	if arn != "" && age < namesKept || !never && age < missedKept {
		return arn, nil
	}
	names := map[string]string{}
	for pages := api.NewDescribeLoadBalancersPaginator(a.client, &api.DescribeLoadBalancersInput{}); pages.HasMorePages(); {
		page, err := next(ctx, a, pages.NextPage)
		if err != nil {
			return "", fmt.Errorf("describe load balancers: %w", err)
		}
		for _, lb := range page.LoadBalancers {
			names[strings.ToLower(sdk.ToString(lb.DNSName))] = sdk.ToString(lb.LoadBalancerArn)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.names, a.namesAt = names, a.clock.Now()
	return names[strings.ToLower(host)], nil
}

// of is what is known of a load balancer, a copy.
func (a *Asker) of(arn string) balancer {
	a.mu.Lock()
	defer a.mu.Unlock()
	if b := a.balancer[arn]; b != nil {
		return *b
	}
	return balancer{}
}

func (a *Asker) learn(arn string, edit func(*balancer)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.balancer) >= mostBalancers {
		clear(a.balancer)
	}
	if a.balancer[arn] == nil {
		a.balancer[arn] = &balancer{}
	}
	edit(a.balancer[arn])
}

// group is the ARN of the target group with a tag, empty if there is none.
func (a *Asker) group(ctx context.Context, arn, tag string) (string, error) {
	known := a.of(arn)
	group, age := known.groups[tag], a.clock.Since(known.groupsAt)
	if group != "" && age < groupsKept || known.groups != nil && age < missedKept {
		return group, nil
	}
	var arns []string
	for pages := api.NewDescribeTargetGroupsPaginator(a.client, &api.DescribeTargetGroupsInput{LoadBalancerArn: &arn}); pages.HasMorePages(); {
		page, err := next(ctx, a, pages.NextPage)
		if err != nil {
			return "", fmt.Errorf("describe target groups: %w", err)
		}
		for _, group := range page.TargetGroups {
			arns = append(arns, sdk.ToString(group.TargetGroupArn))
		}
	}
	groups := map[string]string{}
	for some := range slices.Chunk(arns, tagsAtOnce) {
		if err := a.limit.Wait(ctx); err != nil {
			return "", err
		}
		answer, err := a.client.DescribeTags(ctx, &api.DescribeTagsInput{ResourceArns: some})
		if err != nil {
			return "", fmt.Errorf("describe tags: %w", err)
		}
		for _, of := range answer.TagDescriptions {
			for _, t := range of.Tags {
				if sdk.ToString(t.Key) == resourceTag {
					groups[sdk.ToString(t.Value)] = sdk.ToString(of.ResourceArn)
				}
			}
		}
	}
	a.learn(arn, func(b *balancer) { b.groups, b.groupsAt = groups, a.clock.Now() })
	return groups[tag], nil
}

// rules are those of all listeners of a load balancer.
func (a *Asker) rules(ctx context.Context, arn string) ([]types.Rule, error) {
	if known := a.of(arn); known.rulesAt.Add(rulesKept).After(a.clock.Now()) {
		return known.rules, nil
	}
	var all []types.Rule
	for listeners := api.NewDescribeListenersPaginator(a.client, &api.DescribeListenersInput{LoadBalancerArn: &arn}); listeners.HasMorePages(); {
		page, err := next(ctx, a, listeners.NextPage)
		if err != nil {
			return nil, fmt.Errorf("describe listeners: %w", err)
		}
		for _, listener := range page.Listeners {
			for rules := api.NewDescribeRulesPaginator(a.client, &api.DescribeRulesInput{ListenerArn: listener.ListenerArn}); rules.HasMorePages(); {
				page, err := next(ctx, a, rules.NextPage)
				if err != nil {
					return nil, fmt.Errorf("describe rules: %w", err)
				}
				all = append(all, page.Rules...)
			}
		}
	}
	a.learn(arn, func(b *balancer) { b.rules, b.rulesAt = all, a.clock.Now() })
	return all, nil
}

// next asks for a page when it may.
func next[P any](ctx context.Context, a *Asker, ask func(context.Context, ...func(*api.Options)) (P, error)) (page P, err error) {
	if err := a.limit.Wait(ctx); err != nil {
		return page, err
	}
	return ask(ctx)
}
