package lint

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// Stdin is the name of the standard input, which is no path.
const Stdin = "<stdin>"

// File is one to look at.
type File struct {
	// Name is what findings call it.
	Name string
	Text []byte
}

// Severity is how bad a finding is.
type Severity string

// The severities.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Finding is one thing that is wrong, or may be.
type Finding struct {
	File string `json:"file"`
	// Line counts from 1.
	Line int `json:"line"`
	// Source is the template that Helm rendered the object from: the line is that of the output, not of the template.
	Source   string   `json:"source,omitempty"`
	Severity Severity `json:"severity"`
	// Rule is the name of what was found.
	Rule Rule `json:"rule"`
	// Object is the kind and name of the object: "Rollout web". Empty where it is the file that is wrong.
	Object string `json:"object,omitempty"`
	// Field is the path of the field, empty where it is the object that is wrong.
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

// String is the finding in one line, as compilers write it: the rule is last, in brackets.
func (f Finding) String() string {
	text := fmt.Sprintf("%s:%d: %s: ", f.File, f.Line, f.Severity)
	if f.Source != "" {
		text += f.Source + ": "
	}
	for _, part := range []string{f.Object, f.Field} {
		if part != "" {
			text += part + ": "
		}
	}
	return fmt.Sprintf("%s%s [%s]", text, f.Message, f.Rule)
}

// Result is what there is to say about files.
type Result struct {
	// Findings are in the order of the files, and by line.
	Findings []Finding
	// Silenced are findings that annotations silence, in the same order.
	Silenced []Silenced
	// Objects is the number of objects that were looked at.
	Objects int
}

// Count is the number of findings of a severity.
func (r Result) Count(s Severity) int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}

// Files looks at the objects of some files, each by itself and then all together. Without notifications, their ConfigMap is not checked. An error
// means that it could not be done.
func Files(ctx context.Context, files []File, notifications Notifications) (Result, error) {
	l := linter{order: map[string]int{}}
	for i, file := range files {
		l.order[file.Name] = i
		l.parse(file)
	}
	for _, o := range l.objects {
		if err := l.checkObject(ctx, o); err != nil {
			return Result{}, err
		}
	}
	l.checkReferences()
	if notifications != nil {
		if err := l.checkNotifications(ctx, notifications); err != nil {
			return Result{}, err
		}
	}
	for _, o := range l.objects {
		l.refused(o, o.broken)
	}
	slices.SortStableFunc(l.findings, l.compare)
	slices.SortStableFunc(l.silenced, func(a, b Silenced) int { return l.compare(a.Finding, b.Finding) })
	return Result{Findings: slices.Compact(l.findings), Silenced: slices.Compact(l.silenced), Objects: len(l.objects)}, nil
}

// linter collects objects and findings.
type linter struct {
	order    map[string]int
	objects  []*object
	findings []Finding
	silenced []Silenced
}

func (l *linter) compare(a, b Finding) int {
	return cmp.Or(cmp.Compare(l.order[a.File], l.order[b.File]), cmp.Compare(a.Line, b.Line))
}

// report adds a finding about a field of an object; an empty field is the object itself.
func (l *linter) report(rule Rule, o *object, field, format string, args ...any) {
	found := Finding{
		File: o.file, Line: o.line(field), Source: o.source, Severity: rule.severity(), Rule: rule, Object: o.title(), Field: field,
		Message: fmt.Sprintf(format, args...),
	}
	if slices.Contains(o.ignored.rules, rule) {
		l.silenced = append(l.silenced, Silenced{found, o.ignored.reason})
		return
	}
	l.findings = append(l.findings, found)
}

// mistake is report for what an object itself has wrong: no field is reported twice.
func (l *linter) mistake(rule Rule, o *object, field, format string, args ...any) {
	o.mistakes = append(o.mistakes, field)
	l.report(rule, o, field, format, args...)
}
