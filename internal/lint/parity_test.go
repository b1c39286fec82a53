package lint_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/crd"
	"github.com/sluice-delivery/sluice/internal/lint"
	"github.com/sluice-delivery/sluice/internal/manifests"
	"github.com/sluice-delivery/sluice/internal/spec"
)

// kubectl apply (which rejects an object with what the CRD says), the condition InvalidSpec and sluice lint say the same sentence for
// the same mistake. InvalidSpec may say more: the first words of some messages are those of Argo Rollouts, and it has the value.
func TestOneSentenceForOneMistake(t *testing.T) {
	for file, sentence := range map[string]string{
		"rollout-selector-missing":                             "repeat some of template.metadata.labels under selector.matchLabels",
		"rollout-selector-empty":                               "it would select every pod in the namespace: repeat some of template.metadata.labels under matchLabels",
		"rollout-selector-does-not-fit":                        "template.metadata.labels must have every label of selector.matchLabels, with the same value, or the Rollout would not find its own pods",
		"rollout-strategy-both":                                "set only one of canary and blueGreen: remove the other",
		"rollout-strategy-empty":                               "set canary or blueGreen: canary moves traffic a part at a time (canary: {} is a rolling update), blueGreen all at once",
		"rollout-progress-deadline-too-short":                  "progressDeadlineSeconds (600 unless set) must be greater than minReadySeconds, or no pod could become available in time",
		"rollout-canary-no-room-numbers":                       "no pod could ever be replaced: set one of them to at least 1",
		"rollout-canary-max-surge-text":                        "must be a number of pods such as 1, or a percentage such as 25%; neither can be negative",
		"rollout-canary-max-unavailable-text":                  "must be a number of pods such as 1, or a percentage such as 25%; neither can be negative",
		"rollout-canary-same-services":                         "canaryService and stableService must be two different Services: each is pointed at one version only",
		"rollout-canary-dynamic-stable-scale-without-router":   "dynamicStableScale needs trafficRouting; remove it: without a router the stable version shrinks anyway",
		"rollout-canary-scale-down-delay-without-router":       "scaleDownDelaySeconds needs trafficRouting; remove it: without a router the share of the pods is the share of the traffic",
		"rollout-canary-dynamic-stable-scale-with-delay":       "scaleDownDelaySeconds cannot be combined with dynamicStableScale, which scales the old version down with its traffic: remove one of the two",
		"rollout-canary-enforce-max-surge-alone":               "enforceMaxSurge needs dynamicStableScale: while the stable version keeps all its pods, the new one cannot have as many",
		"rollout-canary-max-traffic-weight-with-istio":         "works with nginx and plugins only: remove it, and give setWeight in percent",
		"rollout-canary-ping-pong-same":                        "pingService and pongService must be two different Services",
		"rollout-canary-step-empty":                            `a step must have exactly one of setWeight, pause, experiment, analysis, setCanaryScale, setHeaderRoute, setMirrorRoute and plugin; begin each with its own "- "`,
		"rollout-canary-step-two-in-one":                       `a step must have exactly one of setWeight, pause, experiment, analysis, setCanaryScale, setHeaderRoute, setMirrorRoute and plugin; begin each with its own "- "`,
		"rollout-canary-step-weight-over-100":                  "SetWeight needs to be between 0 and 100",
		"rollout-canary-step-pause-days":                       "must be seconds such as 30, or a length of time with units h, m, s and ms such as 30s, 10m or 1h30m (a day is 24h), and not negative; leave duration out to wait for a promotion",
		"rollout-canary-step-pause-negative":                   "must be seconds such as 30, or a length of time with units h, m, s and ms such as 30s, 10m or 1h30m (a day is 24h), and not negative; leave duration out to wait for a promotion",
		"rollout-canary-step-canary-scale-without-router":      "setCanaryScale needs trafficRouting: without a router the share of the pods is the share of the traffic, so use setWeight",
		"rollout-canary-step-canary-scale-two":                 "set only one of weight, replicas and matchTrafficWeight: true",
		"rollout-canary-step-mirror-match-empty":               "set at least one of method, path and headers; to mirror all requests, give path with prefix: /",
		"rollout-bluegreen-same-services":                      "previewService must be another Service than activeService; leave it out if there is none",
		"rollout-bluegreen-delay-limit-over-history":           "scaleDownDelayRevisionLimit must not exceed revisionHistoryLimit (10 unless set): lower the one or raise the other",
		"rollout-bluegreen-analysis-without-templates":         `name at least one AnalysisTemplate under templates, as "- templateName: <name>"`,
		"rollout-bluegreen-anti-affinity-both":                 "set exactly one of preferredDuringSchedulingIgnoredDuringExecution and requiredDuringSchedulingIgnoredDuringExecution",
		"rollout-canary-gateway-api-no-route":                  "name at least one route: httpRoute, grpcRoute, tcpRoute or tlsRoute, a list of several such as httpRoutes, or a selector such as httpRouteSelector",
		"rollout-canary-session-affinity-other-router":         "cannot keep clients on a version: remove sessionAffinity, or use istio or gatewayAPI",
		"rollout-canary-session-affinity-grpc-route":           "works with HTTPRoutes only, not with",
		"rollout-canary-session-affinity-dynamic-stable-scale": "keeps clients on the stable version, which dynamicStableScale takes the pods from: remove one of the two",
		"rollout-canary-session-affinity-mirror":               "would split the clients that it mirrors again, and sessionAffinity keeps them on a version: remove one of the two",
		"rollout-canary-traefik-mirroring-itself":              "name another TraefikService than weightedTraefikServiceName: one with spec.mirroring, which sends to the weighted one",
		"rollout-canary-step-header-route-two-values":          "set exactly one of exact, regex and prefix",
	} {
		t.Run(file, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(manifests.Root(), "api/v1alpha1/testdata/bad", file+".yaml"))
			if err != nil {
				t.Fatal(err)
			}
			for place, messages := range map[string][]string{
				"kubectl apply": admitted(t, text), "InvalidSpec": resolved(t, text), "sluice lint": linted(t, text),
			} {
				if !strings.Contains(strings.Join(messages, "\n"), sentence) {
					t.Errorf("%s does not say %q:\n%s", place, sentence, strings.Join(messages, "\n"))
				}
			}
		})
	}
}

func admitted(t *testing.T, text []byte) (messages []string) {
	t.Helper()
	asJSON, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	var o unstructured.Unstructured
	if err := o.UnmarshalJSON(asJSON); err != nil {
		t.Fatal(err)
	}
	kind, ok, err := crd.Of(o.GetKind())
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	for _, e := range kind.Admit(t.Context(), o.Object, nil) {
		messages = append(messages, e.Error())
	}
	return messages
}

func resolved(t *testing.T, text []byte) (messages []string) {
	t.Helper()
	for _, p := range problems(t, text) {
		messages = append(messages, p.String())
	}
	return messages
}

// problems are what the controller finds in a Rollout.
func problems(t *testing.T, text []byte) []spec.Problem {
	t.Helper()
	var ro v1alpha1.Rollout
	if err := yaml.Unmarshal(text, &ro); err != nil {
		t.Fatal(err)
	}
	_, problems := spec.Resolve(&ro)
	return problems
}

func linted(t *testing.T, text []byte) (messages []string) {
	t.Helper()
	for _, f := range look(t, "web.yaml", text).Findings {
		if f.Severity == lint.Error {
			messages = append(messages, f.String())
		}
	}
	return messages
}
