package lint

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// formats write a result, by name. The version is that of the program.
var formats = map[string]func(r Result, version string) (string, error){
	"text":   func(r Result, _ string) (string, error) { return lines(r.Findings, Finding.String), nil },
	"github": func(r Result, _ string) (string, error) { return lines(r.Findings, annotation), nil },
	"json": func(r Result, _ string) (string, error) {
		if r.Findings == nil {
			r.Findings = []Finding{} // a list without elements, not null
		}
		return indented(r.Findings)
	},
	"sarif": func(r Result, version string) (string, error) { return indented(sarifOf(r, version)) },
}

// Formats are the names of the formats in which a result can be written.
func Formats() []string { return slices.Sorted(maps.Keys(formats)) }

// Format writes the result in one of the formats. The version is that of the program that reports.
func (r Result) Format(format, version string) (string, error) {
	write, ok := formats[format]
	if !ok {
		return "", fmt.Errorf("%q is not one of %s", format, strings.Join(Formats(), ", "))
	}
	return write(r, version)
}

func lines(findings []Finding, line func(Finding) string) string {
	var text strings.Builder
	for _, f := range findings {
		text.WriteString(line(f) + "\n")
	}
	return text.String()
}

func indented(value any) (string, error) {
	text, err := json.MarshalIndent(value, "", "  ")
	return string(text) + "\n", err
}

// What GitHub requires to be escaped in the message of a workflow command, and in its properties.
var (
	inMessage  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	inProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// annotation is a finding as a workflow command of GitHub. A command without a file is shown on the page of the workflow.
func annotation(f Finding) string {
	var properties []string
	set := func(name, value string) { properties = append(properties, name+"="+inProperty.Replace(value)) }
	switch {
	case f.Source != "": // the line is not one of this file
		set("file", f.Source)
	case f.File != Stdin:
		set("file", f.File)
		set("line", fmt.Sprint(f.Line))
	}
	set("title", strings.TrimSpace(fmt.Sprintf("%s [%s]", f.Object, f.Rule)))
	return fmt.Sprintf("::%s %s::%s", f.Severity, strings.Join(properties, ","), inMessage.Replace(f.text()))
}

// text is the message with its field.
func (f Finding) text() string {
	if f.Field == "" {
		return f.Message
	}
	return f.Field + ": " + f.Message
}
