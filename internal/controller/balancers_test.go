package controller

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/elb"
	"github.com/sluice-delivery/sluice/internal/elb/elbtest"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/telemetry"
	"github.com/sluice-delivery/sluice/internal/traffic/alb"
)

var rolloutKey = types.NamespacedName{Namespace: "shop", Name: "web"}

// scriptedAWS answers as it is told.
type scriptedAWS struct {
	asked   []elb.Question
	missing string
	err     error
}

func (s *scriptedAWS) Forwards(_ context.Context, q elb.Question) (elb.Answer, error) {
	s.asked = append(s.asked, q)
	return elb.Answer{Missing: s.missing, Balancer: elbtest.Balancer, Groups: map[string]string{"c": elbtest.Group("c"), "s": elbtest.Group("s")}}, s.err
}

func (s *scriptedAWS) Unregistered(context.Context, []elb.Group) (string, error) {
	return s.missing, s.err
}

// newBalanced is a Rollout whose Ingress sends a fifth to the canary. Questions wait until they are let go.
func newBalanced(t *testing.T, aws *scriptedAWS) (g *gated, answer func()) {
	t.Helper()
	g = newGated(t)
	var waiting []func()
	g.RolloutReconciler = NewRolloutReconciler(Deps{
		Clock: g.clock, Client: g.api, Live: g.api, Log: slog.New(slog.DiscardHandler), Events: g.said, Meters: telemetry.New(prometheus.NewRegistry(), false), Balancers: aws,
		Go: func(do func()) { waiting = append(waiting, do) },
	})
	g.ro.Spec.Strategy.Canary.TrafficRouting = &v1alpha1.RolloutTrafficRouting{ALB: &v1alpha1.ALBTrafficRouting{Ingress: "web", ServicePort: 80}}
	g.route = &unstructured.Unstructured{Object: map[string]any{"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": map[string]any{"name": "web", "namespace": "shop"}}}
	g.weigh("20", "80")
	g.at("lb.example.com")
	return g, func() {
		for _, do := range waiting {
			do()
		}
		waiting = nil
	}
}

func (g *gated) weigh(canary, stable string) {
	g.route.SetAnnotations(map[string]string{
		v1alpha1.ManagedALBAnnotationsAnnotation: `{"web": ["x/actions.root", "x/actions.beta", "x/conditions.beta"]}`, "x/actions.beta": `{"ForwardConfig":{"TargetGroups":[{"ServiceName":"c","Weight":100}]}}`,
		"x/actions.root": `{"ForwardConfig":{"TargetGroups":[{"ServiceName":"c","ServicePort":"80","Weight":` + canary + `},{"ServiceName":"s","ServicePort":"80","Weight":` + stable + `}]}}`,
	})
}

func (g *gated) at(hosts ...string) {
	g.t.Helper()
	var list []any
	for _, host := range hosts {
		list = append(list, map[string]any{"hostname": host})
	}
	if err := unstructured.SetNestedSlice(g.route.Object, list, "status", "loadBalancer", "ingress"); err != nil {
		g.t.Fatal(err)
	}
}

// A weight counts when AWS says that the load balancer has it, and a confirmation does not count for long.
func TestC12AWeightWaitsForAWS(t *testing.T) {
	aws := &scriptedAWS{missing: "load balancer lb.example.com to forward 20"}
	g, answer := newBalanced(t, aws)
	g.try("in the pass that writes it", true, backoffShortest, "", 0)
	g.try("while it is asked", false, balancerLooks, "", 0)
	g.try("still", false, balancerLooks, "", 0)
	answer()
	g.try("with the answer", false, balancerAgain, "", 0)
	g.later(balancerAgain)
	const message = "waiting for load balancer lb.example.com to forward 20"
	g.try("when it is asked again", false, balancerLooks, message, 1)
	aws.missing, aws.err = "", errors.New("throttled")
	answer()
	g.try("an error is no answer", false, balancerAgain, "waiting for AWS to answer: throttled", 1)
	g.later(100 * waitsFor)
	g.try("however long it takes", false, balancerLooks, "waiting for AWS to answer: throttled", 1)
	aws.err = nil
	answer()
	g.try("when it is confirmed", false, 0, "", 1)
	g.weigh("0", "100")
	g.try("another weight", false, balancerLooks, "", 1)
	answer()
	g.try("which is confirmed", false, 0, "", 1)
	g.later(time.Hour)
	g.try("an hour later", false, balancerLooks, "", 1)
	if want := (elb.Question{Namespace: "shop", Ingress: "web", Hosts: []string{"lb.example.com"}, Targets: []elb.Target{{Service: "c", Port: "80", Weight: 20}, {Service: "s", Port: "80", Weight: 80}}}); len(aws.asked) != 4 || len(aws.asked[0].Targets) != 2 || aws.asked[0].Targets[0] != want.Targets[0] || aws.asked[0].Targets[1] != want.Targets[1] {
		t.Errorf("asked %v", aws.asked)
	}
	g.at()
	g.try("without a load balancer", false, balancerAgain, "", 1)
	g.balancers.keep(rolloutKey, nil)
	if n := len(g.balancers.known); n != 0 {
		t.Errorf("%d Rollouts are remembered", n)
	}
}

