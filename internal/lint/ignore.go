package lint

import (
	"slices"
	"strings"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// Silenced is a finding that an annotation of its object silences.
type Silenced struct {
	Finding

	// Reason is the one that the annotation gives.
	Reason string
}

// ignored is what the annotation of an object silences.
type ignored struct {
	rules  []Rule
	reason string
}

// reasonMark is before the reason, which may contain anything.
const reasonMark = "--"

// readIgnored reads the annotation "rule, rule -- reason". Without a reason it silences nothing: the next reader could not tell whether it is still
// needed.
func (l *linter) readIgnored(o *object) {
	metadata, _ := o.fields["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	text, ok := annotations[v1alpha1.LintIgnoreAnnotation].(string)
	if !ok {
		return
	}
	const field = "metadata.annotations." + v1alpha1.LintIgnoreAnnotation
	names, reason, _ := strings.Cut(text, reasonMark)
	reason = strings.TrimSpace(reason)
	if reason == "" {
		l.report(IgnoreAnnotation, o, field, "%q gives no reason, so it silences nothing: write the reason after the rules, as in %q",
			text, strings.TrimSpace(names)+" -- why this is intended")
		return
	}
	o.ignored.reason = reason
	for name := range strings.SplitSeq(names, ",") {
		name = strings.TrimSpace(name)
		if !listed(Rule(name)) || Rule(name) == IgnoreAnnotation {
			l.report(IgnoreAnnotation, o, field, "there is no rule %q to silence%s", name, meant(name, ruleNames(), "`sluice lint --rules` lists them"))
			continue
		}
		o.ignored.rules = append(o.ignored.rules, Rule(name))
	}
}

func listed(r Rule) bool {
	return slices.ContainsFunc(rules, func(d RuleDoc) bool { return d.Name == r })
}

func ruleNames() []string {
	var names []string
	for _, d := range rules {
		if d.Name != IgnoreAnnotation {
			names = append(names, string(d.Name))
		}
	}
	return names
}
