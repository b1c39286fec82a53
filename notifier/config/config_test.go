package config

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func parse(data map[string]string) *Config {
	return Parse(&corev1.ConfigMap{Data: data}, &corev1.Secret{Data: map[string][]byte{"token": []byte("s3cret")}})
}

// An entry that is wrong is reported under its key, and every other works.
func TestOneBadEntryBreaksItselfOnly(t *testing.T) {
	c := parse(map[string]string{
		"service.slack": "token: $token\nusername: $missing", "service.slack.team-a": "token: $token", "service.a.b.c": "x", "service.x": "{",
		"template.good": "message: hello", "template.yaml": "{", "template.syntax": "message: '{{.x'", "template.function": "message: '{{env \"HOME\"}}'",
		"trigger.good": "- when: rollout.status.phase == 'Paused'\n  send: [good]", "trigger.yaml": "{", "trigger.half": "- when: 1 +\n- when: 'true'",
		"defaultTriggers": "[good]", "defaultTriggers.slack": "{",
		"subscriptions": "- {recipients: [slack:a]}\n- {recipients: [slack:b], selector: '((('}\n-\n- {recipients: [\"teams:https://example.com:8443/x\"], triggers: [half]}",
		"context":       "of another program",
	})
	var keys []string
	for _, p := range c.Problems {
		keys = append(keys, p.Key)
	}
	want := []string{
		"defaultTriggers.slack", "service.a.b.c", "service.x", "subscriptions", "subscriptions",
		"template.function", "template.syntax", "template.yaml", "trigger.half", "trigger.yaml",
	}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if got := string(c.Services["slack"].Settings); got != "token: s3cret\nusername: $missing\n" {
		t.Errorf("the settings are %q", got)
	}
	if c.Services["team-a"].Type != "slack" || len(c.Triggers["half"]) != 2 || c.Triggers["half"][0].Err == nil || c.Triggers["half"][1].Err != nil {
		t.Errorf("%v %v", c.Services, c.Triggers)
	}
	to, wrong := c.Subscribed(nil, nil, true)
	if diff := cmp.Diff(map[string][]Destination{"good": {{"slack", "a"}}, "half": {{"teams", "https://example.com:8443/x"}}}, to); diff != "" || len(wrong) > 0 {
		t.Error(diff, wrong)
	}
}

func TestSubscriptions(t *testing.T) {
	c := parse(map[string]string{
		"defaultTriggers": "[d1, d2]", "defaultTriggers.email": "[e]",
		"subscriptions": "- {recipients: [slack:all], triggers: [on-x], selector: team=a}",
	})
	for name, a := range map[string]struct {
		annotations map[string]string
		labels      map[string]string
		want        []string
		wrong       string
	}{
		"with a trigger":        {annotations: map[string]string{subscribe + "on-x.slack": "a; b ;"}, want: []string{"on-x slack:a", "on-x slack:b"}},
		"default triggers":      {annotations: map[string]string{subscribe + "slack": "a"}, want: []string{"d1 slack:a", "d2 slack:a"}},
		"of a service":          {annotations: map[string]string{subscribe + "email": "a@b"}, want: []string{"e email:a@b"}},
		"no recipient":          {annotations: map[string]string{subscribe + "on-x.hook": ""}, want: []string{"on-x hook:"}},
		"foreign annotations":   {annotations: map[string]string{"a": "b", "notifications.argoproj.io/other": "c", "notified.notifications.argoproj.io": "{}"}},
		"a URL":                 {annotations: map[string]string{subscribe + "on-x.teams": "https://a/b:c"}, want: []string{"on-x teams:https://a/b:c"}},
		"dots in a name":        {annotations: map[string]string{subscribe + "on-x.a.b": "c"}, wrong: "neither with a dot"},
		"the list":              {annotations: map[string]string{subscriptions: "- trigger: [on-x, on-y]\n  destinations: [{service: slack, recipients: [a]}]\n- destinations: [{service: email, recipients: [b]}]"}, want: []string{"e email:b", "on-x slack:a", "on-y slack:a"}},
		"a list, half wrong":    {annotations: map[string]string{subscriptions: "- destinations: [{recipients: [a]}]\n- destinations: [{service: email, recipients: [b]}]"}, want: []string{"e email:b"}, wrong: "a destination has no service"},
		"a list that is none":   {annotations: map[string]string{subscriptions: "{"}, wrong: subscriptions},
		"of all, and one's own": {annotations: map[string]string{subscribe + "on-x.slack": "all"}, labels: map[string]string{"team": "a"}, want: []string{"on-x slack:all"}},
		"of others":             {labels: map[string]string{"team": "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			to, wrong := c.Subscribed(a.annotations, a.labels, true)
			var got []string
			for _, trigger := range slices.Sorted(maps.Keys(to)) {
				for _, d := range to[trigger] {
					got = append(got, trigger+" "+d.String())
				}
			}
			if diff := cmp.Diff(a.want, got); diff != "" {
				t.Error(diff)
			}
			if (a.wrong != "") != (len(wrong) > 0) || a.wrong != "" && !strings.Contains(wrong[0].Error(), a.wrong) {
				t.Errorf("wrong: %v, want %q", wrong, a.wrong)
			}
		})
	}
	many := map[string]string{}
	for i := range 3 * maxDestinations {
		many[fmt.Sprintf("%son-x-%d.slack", subscribe, i)] = "a"
	}
	if to, wrong := c.Subscribed(many, nil, true); len(to) != maxDestinations || len(wrong) != 1 {
		t.Errorf("%d triggers, %v", len(to), wrong)
	}
}

