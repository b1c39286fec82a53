package lint

import (
	"regexp"
	"slices"
	"strings"

	"github.com/sluice-delivery/sluice/internal/hazard"
)

// Rule is the name of what a finding is about. Names are stable: people silence them, and programs count them.
type Rule string

// The rules that find mistakes in files and objects.
const (
	InvalidYAML         Rule = "invalid-yaml"
	DuplicateKey        Rule = "duplicate-key"
	NotAnObject         Rule = "not-an-object"
	MissingField        Rule = "missing-field"
	UnknownField        Rule = "unknown-field"
	WrongType           Rule = "wrong-type"
	UnknownKind         Rule = "unknown-kind"
	UnknownVersion      Rule = "unknown-version"
	OtherGroup          Rule = "other-group"
	InvalidName         Rule = "invalid-name"
	Schema              Rule = "schema"
	InvalidSpec         Rule = "invalid-spec"
	UnreadableValue     Rule = "unreadable-value"
	DuplicateObject     Rule = "duplicate-object"
	MissingObject       Rule = "missing-object"
	ServiceType         Rule = "service-type"
	ServiceOwner        Rule = "service-owner"
	ServiceSelector     Rule = "service-selector"
	InvalidRoute        Rule = "invalid-route"
	InvalidAnalysis     Rule = "invalid-analysis"
	InvalidCondition    Rule = "invalid-condition"
	InvalidQuery        Rule = "invalid-query"
	UndeclaredArgument  Rule = "undeclared-argument"
	UnusedArgument      Rule = "unused-argument"
	AbsentField         Rule = "absent-field"
	TemplateWithout     Rule = "template-without-ports"
	InvalidPlugin       Rule = "invalid-plugin"
	InvalidNotification Rule = "invalid-notification"
	IgnoreAnnotation    Rule = "lint-ignore"
)

// RuleDoc describes a rule.
type RuleDoc struct {
	Name     Rule
	Severity Severity
	// About is what the rule finds, and why that matters.
	About string
	// Fix is what to do.
	Fix string
}

// Rules are all rules, by name.
func Rules() []RuleDoc {
	return slices.SortedFunc(slices.Values(rules), func(a, b RuleDoc) int { return strings.Compare(string(a.Name), string(b.Name)) })
}

