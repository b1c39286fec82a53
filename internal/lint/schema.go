package lint

import (
	"context"
	encodingjson "encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/json"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/crd"
	"github.com/sluice-delivery/sluice/internal/hazard"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/spelling"
)

// ours are our kinds, as types.
var ours = map[string]func() any{
	v1alpha1.KindRollout:                 func() any { return &v1alpha1.Rollout{} },
	v1alpha1.KindExperiment:              func() any { return &v1alpha1.Experiment{} },
	v1alpha1.KindAnalysisRun:             func() any { return &v1alpha1.AnalysisRun{} },
	v1alpha1.KindAnalysisTemplate:        func() any { return &v1alpha1.AnalysisTemplate{} },
	v1alpha1.KindClusterAnalysisTemplate: func() any { return &v1alpha1.ClusterAnalysisTemplate{} },
}

// theirs are kinds of Kubernetes that ours name, by group and kind.
var theirs = map[string]func() any{
	"/ConfigMap":                func() any { return &corev1.ConfigMap{} },
	"/Service":                  func() any { return &corev1.Service{} },
	"/PodTemplate":              func() any { return &corev1.PodTemplate{} },
	"apps/Deployment":           func() any { return &appsv1.Deployment{} },
	"apps/ReplicaSet":           func() any { return &appsv1.ReplicaSet{} },
	"networking.k8s.io/Ingress": func() any { return &networkingv1.Ingress{} },
}

// checkObject looks at one object by itself.
func (l *linter) checkObject(ctx context.Context, o *object) error {
	ourKinds := slices.Sorted(maps.Keys(ours))
	switch {
	case o.group() != v1alpha1.GroupVersion.Group:
		if slices.Contains(ourKinds, o.kind) && o.apiVersion != "" {
			l.report(OtherGroup, o, "apiVersion", "%s of %q is not checked: write %q if you mean the one of Sluice", o.kind, o.apiVersion, v1alpha1.GroupVersion)
		}
		if make, known := theirs[o.group()+"/"+o.kind]; known {
			l.read(o, o.fields, make())
		}
		return nil
	case ours[o.kind] == nil:
		// Other products have kinds in this group too.
		if near := spelling.Nearest(o.kind, ourKinds); near != "" {
			l.report(UnknownKind, o, "kind", "there is no kind %q in %s; did you mean %q?", o.kind, o.apiVersion, near)
		}
		return nil
	case o.apiVersion != v1alpha1.GroupVersion.String():
		l.report(UnknownVersion, o, "apiVersion", "there is no version %q of %s: write %q", o.apiVersion, o.kind, v1alpha1.GroupVersion)
		return nil
	}
	return l.checkOurs(ctx, o)
}

func (l *linter) checkOurs(ctx context.Context, o *object) error {
	l.checkName(o)
	typed := ours[o.kind]()
	kind, _, err := crd.Of(o.kind)
	if err != nil {
		return err
	}
	fits := l.checkShape(o, typed)
	var misshapen field.ErrorList
	misshapen, o.broken = kind.Check(ctx, o.copy())
	l.refused(o, misshapen)
	l.read(o, fits, typed)
	return nil
}

// refused reports what the API server would say, unless it has been said already.
func (l *linter) refused(o *object, errs field.ErrorList) {
	for _, e := range errs {
		if !o.told(e.Field) {
			l.report(ruleOf(e), o, e.Field, "%s", errorText(e))
		}
		o.mistakes = append(o.mistakes, e.Field)
	}
}

// checkName: an object that is applied needs a name; and the names of children are made of it.
func (l *linter) checkName(o *object) {
	metadata, _ := o.fields["metadata"].(map[string]any)
	switch generated, _ := metadata["generateName"].(string); {
	case o.name == "" && generated == "":
		l.report(MissingField, o, "metadata.name", "is missing: give the object a name")
	case o.name != "":
		for _, text := range validation.IsDNS1123Subdomain(o.name) {
			l.report(InvalidName, o, "metadata.name", "%q is not a valid name: %s", o.name, text)
		}
	}
}

// checkRollout finds what the controller would refuse, as far as the schema does not, and what is hazardous.
func (l *linter) checkRollout(o *object, ro *v1alpha1.Rollout) {
	with := ro
	if ref := ro.Spec.WorkloadRef; ref != nil {
		if workload := l.workload(o, ref); workload != nil {
			var problems []spec.Problem
			with, problems = spec.WithWorkload(ro, workload)
			l.problems(InvalidSpec, o, problems)
		}
	}
	resolved, problems := spec.Resolve(with)
	l.problems(InvalidSpec, o, append(problems, spec.Policy{}.Problems(resolved)...))
	for _, h := range hazard.Of(with) {
		l.report(of(h.Kind), o, h.Field, "%s", h.Text)
	}
}

