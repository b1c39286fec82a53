package main

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// podsYAML has pod templates and Jobs as controller-gen writes them, podMetadataYAML what our rules need of their metadata.
var (
	//go:embed pods/schemas.sluice_pods.yaml
	podsYAML []byte
	//go:embed pod_metadata.yaml
	podMetadataYAML []byte
)

// words are the values that the API server takes for fields of pods and Jobs, by the names of the fields. An empty text counts as none there,
// which templates of charts make use of. Fields whose values newer versions of Kubernetes add to are not among them. They become patterns:
// an enum would refuse null, which counts as none too.
var words = map[string][]string{
	"imagePullPolicy":          {"", "Always", "IfNotPresent", "Never"},
	"dnsPolicy":                {"", "ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"},
	"protocol":                 {"", "TCP", "UDP", "SCTP"},
	"scheme":                   {"", "HTTP", "HTTPS"},
	"effect":                   {"", "NoSchedule", "PreferNoSchedule", "NoExecute"},
	"terminationMessagePolicy": {"", "File", "FallbackToLogsOnError"},
	"whenUnsatisfiable":        {"DoNotSchedule", "ScheduleAnyway"},
	"mountPropagation":         {"", "None", "HostToContainer", "Bidirectional"},
	"completionMode":           {"", "NonIndexed", "Indexed"},
}

// numbers are the smallest and the largest values of fields of pods and Jobs, by the names of the fields.
var numbers = map[string][2]float64{
	"containerPort":                 {1, 65535},
	"hostPort":                      {0, 65535},
	"terminationGracePeriodSeconds": {0, 1<<31 - 1},
	"initialDelaySeconds":           {0, 1<<31 - 1},
	"timeoutSeconds":                {0, 1<<31 - 1},
	"periodSeconds":                 {0, 1<<31 - 1},
	"successThreshold":              {0, 1<<31 - 1},
	"failureThreshold":              {0, 1<<31 - 1},
	"backoffLimit":                  {0, 1<<31 - 1},
	"activeDeadlineSeconds":         {0, 1<<31 - 1},
	"completions":                   {0, 1<<31 - 1},
	"parallelism":                   {0, 1<<31 - 1},
	"ttlSecondsAfterFinished":       {0, 1<<31 - 1},
}

// pods are the schemas of what our kinds take from Kubernetes.
type pods struct {
	template, job, metadata apiextensionsv1.JSONSchemaProps
}

func readPods() (pods, error) {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(podsYAML, &crd); err != nil {
		return pods{}, fmt.Errorf("pods: %w", err)
	}
	var p pods
	if err := yaml.UnmarshalStrict(podMetadataYAML, &p.metadata); err != nil {
		return pods{}, fmt.Errorf("pod_metadata.yaml: %w", err)
	}
	properties := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties
	p.template, p.job = properties["template"], properties["job"]
	loosen(&p.template)
	loosen(&p.job)
	p.finishTemplate(&p.template, "Always")
	spec := p.template.Properties["spec"]
	spec.Required = nil // rules ask for containers, and say where none are needed
	p.template.Properties["spec"] = spec
	template := p.job.Properties["template"]
	p.finishTemplate(&template, "Never", "OnFailure")
	p.job.Properties["template"] = template
	return p, nil
}

// finishTemplate gives a pod template the metadata that rules need, and the restart policies that there may be.
func (p *pods) finishTemplate(template *apiextensionsv1.JSONSchemaProps, policies ...string) {
	template.Properties["metadata"] = *p.metadata.DeepCopy()
	template.Required = nil
	spec := template.Properties["spec"]
	spec.Description = "How the pods run: all fields of a pod's spec, which `kubectl explain pod.spec` describes. Fields of other Kubernetes versions are kept."
	delete(spec.Properties, "ephemeralContainers") // which no template has
	policy := spec.Properties["restartPolicy"]
	policy.Enum, policy.Nullable = texts(policies), false
	spec.Properties["restartPolicy"] = policy
	for _, list := range []string{"containers", "initContainers"} {
		name := spec.Properties[list].Items.Schema.Properties["name"]
		name.MaxLength, name.Pattern = new(int64(maxLabelValueLength)), "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
		spec.Properties[list].Items.Schema.Properties["name"] = name
	}
	template.Properties["spec"] = spec
}

