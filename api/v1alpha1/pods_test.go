package v1alpha1_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// fieldsOf is an object of YAML.
func fieldsOf(t *testing.T, text string) map[string]any {
	t.Helper()
	asJSON, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(asJSON, &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

// holders are manifests of the kinds that have pods in them, with POD in the place of a pod's spec, by where that is.
var holders = map[string]struct{ kind, path, manifest string }{
	"Rollout": {
		v1alpha1.KindRollout, "spec.template.spec",
		`{metadata: {name: a}, spec: {selector: {matchLabels: {app: a}}, strategy: {canary: {}}, template: {metadata: {labels: {app: a}}, spec: POD}}}`,
	},
	"Experiment": {
		v1alpha1.KindExperiment, "spec.templates[0].template.spec",
		`{metadata: {name: a}, spec: {templates: [{name: a, selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}, spec: POD}}]}}`,
	},
	"AnalysisTemplate": {
		v1alpha1.KindAnalysisTemplate, "spec.metrics[0].provider.job.spec.template.spec",
		`{metadata: {name: a}, spec: {metrics: [{name: a, provider: {job: {spec: {template: {spec: POD}}}}}]}}`,
	},
	"AnalysisRun": {
		v1alpha1.KindAnalysisRun, "spec.metrics[0].provider.job.spec.template.spec",
		`{metadata: {name: a}, spec: {metrics: [{name: a, provider: {job: {spec: {template: {spec: POD}}}}}]}}`,
	},
}

// What the API server would refuse of a pod is refused when our kinds are applied, not when pods are created.
func TestMistakesInPodsAreRefused(t *testing.T) {
	tests := map[string]struct{ pod, at string }{
		"a quantity":              {`{containers: [{name: a, resources: {requests: {memory: invalid}}}]}`, ".containers[0].resources.requests.memory"},
		"a quantity with a space": {`{containers: [{name: a, resources: {limits: {cpu: "1 000m"}}}]}`, ".containers[0].resources.limits.cpu"},
		"an enum":                 {`{containers: [{name: a, imagePullPolicy: Sometimes}]}`, ".containers[0].imagePullPolicy"},
		"a restart policy":        {`{restartPolicy: Perhaps, containers: [{name: a}]}`, ".restartPolicy"},
		"a port":                  {`{containers: [{name: a, ports: [{containerPort: 70000}]}]}`, ".containers[0].ports[0].containerPort"},
		"a protocol":              {`{containers: [{name: a, ports: [{containerPort: 80, protocol: HTTP}]}]}`, ".containers[0].ports[0].protocol"},
		"no name":                 {`{containers: [{image: a}]}`, ".containers[0].name"},
		"no name of a label":      {`{containers: [{name: A_b}]}`, ".containers[0].name"},
		"a number for a text":     {`{containers: [{name: a, env: [{name: A, value: 5}]}]}`, ".containers[0].env[0].value"},
		"a text for a number":     {`{containers: [{name: a}], terminationGracePeriodSeconds: "30"}`, ".terminationGracePeriodSeconds"},
		"a number out of range":   {`{containers: [{name: a}], priority: 4294967296}`, ".priority"},
		"an object for a list":    {`{containers: [{name: a, command: {}}]}`, ".containers[0].command"},
		"in an init container":    {`{initContainers: [{name: a, resources: {limits: {cpu: x}}}], containers: [{name: a}]}`, ".initContainers[0].resources.limits.cpu"},
		"a volume's size":         {`{containers: [{name: a}], volumes: [{name: v, emptyDir: {sizeLimit: big}}]}`, ".volumes[0].emptyDir.sizeLimit"},
	}
	for name, tt := range tests {
		for holder, h := range holders {
			t.Run(name+" in "+holder, func(t *testing.T) {
				errs := admit(t.Context(), t, h.kind, fieldsOf(t, strings.Replace(h.manifest, "POD", tt.pod, 1)), nil)
				for _, err := range errs {
					if err.Field == h.path+tt.at || strings.HasSuffix(err.Detail, " in "+h.path+tt.at) {
						return
					}
				}
				t.Errorf("want an error at %s, got %v", h.path+tt.at, errs.ToAggregate())
			})
		}
	}
}

// What Kubernetes takes is taken, and stored as it is written: without defaults, which would change hashes, with fields of other versions of
// Kubernetes, and with nulls and empty texts, which charts render for what is absent.
func TestPodsAreStoredAsWritten(t *testing.T) {
	tests := map[string]string{
		"no defaults":                  `{containers: [{name: a, ports: [{containerPort: 80}], livenessProbe: {grpc: {port: 1}}, env: [{name: A, valueFrom: {configMapKeyRef: {key: a}}}]}], volumes: [{name: v, configMap: {}}]}`,
		"fields of another version":    `{podOfTheFuture: {a: 1}, containers: [{name: a, containerOfTheFuture: [1], resources: {later: {b: 2}}, securityContext: {later: true}, ports: [{containerPort: 80, later: x}]}]}`,
		"null is what is absent":       `{nodeSelector: null, volumes: null, securityContext: null, containers: [{name: a, image: null, env: null, resources: {limits: {cpu: null}, requests: null}, ports: null, imagePullPolicy: null}]}`,
		"an empty text is what is so":  `{dnsPolicy: "", containers: [{name: a, imagePullPolicy: "", terminationMessagePolicy: "", ports: [{containerPort: 80, protocol: ""}]}]}`,
		"quantities of all forms":      `{containers: [{name: a, resources: {limits: {cpu: 1, memory: 1Gi, "nvidia.com/gpu": "2"}, requests: {cpu: 0.5, memory: 1e3, ephemeral-storage: 1500m}}}]}`,
		"ports by name and by number":  `{containers: [{name: a, readinessProbe: {httpGet: {port: http}}, livenessProbe: {tcpSocket: {port: 8080}}}]}`,
		"two variables of one name":    `{containers: [{name: a, env: [{name: A, value: "1"}, {name: A, value: "2"}]}]}`,
		"a sidecar":                    `{initContainers: [{name: proxy, restartPolicy: Always}], containers: [{name: a}]}`,
		"a volume claim in a template": `{containers: [{name: a}], volumes: [{name: v, ephemeral: {volumeClaimTemplate: {metadata: {labels: {a: b}}, spec: {resources: {requests: {storage: 1Gi}}}}}}]}`,
	}
	for name, pod := range tests {
		for holder, h := range holders {
			t.Run(name+" in "+holder, func(t *testing.T) {
				manifest := strings.Replace(h.manifest, "POD", pod, 1)
				object := fieldsOf(t, manifest)
				if errs := admit(t.Context(), t, h.kind, object, nil); len(errs) > 0 {
					t.Error(errs.ToAggregate())
				}
				if diff := cmp.Diff(fieldsOf(t, manifest)["spec"], object["spec"]); diff != "" {
					t.Errorf("it is not stored as it was written:\n%s", diff)
				}
				text, err := json.Marshal(object)
				if err != nil {
					t.Fatal(err)
				}
				scheme := runtime.NewScheme()
				if err := v1alpha1.AddToScheme(scheme); err != nil {
					t.Fatal(err)
				}
				typed, err := scheme.New(v1alpha1.GroupVersion.WithKind(h.kind))
				if err != nil {
					t.Fatal(err)
				}
				if err := json.Unmarshal(text, typed); err != nil {
					t.Fatal(err)
				}
				if broken := unreadableOf(t, typed); len(broken) > 0 {
					t.Errorf("what the schema takes cannot be decoded: %s", broken)
				}
			})
		}
	}
}