// There are few questions at once, whatever tenants write.
func TestFewQuestionsToAWS(t *testing.T) {
	aws := &scriptedAWS{}
	g, answer := newBalanced(t, aws)
	for range 50 {
		g.route.SetName(g.route.GetName() + "a")
		g.balancers.standing(rolloutKey, g.route)
	}
	answer()
	if n := len(aws.asked); n != mostQuestions {
		t.Errorf("%d questions", n)
	}
}

// The status names what AWS has told about load balancers, in the order of the Ingresses, by the parts that Services play. What this process has not
// asked about stays, and what the spec no longer names goes, as everything does without verification.
func TestBalancersInTheStatus(t *testing.T) {
	entry := func(ingress, canary, stable string) v1alpha1.ALBStatus {
		return alb.Status(ingress, elbtest.Balancer, elbtest.Group(canary), elbtest.Group(stable))
	}
	recorded := []v1alpha1.ALBStatus{entry("gone", "c", "s"), entry("b", "old", "old")}
	weights := func(canary, stable string) *v1alpha1.TrafficWeights {
		return &v1alpha1.TrafficWeights{Canary: v1alpha1.WeightDestination{ServiceName: canary}, Stable: v1alpha1.WeightDestination{ServiceName: stable}}
	}
	for name, c := range map[string]struct {
		ingresses, asked []string
		recorded         []v1alpha1.ALBStatus
		weights          *v1alpha1.TrafficWeights
		off              bool
		want             []v1alpha1.ALBStatus
	}{
		"nothing is known":           {ingresses: []string{"a"}},
		"of all Ingresses, in order": {ingresses: []string{"b", "a"}, asked: []string{"a", "b"}, want: []v1alpha1.ALBStatus{entry("b", "c", "s"), entry("a", "c", "s")}},
		"ping-pong":                  {ingresses: []string{"a"}, asked: []string{"a"}, weights: weights("s", "c"), want: []v1alpha1.ALBStatus{entry("a", "s", "c")}},
		"other Services":             {ingresses: []string{"b"}, asked: []string{"b"}, weights: weights("x", "s"), recorded: recorded, want: recorded[1:]},
		"after a restart":            {ingresses: []string{"a", "b"}, recorded: recorded, want: recorded[1:]},
		"one of two is asked":        {ingresses: []string{"a", "b"}, asked: []string{"a"}, recorded: recorded, want: []v1alpha1.ALBStatus{entry("a", "c", "s"), recorded[1]}},
		"without verification":       {ingresses: []string{"a", "b"}, recorded: recorded, off: true},
		"without the router":         {recorded: recorded},
	} {
		t.Run(name, func(t *testing.T) {
			g, answer := newBalanced(t, &scriptedAWS{})
			g.ro.Spec.Strategy.Canary.TrafficRouting.ALB.Ingress = ""
			g.ro.Spec.Strategy.Canary.TrafficRouting.ALB.Ingresses = c.ingresses
			g.ro.Spec.Strategy.Canary.CanaryService, g.ro.Spec.Strategy.Canary.StableService = "c", "s"
			g.ro.Status.ALBs = c.recorded
			for _, ingress := range c.asked {
				g.route.SetName(ingress)
				g.balancers.standing(rolloutKey, g.route)
			}
			answer()
			if c.off {
				g.balancers = nil
			}
			status := g.ro.Status
			status.Canary.Weights = c.weights
			g.balancers.report(g.ro, &status)
			if diff := cmp.Diff(c.want, status.ALBs); diff != "" {
				t.Error(diff)
			}
			var last *v1alpha1.ALBStatus
			if len(c.want) > 0 {
				last = &c.want[len(c.want)-1]
			}
			if diff := cmp.Diff(last, status.ALB); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What AWS has told is written with the record that is written anyway, and is no reason to write one.
func TestBalancersAreWrittenWithTheRecord(t *testing.T) {
	g, answer := newBalanced(t, &scriptedAWS{})
	g.ro.Spec.Strategy.Canary.CanaryService, g.ro.Spec.Strategy.Canary.StableService = "c", "s"
	g.ro.Status.Canary.Weights = nil
	g.balancers.standing(rolloutKey, g.route)
	answer()
	record := func(message string, want ...string) {
		t.Helper()
		g.api.done = nil
		to := *g.ro
		to.Status.Message = message
		if err := g.record(t.Context(), plan.Record{From: g.ro, To: &to}); err != nil {
			t.Fatal(err)
		}
		written := strings.Join(g.api.done, "\n")
		if len(g.api.done) != min(len(want), 1) {
			t.Errorf("%d writes: %s", len(g.api.done), written)
		}
		for _, text := range want {
			if !strings.Contains(written, text) {
				t.Errorf("no %s is written: %s", text, written)
			}
		}
	}
	record(g.ro.Status.Message)
	record("20 % are in force", `"message":"20 % are in force"`, `"fullName":"c/1"`, `"albs":[{`, `"alb":{`)
}