// problems reports what the controller would, unless it has been said already.
func (l *linter) problems(rule Rule, o *object, problems []spec.Problem) {
	for _, p := range problems {
		if !o.told(p.Field) {
			l.mistake(rule, o, p.Field, "%s", p.Text)
		}
	}
}

// read reads fields of an object as a type, for those who look at what it names.
func (l *linter) read(o *object, fields map[string]any, into any) {
	text, err := encodingjson.Marshal(fields)
	if err == nil {
		err = json.UnmarshalCaseSensitivePreserveInts(text, into)
	}
	if err == nil {
		o.typed = into
		l.unreadable(o, into)
		return
	}
	if len(o.mistakes) == 0 { // which may be why
		l.mistake(UnreadableValue, o, "", "it cannot be read: %s", err)
	}
}

// unreadable reports values in one of our kinds that are of the right sort and cannot be read all the same, such as quantities.
func (l *linter) unreadable(o *object, typed any) {
	var fields v1alpha1.Unreadable
	switch t := typed.(type) {
	case *v1alpha1.Rollout:
		fields = t.Unreadable
	case *v1alpha1.Experiment:
		fields = t.Unreadable
	case *v1alpha1.AnalysisRun:
		fields = t.Unreadable
	case *v1alpha1.AnalysisTemplate:
		fields = t.Spec.Unreadable
	case *v1alpha1.ClusterAnalysisTemplate:
		fields = t.Spec.Unreadable
	}
	for _, f := range fields {
		if !o.told(f.Path) {
			l.mistake(UnreadableValue, o, f.Path, "%s", f.Text)
		}
	}
}

// ruleOf names what the API server would reject: a field that is missing, or any other violation of the schema.
func ruleOf(e *field.Error) Rule {
	if e.Type == field.ErrorTypeRequired {
		return MissingField
	}
	return Schema
}

// errorText is what a schema has to say about a field, without what the reader sees anyway.
func errorText(e *field.Error) string {
	detail := strings.TrimPrefix(e.Detail, e.Field+" in body ")
	switch e.Type {
	case field.ErrorTypeRequired:
		if detail == "" || detail == "Required value" {
			return "is missing: set it"
		}
	case field.ErrorTypeNotSupported:
		return fmt.Sprintf("%q is not one of the %s", fmt.Sprint(e.BadValue), detail)
	case field.ErrorTypeDuplicate:
		return "is there twice: remove one of them, or give it another name"
	case field.ErrorTypeTypeInvalid, field.ErrorTypeInvalid, field.ErrorTypeNotFound, field.ErrorTypeForbidden, field.ErrorTypeTooLong,
		field.ErrorTypeTooMany, field.ErrorTypeTooShort, field.ErrorTypeTooFew, field.ErrorTypeInternal:
	}
	switch bound := limit.FindStringSubmatch(detail); {
	case detail == "":
		return e.ErrorBody()
	case detail == "should be at least 1 chars long":
		return "is empty: set it"
	case detail == "should have at least 1 items":
		return "is empty: list at least one"
	case e.Type == field.ErrorTypeTooMany:
		return fmt.Sprintf("has %v items, and %s: remove the others", e.BadValue, detail)
	case bound == nil:
		return withValue(detail, e.BadValue)
	case bound[1] == "less":
		return fmt.Sprintf("%v is too large: write %s or less", e.BadValue, bound[2])
	case bound[2] == "0":
		return fmt.Sprintf("%v is negative: write 0 or more", e.BadValue)
	default:
		return fmt.Sprintf("%v is too small: write %s or more", e.BadValue, bound[2])
	}
}

// limit is how a schema states a bound of a number.
var limit = regexp.MustCompile(`^should be (greater|less) than or equal to (\S+)$`)

// withValue adds the value to a text that does not have it, where it is short enough to be read.
func withValue(text string, value any) string {
	var shown string
	switch value := value.(type) {
	case string:
		if value != "" { // a rule about several fields has an empty one
			shown = strconv.Quote(value)
		}
	case bool, int32, int64, float64:
		shown = fmt.Sprint(value)
	}
	switch {
	case shown == "" || len(shown) > 100 || strings.Contains(text, shown):
		return text
	case strings.HasPrefix(text, "must "):
		return shown + " " + text
	}
	return text + ": it is " + shown
}
