package alb

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Forward is a Service to which an Ingress says that its load balancers forward.
type Forward struct {
	Service, Port string
	Weight        int64
}

// Forwards reads from an Ingress how a Rollout has its load balancers forward, and the names of these. It reports false where the Rollout has
// written no action.
func Forwards(object *unstructured.Unstructured, rollout string) (to []Forward, hosts []string, ok bool) {
	annotations := object.GetAnnotations()
	keys := readNotes(annotations).keys(rollout)
	conditional := map[string]bool{}
	for _, key := range keys {
		if isConditions(key) {
			conditional[nameIn(key)] = true
		}
	}
	for _, key := range keys {
		var a action
		if conditional[nameIn(key)] || isConditions(key) || json.Unmarshal([]byte(annotations[key]), &a) != nil {
			continue
		}
		for _, group := range a.ForwardConfig.TargetGroups {
			to = append(to, Forward{group.ServiceName, group.ServicePort, group.Weight})
		}
	}
	entries, _, _ := unstructured.NestedSlice(object.Object, "status", "loadBalancer", "ingress")
	for _, entry := range entries {
		at, _ := entry.(map[string]any)
		if host, _ := at["hostname"].(string); host != "" {
			hosts = append(hosts, host)
		}
	}
	return to, hosts, len(to) > 0
}
