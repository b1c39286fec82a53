package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/sluice-delivery/sluice/internal/clean"
	"github.com/sluice-delivery/sluice/internal/elb"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/alb"
)

const (
	// balancerAgain is when AWS is asked again, and how long its confirmation counts. balancerLooks is when a reconcile looks for its answer.
	balancerAgain, balancerLooks = 10 * time.Second, time.Second
	// longestQuestion is how long a question may take, mostQuestions how many there are at once, and mostHosts of how many load balancers one is.
	longestQuestion, mostQuestions, mostHosts = 30 * time.Second, 4, 8
	// longestMissing is how much of an error of AWS is shown.
	longestMissing = 1024
)

// Balancers is asked how the load balancers of an Ingress forward, and whether pods are registered in target groups. It says what is missing, if
// anything is.
type Balancers interface {
	Forwards(ctx context.Context, q elb.Question) (elb.Answer, error)
	Unregistered(ctx context.Context, groups []elb.Group) (string, error)
}

// balancers are questions to AWS, and their answers. No worker waits for AWS: it is asked aside.
type balancers struct {
	aws   Balancers
	clock clock.PassiveClock
	start func(func())

	mu    sync.Mutex
	asked int
	known map[types.NamespacedName]map[string]*balance
}

// targetsKey is where the answer about target groups is kept, among those about Ingresses, which have names.
const targetsKey = ""

// balance is the answer to a question about one Ingress of a Rollout, or about its target groups.
type balance struct {
	question string
	pending  bool
	// at is when the answer came: confirmed, or what is missing.
	at        time.Time
	confirmed bool
	missing   string
	// told is set when an event has said what is missing.
	told bool
	// found is the last answer that named the load balancer, whatever was asked.
	found elb.Answer
}

// standing is what AWS says about an Ingress, as far as it is known, and when to ask again. Whatever AWS does not say is not in force.
func (b *balancers) standing(rollout types.NamespacedName, object *unstructured.Unstructured) (traffic.Standing, time.Duration) {
	to, hosts, ok := alb.Forwards(object, rollout.Name)
	if !ok {
		return traffic.Standing{}, 0
	}
	if len(hosts) == 0 || len(hosts) > mostHosts {
		return traffic.Standing{Awaited: fmt.Sprintf("Ingress %q to have between 1 and %d load balancers with a hostname", object.GetName(), mostHosts)}, balancerAgain
	}
	q := elb.Question{Namespace: object.GetNamespace(), Ingress: object.GetName(), Hosts: hosts}
	for _, f := range to {
		q.Targets = append(q.Targets, elb.Target{Service: f.Service, Port: f.Port, Weight: int32(min(max(f.Weight, 0), 999))}) //nolint:gosec // AWS' own range
	}
	missing, again := b.ask(rollout, object.GetName(), fmt.Sprintf("AWS to confirm the weights of Ingress %q", object.GetName()), q,
		func(ctx context.Context) (elb.Answer, error) { return b.aws.Forwards(ctx, q) })
	return traffic.Standing{Awaited: missing}, again
}

// registered is what AWS says about who is registered in target groups, as far as it is known, and when to ask again.
func (b *balancers) registered(rollout types.NamespacedName, groups []elb.Group) (string, time.Duration) {
	return b.ask(rollout, targetsKey, "AWS to confirm that pods are registered in their target groups", groups,
		func(ctx context.Context) (elb.Answer, error) {
			missing, err := b.aws.Unregistered(ctx, groups)
			return elb.Answer{Missing: missing}, err
		})
}

// ask returns what is missing and when to ask again: nothing and never, if AWS has confirmed what the question says, and not long ago.
func (b *balancers) ask(rollout types.NamespacedName, key, unanswered string, question any, aws func(context.Context) (elb.Answer, error)) (string, time.Duration) {
	text, err := json.Marshal(question)
	if err != nil {
		return err.Error(), balancerAgain
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	one := b.of(rollout, key)
	if one.question != string(text) {
		*one = balance{question: string(text), missing: unanswered, told: one.told, found: one.found}
	}
	fresh := !one.at.IsZero() && b.clock.Since(one.at) < balancerAgain
	if fresh && one.confirmed {
		return "", 0
	}
	if !fresh && !one.pending && b.asked < mostQuestions {
		one.pending = true
		b.asked++
		b.start(func() { b.carryOut(rollout, key, string(text), aws) })
	}
	if one.pending || !fresh {
		return one.missing, balancerLooks
	}
	return one.missing, balancerAgain
}

// tell reports whether an event should say what is missing: once, until it has been confirmed.
func (b *balancers) tell(rollout types.NamespacedName, key string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	one := b.of(rollout, key)
	told := one.told
	one.told = true
	return !told
}

func (b *balancers) of(rollout types.NamespacedName, key string) *balance {
	if b.known[rollout] == nil {
		b.known[rollout] = map[string]*balance{}
	}
	if b.known[rollout][key] == nil {
		b.known[rollout][key] = &balance{}
	}
	return b.known[rollout][key]
}

func (b *balancers) carryOut(rollout types.NamespacedName, key, question string, aws func(context.Context) (elb.Answer, error)) {
	ctx, cancel := context.WithTimeout(context.Background(), longestQuestion)
	defer cancel()
	answer, err := elb.Answer{}, errBroken
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.asked--
		one := b.known[rollout][key]
		if one == nil || one.question != question {
			return
		}
		one.pending, one.at, one.confirmed, one.missing = false, b.clock.Now(), err == nil && answer.Missing == "", answer.Missing
		one.told = one.told && !one.confirmed
		if err == nil && answer.Balancer != "" {
			one.found = answer
		}
		if err != nil {
			text := "AWS to answer: " + clean.Text(err.Error())
			one.missing = strings.ToValidUTF8(text[:min(len(text), longestMissing)], "…")
		}
	}()
	answer, err = aws(ctx)
}

// keep forgets what is known of Ingresses that a Rollout names no more; without any it forgets the Rollout.
func (b *balancers) keep(rollout types.NamespacedName, ingresses map[string]bool) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for name := range b.known[rollout] {
		if !ingresses[name] && (name != targetsKey || ingresses == nil) {
			delete(b.known[rollout], name)
		}
	}
	if len(b.known[rollout]) == 0 {
		delete(b.known, rollout)
	}
}
