//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// What a version that fails costs until it is taken back: its blast radius. The strategies are those of the matrix, with an analysis that asks a
// real Prometheus for the share of errors among the version's answers.

// errorRate is measured every 2 s: until the update is over, or as often as count says. A second measurement above 5 % fails the update. A version that
// nobody has asked yet is not judged.
func errorRate(count string) string {
	return `
---
apiVersion: argoproj.io/v1alpha1
kind: AnalysisTemplate
metadata: {name: error-rate}
spec:
  args: [{name: hash}]
  metrics:
  - name: error-rate
    interval: 2s
    ` + count + `
    failureLimit: 1
    successCondition: result[0] < 0.05
    whenNoData: Successful
    provider:
      prometheus:
        query: |
          (sum(rate(http_requests_total{hash="{{args.hash}}",code=~"5.."}[4s])) or vector(0))
            / sum(rate(http_requests_total{hash="{{args.hash}}"}[4s]))
`
}

const judgedBy = `{templates: [{templateName: error-rate}], args: [{name: hash, valueFrom: {podTemplateHashValue: Latest}}]}`

// judgedSteps have the canary at 5 % first, where a router can do that.
const judgedSteps = `steps: [{setWeight: 5}, {pause: {duration: 10s}}, {setWeight: 25}, {pause: {duration: 6s}}, {setWeight: 50}, {pause: {duration: 6s}}]`

func judgedByWeight(router string) string {
	return `{canary: {canaryService: web-canary, stableService: web-stable, ` + delays + `trafficRouting: {` + router + `}, analysis: ` + judgedBy + `, ` + judgedSteps + `}}`
}

var judged = []strategy{
	{name: "NGINX, 5 % first", spec: judgedByWeight(`nginx: {stableIngress: web}`), gateway: true, objects: service("web-stable") + service("web-canary") + ingress + errorRate("")},
	{name: "Gateway API, 5 % first", spec: judgedByWeight(`gatewayAPI: {httpRoute: web}`), gateway: true, objects: service("web-stable") + service("web-canary") + httpRoute + errorRate("")},
	{
		name: "canary, 1 pod of 4 first", objects: service("web") + errorRate(""),
		spec: `{canary: {maxSurge: 1, maxUnavailable: 0, analysis: ` + judgedBy + `, steps: [{setWeight: 25}, {pause: {duration: 10s}}, {setWeight: 50}, {pause: {duration: 6s}}]}}`,
	},
	{
		name: "blue-green, measured after the switch", objects: service("web") + service("web-preview") + errorRate("count: 10"),
		spec: `{blueGreen: {activeService: web, previewService: web-preview, scaleDownDelaySeconds: 30, abortScaleDownDelaySeconds: 10, postPromotionAnalysis: ` + judgedBy + `}}`,
	},
}

// badTag is of a version that fails from its first request on.
const badTag = "v2-err100"

var badVersion = event{name: "bad version", do: func(ctx context.Context, a *arena) error {
	if err := a.setImage(ctx, badTag); err != nil {
		return err
	}
	return a.caught(ctx, badTag)
}}

// caught waits until a version has been taken back.
func (a *arena) caught(ctx context.Context, tag string) error {
	return a.until(ctx, tag+" taken back", func(ro *v1alpha1.Rollout) bool {
		return ro.Spec.Template.Spec.Containers[0].Image == image(tag) && ro.Status.Abort && ro.Status.Phase == v1alpha1.RolloutPhaseDegraded
	})
}

// badTable says what the bad version did in each cell, in Markdown.
func badTable(results []result, rate int) string {
	var b strings.Builder
	b.WriteString("| strategy | data plane is late by | errors that users got | of the requests in that time | first error to last | lost |\n|---|---:|---:|---:|---:|---:|\n")
	for _, r := range results {
		f := r.ledger.Failures(badTag)
		all := float64(rate) * f.For().Seconds()
		fmt.Fprintf(&b, "| %s | %s | %d | %.1f %% | %.1f s | %d |\n", r.cell.strategy.name, r.cell.lag, f.Count, 100*float64(f.Count)/max(1, all), f.For().Seconds(), r.ledger.Total().Lost)
	}
	return b.String() + "\n"
}

// unharmed are cells in which the bad version got no request, so that nothing was shown.
func unharmed(results []result) error {
	var errs []error
	for _, r := range results {
		if r.ledger.Failures(badTag).Count == 0 {
			errs = append(errs, fmt.Errorf("%s: %s got no request, so nothing is shown", r.cell, badTag))
		}
	}
	return errors.Join(errs...)
}
