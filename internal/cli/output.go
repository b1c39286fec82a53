package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/internal/clean"
)

// Formats of results, as kubectl has them.
const (
	outputJSON = "json"
	outputYAML = "yaml"
	outputWide = "wide"
	outputName = "name"
)

// output is how a result is printed. Without a format: for people.
type output struct {
	format  string
	allowed []string
}

func (o *output) flag(cmd *cobra.Command, allowed ...string) {
	o.allowed = allowed
	cmd.Flags().StringVarP(&o.format, "output", "o", "", "print the result for programs: one of "+strings.Join(allowed, ", "))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(allowed, noFiles)) // fails for unknown flags only
}

func (o *output) check() error {
	if o.format != "" && !slices.Contains(o.allowed, o.format) {
		return fmt.Errorf("--output %q is not one of %s", o.format, strings.Join(o.allowed, ", "))
	}
	return nil
}

func (o *output) set() bool { return o.format != "" }

// write prints a value as JSON or YAML.
func (o *output) write(a *app, value any) error {
	text, err := json.MarshalIndent(value, "", "    ")
	if err != nil {
		return err
	}
	if o.format != outputYAML {
		a.print("%s\n", clean.JSON(string(text)))
		return nil
	}
	asYAML, err := yamlOf(string(text))
	if err != nil {
		return err
	}
	a.print("%s", asYAML)
	return nil
}

// quoting stands behind each hidden character while JSON becomes YAML. The library has to escape it, and so quotes the text, in which the
// escape of the hidden character means that character. It is no character of any language, by definition.
const quoting = '\uffff'

// yamlOf is YAML with the meaning of a text of JSON, without hidden characters. The library takes some of them as they are, and refuses others.
func yamlOf(text string) (string, error) {
	if !strings.ContainsFunc(text, clean.IsHidden) {
		out, err := yaml.JSONToYAML([]byte(text))
		return string(out), err
	}
	var marked strings.Builder
	for _, r := range text {
		marked.WriteRune(r)
		if clean.IsHidden(r) {
			marked.WriteRune(quoting)
		}
	}
	out, err := yaml.JSONToYAML([]byte(strings.ReplaceAll(clean.Text(marked.String()), string(quoting), `\uffff`)))
	if err != nil {
		return "", err
	}
	return strings.ReplaceAll(clean.Text(string(out)), `\uFFFF`, ""), nil
}

// printObject prints an object as the API server has it, or its name.
func (o *output) printObject(a *app, u *unstructured.Unstructured) error {
	if o.format == outputName {
		a.print("%s\n", titled(u))
		return nil
	}
	return o.write(a, withoutManagers(u).Object)
}

// printList prints objects as one list, or their names.
func (o *output) printList(a *app, list *unstructured.UnstructuredList) error {
	if o.format == outputName {
		for i := range list.Items {
			a.print("%s\n", titled(&list.Items[i]))
		}
		return nil
	}
	items := make([]any, len(list.Items))
	for i := range list.Items {
		items[i] = withoutManagers(&list.Items[i]).Object
	}
	return o.write(a, map[string]any{"apiVersion": "v1", "kind": "List", "metadata": map[string]any{"resourceVersion": ""}, "items": items})
}

// withoutManagers leaves out who wrote which field, as kubectl does.
func withoutManagers(u *unstructured.Unstructured) *unstructured.Unstructured {
	u.SetManagedFields(nil)
	return u
}
