package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/notifier/config"
)

// Each finding names the key and what to do.
func TestProblems(t *testing.T) {
	c := config.Parse(&corev1.ConfigMap{Data: map[string]string{
		"service.slack":             "token: x",
		"template.paused":           "message: it waits\nslak: {icon: x}",
		"template.hook":             "webhook: {ops: {method: POST}}",
		"trigger.on-rollout-paused": "- send: [pausd]",
		"trigger.on-late":           "- send: [paused]\n- when: 1 +\n  send: [paused]\n- when: 'true'",
		"defaultTriggers":           "[on-lat]",
		"defaultTriggers.slack":     "[gone]",
		"subscriptions":             "- {recipients: ['slak:all', 'slack:all'], triggers: [on-late]}",
	}}, nil)
	var got []string
	for _, err := range problems(c) {
		got = append(got, err.Error())
	}
	want := []string{
		`template.paused: what is not known is ignored: json: unknown field "slak"`,
		"trigger.on-late: condition 1: when: ",
		"trigger.on-late: condition 0: it never fires: it has no when, and the trigger is not named after an event; write when: 'true' if it must always hold",
		"trigger.on-late: condition 2: send is empty: name at least one template",
		"trigger.on-rollout-paused: condition 0: template 'pausd' is not supported: add the key template.pausd, or write paused",
		"template.hook: webhook.ops: there is no such service: add the key service.webhook.ops",
		"defaultTriggers: trigger 'on-lat' is not configured: add the key trigger.on-lat, or write on-late",
		"defaultTriggers.slack: trigger 'gone' is not configured: add the key trigger.gone",
		"subscriptions: element 0: recipient slak:all: notification service 'slak' is not supported: add the key service.TYPE or service.TYPE.slak, or write slack",
	}
	for i := range got { // expr says at length what does not compile
		if i < len(want) && len(got[i]) > len(want[i]) && want[i][len(want[i])-1] == ' ' {
			got[i] = got[i][:len(want[i])]
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}