var rules = []RuleDoc{
	{InvalidYAML, Error, "The document is not valid YAML. Other documents of the file are still checked.", "Fix the syntax at the line."},
	{DuplicateKey, Error, "A mapping has the same key twice. The last one would win.", "Remove one of them."},
	{NotAnObject, Error, "The document is not a Kubernetes object.", "Write `apiVersion`, `kind`, `metadata`, and the rest as keys and values."},
	{MissingField, Error, "A required field is missing or empty.", "Add the field."},
	{UnknownField, Error, "The type has no such field. The API server would drop it.", "Fix the spelling, or move the field to where it belongs."},
	{WrongType, Error, "The value has the wrong type, or the number is too large for the field.", "Write a value of the type that the message names."},
	{UnknownKind, Error, "The API group has no such kind, but one with a similar name.", "Fix the spelling of `kind`."},
	{UnknownVersion, Error, "The kind has no such version.", "Write `argoproj.io/v1alpha1`."},
	{OtherGroup, Warning, "The object has the kind of a Rollout, Experiment, or analysis, but another API group. It is not checked.", "Write `apiVersion: argoproj.io/v1alpha1`, if that is what you mean."},
	{InvalidName, Error, "The API server does not allow the name.", "Use lowercase letters, digits, `-`, and `.`."},
	{Schema, Error, "The value violates the schema of the CRD or one of its rules. `kubectl apply` would fail.", "Write what the message says."},
	{InvalidSpec, Error, "The controller would reject the value with the condition `InvalidSpec`, and do nothing until it is fixed.", "Write what the message says."},
	{UnreadableValue, Error, "The value has the right type, but the controller cannot parse it, for example a quantity.", "Write what the message says."},
	{DuplicateObject, Error, "Two objects in the files have the same kind, namespace, and name. The last one applied would win.", "Remove or rename one of them."},
	{MissingObject, Warning, "The field names an object that is not in the files, although they contain others of its kind.", "Fix the name, or ignore the warning if the object exists in the cluster."},
	{ServiceType, Error, "The Service selects no pods, for example because its type is ExternalName.", "Use a Service with a selector."},
	{ServiceOwner, Error, "Another Rollout manages the Service. Both would change its selector.", "Give each Rollout its own Service."},
	{ServiceSelector, Error, "The selector of the Service does not match the labels of the pod template. The Service would have no endpoints.", "Change the selector, or the labels of the pod template."},
	{InvalidRoute, Error, "The traffic router cannot split the route or Ingress that is in the files.", "Write what the message says."},
	{InvalidAnalysis, Error, "The templates and arguments of an analysis do not make a valid AnalysisRun.", "Write what the message says."},
	{InvalidCondition, Error, "A `successCondition` or `failureCondition` is not a valid expression.", "Fix the expression."},
	{InvalidQuery, Error, "A query is not valid PromQL, whatever the values of its arguments are. Every measurement would be an error.", "Fix the query."},
	{UndeclaredArgument, Error, "A metric uses an argument that the template does not declare.", "Add it to `spec.args`, or fix the spelling."},
	{UnusedArgument, Warning, "The analysis passes an argument that no template declares. The value is ignored.", "Fix the spelling, or remove the argument."},
	{AbsentField, Warning, "An argument takes its value from a field that this Rollout does not have.", "Add the field, or fix the path."},
	{TemplateWithout, Warning, "A template of an experiment requests a Service, but its containers declare no ports. It gets no Service.", "Declare the ports of the containers."},
	{InvalidPlugin, Error, "The ConfigMap `argo-rollouts-config` lists a plugin that the controller cannot use. Other plugins still work.", "Write what the message says."},
	{InvalidNotification, Error, "An entry of the ConfigMap `argo-rollouts-notification-configmap` cannot be used, or does nothing. Checked if the program `sluice-notifier` is installed.", "Write what the message says."},
	{IgnoreAnnotation, Warning, "The annotation that silences rules has no reason, or names a rule that does not exist.", "Write `rule, rule -- reason`."},

	{of(hazard.CanaryOverload), Warning, "A step sends the canary a larger share of the traffic than its share of the pods, because `setCanaryScale` sets its size.", "Set more pods, or `setCanaryScale: {matchTrafficWeight: true}`."},
	{of(hazard.EmptiedCanary), Warning, "A step scales the canary down to zero, and a later step scales it up again.", "Reorder the steps as the message says."},
	{of(hazard.CoarseWeight), Warning, "Without a traffic router, there are too few pods for the weight.", "Use more replicas, or a traffic router."},
	{of(hazard.AllUnavailable), Warning, "All pods may be unavailable at the same time.", "Lower `maxUnavailable`."},
	{of(hazard.NoReadiness), Warning, "No container has a readiness probe, so a pod receives traffic as soon as it runs.", "Add a `readinessProbe`, or `minReadySeconds`."},
	{of(hazard.NoPreStop), Warning, "No container has a `preStop` hook, so a deleted pod may lose the requests that proxies still send it.", "Add `lifecycle.preStop` with a sleep of 5 to 15 s."},
	{of(hazard.MovingImage), Warning, "The image has no tag or the tag `latest`, so pods of one version may run different images.", "Use a tag for each version, or a digest."},
	{of(hazard.ShortDelay), Warning, "Old pods are deleted while load balancers may still send them traffic.", "Set `scaleDownDelaySeconds` to 30 or more."},
	{of(hazard.KeptForever), Warning, "The pods of an aborted update are kept until the next update.", "Set `abortScaleDownDelaySeconds` to 1 or more."},
	{of(hazard.LargePreview), Warning, "The preview has more pods than the active version. It is scaled down before the switch.", "Lower `previewReplicaCount`."},
	{of(hazard.NoEffect), Warning, "The field has no effect where it is.", "Remove it, or add what the message names."},
	{of(hazard.NoHistory), Warning, "No earlier version is kept, so there is nothing to undo to.", "Set `revisionHistoryLimit` to 1 or more."},
}

var hump = regexp.MustCompile(`([a-z])([A-Z])`)

// of is the rule that reports a hazard.
func of(kind hazard.Kind) Rule {
	return Rule(strings.ToLower(hump.ReplaceAllString(string(kind), "$1-$2")))
}

// severity of a rule. A finding without a rule in the table would be an error that nobody can look up, which a test prevents.
func (r Rule) severity() Severity {
	if i := slices.IndexFunc(rules, func(d RuleDoc) bool { return d.Name == r }); i >= 0 {
		return rules[i].Severity
	}
	return Error
}
