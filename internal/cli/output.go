package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Formats of results, as kubectl has them.
const (
	outputJSON = "json"
	outputYAML = "yaml"
	outputWide = "wide"
	outputName = "name"
)

// output is how a result is to be printed. Without a format: for people.
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
	if o.format == outputYAML {
		text, err := yaml.Marshal(value)
		if err != nil {
			return err
		}
		a.print("%s", text)
		return nil
	}
	text, err := json.MarshalIndent(value, "", "    ")
	if err != nil {
		return err
	}
	a.print("%s\n", text)
	return nil
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
