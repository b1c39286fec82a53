package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/internal/buildinfo"
	"github.com/sluice-delivery/sluice/internal/lint"
)

func (a *app) lintCommand() *cobra.Command {
	var (
		files        []string
		deep, strict bool
		rules        bool
		output       string
	)
	cmd := &cobra.Command{
		Use:   "lint -f FILE...",
		Short: "Find mistakes in manifests before you apply them",
		Long: `Finds mistakes in Rollouts, Experiments, AnalysisRuns, and analysis templates in files, without a cluster. The command reports all
mistakes at once, each with its line.

Errors are mistakes that the API server or the controller would reject: invalid YAML, unknown fields, values that violate the schema or
its rules, queries that are not valid PromQL, and references to objects in the same files that do not match (Services, workloads,
templates, and their arguments).
Warnings are possible mistakes: references to objects that are in none of the files, and valid specs that are risky. Objects of other
kinds are checked only if one of these refers to them. The ConfigMap of notifications is checked if the program sluice-notifier is installed.

Each finding ends with the name of its rule. To silence rules for one object, annotate it:

  rollouts.argoproj.io/lint-ignore: "no-readiness, moving-image -- started by hand, never serves"

The reason after the dashes is required. The last line of the output says how many findings were silenced.

Exit status: 0 if there are no errors, 1 if there are errors (with --strict, errors or warnings), or if the files cannot be read. Standard
input without a single object is an error too: the command before the pipe has probably failed.`,
		Example: a.examples(`
			{} lint -f web.yaml
			# A directory and its subdirectories
			{} lint -R -f deploy/
			# The output of Helm or Kustomize
			helm template ./chart | {} lint -
			kustomize build . | {} lint -
			# In a GitHub workflow, as annotations at the lines
			{} lint -R -f deploy/ -o github
			# For code scanning
			{} lint -R -f deploy/ -o sarif > sluice.sarif`),
		RunE: func(cmd *cobra.Command, args []string) error {
			if rules {
				a.print("%s", lintRules())
				return nil
			}
			files = append(files, args...)
			if len(files) == 0 {
				return fmt.Errorf("lint what? Give a file or a folder: %s -f FILE", cmd.CommandPath())
			}
			if !slices.Contains(lint.Formats(), output) {
				return fmt.Errorf("--output %q is not one of %s", output, join(lint.Formats()))
			}
			sources, err := readSources(files, deep, a.In)
			if err != nil {
				return err
			}
			result, err := a.lintSources(cmd.Context(), sources)
			if err != nil {
				return err
			}
			text, err := result.Format(output, buildinfo.Version())
			if err != nil {
				return err
			}
			a.print("%s", text)
			summary := lintSummary(result, len(sources))
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
	f.StringVarP(&output, "output", "o", "text", "output format: text, json, sarif, or github for annotations in a GitHub workflow")
	f.BoolVar(&rules, "rules", false, "list the rules and exit")
	f.BoolVar(&strict, "strict", false, "fail on warnings too")
	return cmd
}

// lintNotifications has the notifier check its ConfigMap.
func (a *app) lintNotifications(ctx context.Context, m *corev1.ConfigMap) ([]lint.Wrong, error) {
	if _, err := findNotifier(); err != nil {
		a.tell("the ConfigMap %s is not checked: %v\n", m.Name, err)
		return nil, nil
	}
	text, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	var answer bytes.Buffer
	if err := a.runNotifier(ctx, []string{"lint", "--config-map", "-", "--secret", ":empty", "--output", "json"}, bytes.NewReader(text), &answer); err != nil {
		return nil, err
	}
	var wrong []lint.Wrong
	if err := json.Unmarshal(answer.Bytes(), &wrong); err != nil {
		return nil, fmt.Errorf("read what %s says: %w", notifier, err)
	}
	return wrong, nil
}

func (a *app) lintSources(ctx context.Context, sources []source) (lint.Result, error) {
	texts := make([]lint.File, len(sources))
	for i, s := range sources {
		texts[i] = lint.File{Name: s.name, Text: s.text}
	}
	result, err := lint.Files(ctx, texts, a.lintNotifications)
	piped := slices.ContainsFunc(sources, func(s source) bool { return s.name == lint.Stdin })
	if err == nil && piped && result.Objects == 0 && len(result.Findings) == 0 {
		return result, errors.New("there is no object in the standard input: did the command before the pipe fail?")
	}
	return result, err
}

func lintSummary(r lint.Result, files int) string {
	text := fmt.Sprintf("%s and %s in %s of %s", count(r.Count(lint.Error), "error"), count(r.Count(lint.Warning), "warning"),
		count(r.Objects, "object"), count(files, "file"))
	if n := len(r.Silenced); n > 0 {
		text += fmt.Sprintf(", %d silenced", n)
	}
	return text
}

func lintRules() string {
	var text strings.Builder
	for _, r := range lint.Rules() {
		fmt.Fprintf(&text, "%-22s %-8s %s\n", r.Name, r.Severity, strings.ReplaceAll(r.About, "`", ""))
	}
	return text.String()
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
