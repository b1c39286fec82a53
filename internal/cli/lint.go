package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-delivery/sluice/internal/lint"
)

// lintFormats write findings, by the name that --output gives.
var lintFormats = map[string]func(*app, lint.Result) error{
	"text": func(a *app, r lint.Result) error {
		for _, f := range r.Findings {
			a.print("%s\n", f)
		}
		return nil
	},
	"json": func(a *app, r lint.Result) error {
		if r.Findings == nil {
			r.Findings = []lint.Finding{} // a list without elements, not null
		}
		text, err := json.MarshalIndent(r.Findings, "", "  ")
		if err != nil {
			return err
		}
		a.print("%s\n", text)
		return nil
	},
	"github": func(a *app, r lint.Result) error {
		for _, f := range r.Findings {
			a.print("%s\n", annotation(f))
		}
		return nil
	},
}

func (a *app) lintCommand() *cobra.Command {
	var (
		files        []string
		deep, strict bool
		output       string
	)
	cmd := &cobra.Command{
		Use:   "lint -f FILE...",
		Short: "Find mistakes in manifests before you apply them",
		Long: `Finds mistakes in Rollouts, Experiments, AnalysisRuns, and analysis templates in files, without a cluster. The command reports all
mistakes at once, each with its line.

Errors are mistakes that the API server or the controller would reject: invalid YAML, unknown fields, values that violate the schema or
its rules, and references to objects in the same files that do not match (Services, workloads, templates, and their arguments).
Warnings are possible mistakes: references to objects that are in none of the files, and valid specs that are risky. Objects of other
kinds are checked only if one of these refers to them.`,
		Example: a.examples(`
			{} lint -f web.yaml
			# A folder and what is below it
			{} lint -R -f deploy/
			# What Helm or Kustomize make
			kustomize build . | {} lint -f -
			# In a GitHub workflow, as remarks at the lines
			{} lint -R -f deploy/ -o github`),
		RunE: func(cmd *cobra.Command, args []string) error {
			files = append(files, args...)
			if len(files) == 0 {
				return fmt.Errorf("lint what? Give a file or a folder: %s -f FILE", cmd.CommandPath())
			}
			write, known := lintFormats[output]
			if !known {
				return fmt.Errorf("--output %q is not one of text, json, github", output)
			}
			sources, err := readSources(files, deep, a.In)
			if err != nil {
				return err
			}
			texts := make([]lint.File, len(sources))
			for i, s := range sources {
				texts[i] = lint.File{Name: s.name, Text: s.text}
			}
			result, err := lint.Files(cmd.Context(), texts)
			if err != nil {
				return err
			}
			if err := write(a, result); err != nil {
				return err
			}
			summary := fmt.Sprintf("%s and %s in %s of %s", count(result.Count(lint.Error), "error"), count(result.Count(lint.Warning), "warning"),
				count(result.Objects, "object"), count(len(sources), "file"))
			if result.Count(lint.Error) > 0 || strict && len(result.Findings) > 0 {
				return fmt.Errorf("%s", summary)
			}
			a.tell("%s\n", summary)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringSliceVarP(&files, "filename", "f", nil, "file or directory to check; - for standard input")
	f.BoolVarP(&deep, "recursive", "R", false, "recurse into subdirectories")
	f.StringVarP(&output, "output", "o", "text", "output format: text, json, or github for annotations in a GitHub workflow")
	f.BoolVar(&strict, "strict", false, "fail on warnings too")
	return cmd
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// What GitHub wants written otherwise in the message of a workflow command, and in its properties.
var (
	inMessage  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	inProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// annotation is a finding as a workflow command of GitHub.
func annotation(f lint.Finding) string {
	message := f.Message
	if f.Field != "" {
		message = f.Field + ": " + message
	}
	title := ""
	if f.Object != "" {
		title = ",title=" + inProperty.Replace(f.Object)
	}
	return fmt.Sprintf("::%s file=%s,line=%d%s::%s", f.Severity, inProperty.Replace(f.File), f.Line, title, inMessage.Replace(message))
}
