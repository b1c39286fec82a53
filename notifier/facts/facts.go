// Package facts says what messages are about in short. All of it is computed from objects as JSON has them, and may be shown by templates.
//
//	facts.go    which measurement failed, which images change, and where to look further
//	lasting.go  how long a Rollout has been waiting, at a step, or degraded
//	explain.go  what it waits for, in a sentence
//	person.go   who did something
//	cdevent.go  the same as a CDEvent, for programs
//
// What must not be here: clients, clocks.
package facts

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// LinkPrefix begins the annotations of a Rollout that hold addresses of pages about it, such as rollouts.argoproj.io/link.commit.
const LinkPrefix = "rollouts.argoproj.io/link."

// Failing are the metrics of AnalysisRuns that did not succeed: name, run, phase, value, limit and message each.
func Failing(runs []any) []any {
	var all []any
	for _, r := range runs {
		run, _ := r.(map[string]any)
		results, _, _ := unstructured.NestedSlice(run, "status", "metricResults")
		name, _, _ := unstructured.NestedString(run, "metadata", "name")
		for _, m := range results {
			result, _ := m.(map[string]any)
			switch result["phase"] {
			case "Failed", "Error", "Inconclusive":
				all = append(all, failing(run, name, result))
			}
		}
	}
	return all
}

func failing(run map[string]any, name string, result map[string]any) map[string]any {
	fact := map[string]any{"run": name, "name": result["name"], "phase": result["phase"], "message": result["message"], "value": "", "limit": ""}
	measurements, _, _ := unstructured.NestedSlice(result, "measurements")
	for _, m := range slices.Backward(measurements) {
		if measurement, _ := m.(map[string]any); measurement["phase"] == result["phase"] {
			fact["value"] = cmp.Or(text(measurement["value"]), text(measurement["message"]))
			break
		}
	}
	metrics, _, _ := unstructured.NestedSlice(run, "spec", "metrics")
	for _, m := range metrics {
		metric, _ := m.(map[string]any)
		if metric["name"] != result["name"] {
			continue
		}
		if success := text(metric["successCondition"]); success != "" {
			fact["limit"] = success
		} else if failure := text(metric["failureCondition"]); failure != "" {
			fact["limit"] = "not " + failure
		}
	}
	return fact
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// Images are the containers whose image differs between two pod templates: name, from and to each.
func Images(from, to map[string]any) []any {
	before, after := images(from), images(to)
	var all []any
	for _, c := range after {
		i := slices.IndexFunc(before, func(b [2]string) bool { return b[0] == c[0] })
		switch {
		case i < 0:
			all = append(all, map[string]any{"name": c[0], "from": "", "to": c[1]})
		case before[i][1] != c[1]:
			all = append(all, map[string]any{"name": c[0], "from": before[i][1], "to": c[1]})
		}
	}
	return all
}

func images(template map[string]any) [][2]string {
	var all [][2]string
	containers, _, _ := unstructured.NestedSlice(template, "spec", "containers")
	for _, c := range containers {
		container, _ := c.(map[string]any)
		all = append(all, [2]string{text(container["name"]), text(container["image"])})
	}
	return all
}

// pages are the dashboard's pages about a Rollout, by the names of their links. Each asks before it does anything.
var pages = map[string]string{"dashboard": "", "promote": "/promote", "abort": "/abort", "retry": "/retry", "undo": "/undo"}

// Links are the addresses of pages about a Rollout, by name: those in its annotations, and those of the dashboard, if there is one. Others than
// of pages are left out.
func Links(rollout map[string]any, dashboard string) map[string]any {
	all := map[string]any{}
	if IsPage(dashboard) {
		namespace, _, _ := unstructured.NestedString(rollout, "metadata", "namespace")
		name, _, _ := unstructured.NestedString(rollout, "metadata", "name")
		base := strings.TrimRight(dashboard, "/") + "/rollout/" + url.PathEscape(namespace) + "/" + url.PathEscape(name)
		for link, page := range pages {
			all[link] = base + page
		}
	}
	annotations, _, _ := unstructured.NestedStringMap(rollout, "metadata", "annotations")
	for key, value := range annotations {
		if name, ok := strings.CutPrefix(key, LinkPrefix); ok && IsPage(value) {
			all[name] = value
		}
	}
	return all
}

// IsPage reports whether a text is the address of a page.
func IsPage(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http")
}
