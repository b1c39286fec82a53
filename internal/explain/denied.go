package explain

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/change"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/traffic"
	"github.com/sluice-delivery/sluice/internal/traffic/routers"
)

// Denial is a write that the API server refused. The controller retries it every 30 seconds.
type Denial struct {
	Decision
	// Remedy is what a user can do about it.
	Remedy string `json:"remedy"`
}

func (d Denial) String() string { return d.Decision.String() + ": " + d.Remedy }

const (
	correctRoute = "correct the route, or delete it"
	allowWrite   = "correct the policy, quota, webhook or permission that refuses it"
)

// Only the status says what was refused: the controller's message (plan.Withheld) and the condition RouteReleaseFailure.
var (
	deniedWrite   = regexp.MustCompile(`(?:^|; )((?:create|delete|evict|patch|scale) \S+ [^ :]+): `)
	deniedCreate  = regexp.MustCompile(`^Failed to create replica set "([^"]+)": `)
	deniedRelease = regexp.MustCompile(`(?:taken out of |; )([A-Z]\w* "[^"]+"(?: of namespace [^ :]+)?): `)
)

// denials are the writes that a Rollout's status reports as refused.
func denials(ro *v1alpha1.Rollout) []Denial {
	var all []Denial
	add := func(remedy, prefix string, writes []Decision) {
		for _, d := range writes {
			all = append(all, Denial{Decision{What: prefix + d.What, Why: d.Why}, remedy})
		}
	}
	if text, ok := strings.CutPrefix(ro.Status.Message, v1alpha1.ReasonWriteRefused+": "); ok {
		add(allowWrite, "", cutAt(deniedWrite, text))
	}
	if text, ok := strings.CutPrefix(ro.Status.Message, v1alpha1.ReasonReplicaSetCreateError+": "); ok {
		add(allowWrite, "create ReplicaSet ", cutAt(deniedCreate, text))
	}
	add(correctRoute, "release ", cutAt(deniedRelease, strings.TrimSuffix(releaseFailure(ro), ": "+correctRoute)))
	return all
}

// isWithheld reports whether the status says that a reconcile ended at a refused write: every further decision waits for
// that write.
func isWithheld(ro *v1alpha1.Rollout) bool {
	return strings.HasPrefix(ro.Status.Message, v1alpha1.ReasonWriteRefused) || strings.HasPrefix(ro.Status.Message, v1alpha1.ReasonReplicaSetCreateError)
}

// releaseFailure is the message of the condition RouteReleaseFailure, empty if it is not True.
func releaseFailure(ro *v1alpha1.Rollout) string {
	for _, c := range ro.Status.Conditions {
		if c.Type == v1alpha1.ConditionRouteReleaseFailure && c.Status == corev1.ConditionTrue {
			return c.Message
		}
	}
	return ""
}

// cutAt splits a text where each of its parts begins: with the write, followed by the reason for the refusal. A text that
// begins differently is one part.
func cutAt(begins *regexp.Regexp, text string) []Decision {
	found := begins.FindAllStringSubmatchIndex(text, -1)
	if len(found) == 0 && text != "" {
		return []Decision{{What: text}}
	}
	var parts []Decision
	for i, at := range found {
		end := len(text)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		parts = append(parts, Decision{What: text[at[2]:at[3]], Why: text[at[1]:end]})
	}
	return parts
}

// horizon is later than any time that matters here.
const horizon = 10 * 365 * 24 * time.Hour

// refusedReleases are the releases that the controller remembers as refused, so that the engine waits for them here as well.
// They do not end by themselves.
func refusedReleases(o plan.Observed, denied []Denial) map[string]change.Refusal {
	refusals := map[string]change.Refusal{}
	for key := range o.Routes {
		for _, d := range denied {
			if d.What == "release "+routeText(key, o.Rollout.Namespace) {
				refusals[routers.FormatKey(key)] = change.Refusal{Message: d.Why, At: o.Now.Add(horizon)}
			}
		}
	}
	return refusals
}

// routeText is how the condition RouteReleaseFailure of a Rollout in a namespace names a route.
func routeText(key traffic.Key, namespace string) string {
	text := fmt.Sprintf("%s %q", key.Kind, key.Name)
	if key.Namespace != namespace {
		text += " of namespace " + key.Namespace
	}
	return text
}