func TestTriggersOfEvents(t *testing.T) {
	for reason, want := range map[string]string{
		"RolloutCompleted": "on-rollout-completed", "TargetGroupVerifyError": "on-target-group-verify-error", "ScalingReplicaSet": "on-scaling-replica-set",
		"AnalysisRunFailed": "on-analysis-run-failed", "PatchingALBIngress": "on-patching-alb-ingress",
		"PatchingCanaryIngress": "on-patching-canary-ingress", "UpdatedDestinationRule": "on-updated-destination-rule", "CanaryMappingWeightUpdate": "on-canary-mapping-weight-update",
	} {
		if got := TriggerOf(reason); got != want || !OfEvents(want) {
			t.Errorf("%s is %s (of events: %v), want %s", reason, got, OfEvents(want), want)
		}
	}
	if OfEvents("on-paused") {
		t.Error("on-paused is of events")
	}
}

// Every reason in api/v1alpha1/events.go is known, so that none fires on both ways.
func TestAllReasonsAreKnown(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../api/v1alpha1/events.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	known, seen := reasons(), 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || strings.HasSuffix(spec.Names[0].Name, "Prefix") || spec.Names[0].Name == "NoPreviousStatus" {
			return true
		}
		if literal, ok := spec.Values[0].(*ast.BasicLit); ok {
			seen++
			if reason, err := strconv.Unquote(literal.Value); err != nil || !slices.Contains(known, reason) {
				t.Errorf("%s is not among the reasons (%v)", reason, err)
			}
		}
		return true
	})
	if seen < 20 {
		t.Errorf("only %d reasons were found", seen)
	}
}

func TestConditionKey(t *testing.T) {
	// What Argo Rollouts writes: the index, and the SHA-1 of the text.
	if got := (Condition{When: "true"}).Key(0); got != "[0].X_5TO4MPCKAyY0ipFgr6_IraRNs" {
		t.Errorf("%s", got)
	}
}

// A trigger that is not named after an event may list events. No event is listed by mistake.
func TestTriggersWithEvents(t *testing.T) {
	c := Parse(&corev1.ConfigMap{Data: map[string]string{
		"trigger.on-rolled-back":    "- events: [RolloutAborted]\n  send: [a]\n- when: 'true'\n  send: [a]",
		"trigger.on-rollout-paused": "- send: [a]", "trigger.on-wrong": "- events: [RolloutStopped]\n  send: [a]",
	}}, nil)
	back, paused := c.Triggers["on-rolled-back"], c.Triggers["on-rollout-paused"]
	if len(back) != 2 || !back[0].Fires("on-rolled-back", "RolloutAborted") || back[0].Fires("on-rolled-back", "RolloutPaused") || back[0].OfStates("on-rolled-back") {
		t.Errorf("%+v", back)
	}
	if back[1].Fires("on-rolled-back", "RolloutAborted") || !back[1].OfStates("on-rolled-back") {
		t.Errorf("%+v", back[1])
	}
	if !paused[0].Fires("on-rollout-paused", "RolloutPaused") || paused[0].OfStates("on-rollout-paused") {
		t.Errorf("%+v", paused)
	}
	if len(c.Problems) != 1 || !strings.Contains(c.Problems[0].Error(), `events: "RolloutStopped" is no reason of an event`) {
		t.Errorf("%v", c.Problems)
	}
}
