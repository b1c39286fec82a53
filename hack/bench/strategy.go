//go:build linux

package main

import (
	"fmt"
	"strings"
)

// strategy is one row of the table: how rollouts are updated, what else they need, and what they may cost.
type strategy struct {
	name string
	// words describe it in the table.
	words string
	// spec is the Rollout's spec.strategy; objects are what it names. NAME is the rollout's name in both.
	spec, objects string
	// budget of one rollout's update and the rest after it.
	writes, eventless, reads, cpuMillis int
}

var strategies = []strategy{
	{
		name: "canary", words: "20 %, 1 s, 60 %, 1 s; maxSurge 1, maxUnavailable 0",
		writes: 26, eventless: 16, cpuMillis: 20,
		spec: `{canary: {maxSurge: 1, maxUnavailable: 0, steps: [
			{setWeight: 20}, {pause: {duration: 1s}}, {setWeight: 60}, {pause: {duration: 1s}}]}}`,
	},
	{
		name: "nine-steps", words: "10 % to 90 % without pauses; maxSurge 1, maxUnavailable 0",
		writes: 30, cpuMillis: 20,
		spec: `{canary: {maxSurge: 1, maxUnavailable: 0, steps: [
			{setWeight: 10}, {setWeight: 20}, {setWeight: 30}, {setWeight: 40}, {setWeight: 50},
			{setWeight: 60}, {setWeight: 70}, {setWeight: 80}, {setWeight: 90}]}}`,
	},
	{
		name: "bluegreen", words: "scaleDownDelaySeconds 1",
		writes: 18, reads: 2, cpuMillis: 12,
		spec:    `{blueGreen: {activeService: NAME-active, scaleDownDelaySeconds: 1}}`,
		objects: service("NAME-active"),
	},
}

func strategyNames() []string {
	var names []string
	for _, s := range strategies {
		names = append(names, s.name)
	}
	return names
}

func service(name string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: %s}
spec:
  selector: {app: NAME}
  ports: [{port: 80}]
`, name)
}

// manifests are one rollout of this strategy and what it names.
func (s strategy) manifests(name string, replicas int) string {
	objects := s.objects
	if objects != "" {
		objects += "\n---\n"
	}
	spec := strings.ReplaceAll(strings.ReplaceAll(s.spec, "\t", ""), "\n", " ")
	return strings.ReplaceAll(objects+`
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: NAME}
spec:
  replicas: `+fmt.Sprint(replicas)+`
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: web, image: "web:1"}]
  strategy: `+spec+"\n", "NAME", name)
}