// loosen takes out of a schema what an API server must not do to a template that is hashed or that another version of Kubernetes has
// written: add defaults, drop fields, refuse what Kubernetes itself takes for absent. It adds the values that Kubernetes checks in code.
func loosen(schema *apiextensionsv1.JSONSchemaProps) {
	schema.Default, schema.Description, schema.XValidations = nil, "", nil
	schema.XListType, schema.XListMapKeys, schema.XMapType = nil, nil, nil
	schema.Nullable = true
	if schema.XIntOrString && schema.Pattern != "" { // a quantity, which may be a number with a fraction too: cpu: 0.5
		schema.XIntOrString, schema.AnyOf, schema.XPreserveUnknownFields = false, nil, new(true)
		schema.MaxLength = new(int64(maxIntOrStringText))
	}
	if len(schema.Properties) > 0 || schema.Type == "object" && schema.AdditionalProperties == nil {
		schema.XPreserveUnknownFields = new(true)
	}
	for name, property := range schema.Properties {
		if property.Default != nil {
			schema.Required = slices.DeleteFunc(schema.Required, func(required string) bool { return required == name })
		}
		loosen(&property)
		restrict(name, &property)
		schema.Properties[name] = property
	}
	if schema.Items != nil {
		loosen(schema.Items.Schema)
		schema.Items.Schema.Nullable = false
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		loosen(schema.AdditionalProperties.Schema)
	}
}

func restrict(name string, property *apiextensionsv1.JSONSchemaProps) {
	if values, ok := words[name]; ok && property.Type == "string" {
		property.Pattern = "^(" + strings.Join(values, "|") + ")$"
	}
	if limits, ok := numbers[name]; ok && property.Type == "integer" {
		property.Minimum, property.Maximum = new(limits[0]), new(limits[1])
	}
}

func texts(values []string) []apiextensionsv1.JSON {
	all := make([]apiextensionsv1.JSON, len(values))
	for i, value := range values {
		all[i] = apiextensionsv1.JSON{Raw: fmt.Appendf(nil, "%q", value)}
	}
	return all
}

// putIn gives the schema of a kind the schemas of the pods and Jobs in it.
func (p *pods) putIn(kind string, spec *apiextensionsv1.JSONSchemaProps) error {
	switch kind {
	case "Rollout":
		return replace(spec, "template", p.template)
	case "Experiment":
		return replace(spec, "templates[].template", p.template)
	case "AnalysisTemplate", "ClusterAnalysisTemplate", "AnalysisRun":
		return errors.Join(replace(spec, "metrics[].provider.job.spec", p.job), replace(spec, "metrics[].provider.job.metadata", p.metadata))
	}
	return nil
}

// replace puts a schema in the place of a field, whose description stays. A name with [] is a list, and the path goes on in its items.
func replace(schema *apiextensionsv1.JSONSchemaProps, path string, with apiextensionsv1.JSONSchemaProps) error {
	name, below, further := strings.Cut(path, ".")
	name, list := strings.CutSuffix(name, "[]")
	field, ok := schema.Properties[name]
	if !ok {
		return fmt.Errorf("there is no field %s", path)
	}
	switch {
	case list:
		if err := replace(field.Items.Schema, below, with); err != nil {
			return err
		}
	case further:
		if err := replace(&field, below, with); err != nil {
			return err
		}
	default:
		description := field.Description
		field = *with.DeepCopy()
		field.Description, field.Nullable = description, false
	}
	schema.Properties[name] = field
	return nil
}
