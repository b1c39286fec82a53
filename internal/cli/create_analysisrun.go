package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
	"github.com/sluice-delivery/sluice/internal/cli/live"
	"github.com/sluice-delivery/sluice/internal/spec"
	"github.com/sluice-delivery/sluice/internal/spelling"
)

// runMaking is how an AnalysisRun is made from a template.
type runMaking struct {
	from, fromFile     string
	global             bool
	arguments          []string
	name, generateName string
	instanceID         string
}

func (a *app) createAnalysisRunCommand() *cobra.Command {
	var how runMaking
	cmd := &cobra.Command{
		Use:     analysisRuns.noun,
		Aliases: analysisRuns.aliases,
		Short:   "Run an analysis from a template",
		Long: `Creates an AnalysisRun from an AnalysisTemplate, or with --global from a ClusterAnalysisTemplate, in the cluster or in a file.
Templates that it refers to are read from the file or from the cluster.`,
		Example: a.examples(`
			{} create analysisrun --from success-rate -a service=web
			{} create analysisrun --global --from success-rate -a service=web
			{} create analysisrun --from-file template.yaml --name try-1`),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if (how.from == "") == (how.fromFile == "") {
				return errors.New("from which template? Use one of --from NAME and --from-file FILE")
			}
			if how.name != "" && how.generateName != "" {
				return errors.New("use one of --name and --generate-name")
			}
			c, err := a.connect()
			if err != nil {
				return err
			}
			run, err := a.analysisRun(cmd.Context(), c, how)
			if err != nil {
				return err
			}
			return a.createAll(cmd.Context(), c, []*unstructured.Unstructured{run})
		},
	}
	f := cmd.Flags()
	f.StringVar(&how.from, "from", "", "name of the template")
	f.StringVar(&how.fromFile, "from-file", "", "file with the template; - for standard input")
	f.BoolVar(&how.global, "global", false, "the template is a ClusterAnalysisTemplate")
	f.StringArrayVarP(&how.arguments, "argument", "a", nil, "value of an argument of the template, as NAME=VALUE; may be repeated")
	f.StringVar(&how.name, "name", "", "name of the AnalysisRun")
	f.StringVar(&how.generateName, "generate-name", "", "prefix of the AnalysisRun's generated name; defaults to the template's name")
	f.StringVar(&how.instanceID, "instance-id", "", "instance ID of the controller that runs the analysis")
	return cmd
}

// analysisRun is the AnalysisRun to create.
func (a *app) analysisRun(ctx context.Context, c live.Client, how runMaking) (*unstructured.Unstructured, error) {
	given, err := parseArguments(how.arguments)
	if err != nil {
		return nil, err
	}
	ref := v1alpha1.AnalysisTemplateRef{TemplateName: how.from, ClusterScope: how.global}
	known := analysis.Templates{}
	if how.fromFile != "" {
		if ref, err = a.templatesOf(how.fromFile, known); err != nil {
			return nil, err
		}
	}
	if c.Interface != nil {
		if err := c.AddTemplates(ctx, known, ref); err != nil {
			return nil, err
		}
	}
	if _, found := known[ref]; !found {
		return nil, a.noTemplate(ctx, c, ref)
	}
	if err := a.checkArguments(known, given); err != nil {
		return nil, err
	}
	wanted := spec.Analysis{
		RolloutAnalysis: v1alpha1.RolloutAnalysis{Templates: []v1alpha1.AnalysisTemplateRef{ref}, Args: given},
		Field:           ref.TemplateName,
		Endless:         true, // a person can end it
	}
	runSpec, problems := analysis.Run(wanted, known, analysis.Source{Rollout: &v1alpha1.Rollout{}})
	if len(problems) > 0 {
		failures := make([]error, len(problems))
		for i, p := range problems {
			failures[i] = errors.New(p.Text)
		}
		return nil, errors.Join(failures...)
	}
	run := &v1alpha1.AnalysisRun{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.KindAnalysisRun},
		ObjectMeta: metav1.ObjectMeta{Name: how.name, GenerateName: how.generateName},
		Spec:       runSpec,
	}
	if run.Name == "" && run.GenerateName == "" {
		run.GenerateName = ref.TemplateName + "-"
	}
	if how.instanceID != "" {
		run.Labels = map[string]string{v1alpha1.InstanceIDLabel: how.instanceID}
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(run)
	if err != nil {
		return nil, fmt.Errorf("make an AnalysisRun of %s: %w", ref.TemplateName, err)
	}
	delete(object, "status") // nobody has measured yet
	return &unstructured.Unstructured{Object: object}, nil
}

func parseArguments(texts []string) ([]v1alpha1.AnalysisRunArgument, error) {
	var args []v1alpha1.AnalysisRunArgument
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("--argument %q is not NAME=VALUE", text)
		}
		args = append(args, v1alpha1.AnalysisRunArgument{Name: name, Value: value})
	}
	return args, nil
}

// templatesOf adds the templates of a file. The first one is measured; the others may be named by it.
func (a *app) templatesOf(file string, known analysis.Templates) (first v1alpha1.AnalysisTemplateRef, err error) {
	sources, err := readSources([]string{file}, false, a.In)
	if err != nil {
		return first, err
	}
	for _, s := range sources {
		objects, err := s.objects()
		if err != nil {
			return first, err
		}
		for _, u := range objects {
			if u.GetKind() != v1alpha1.KindAnalysisTemplate && u.GetKind() != v1alpha1.KindClusterAnalysisTemplate {
				continue
			}
			var template v1alpha1.AnalysisTemplate // of the same shape as one of the cluster
			if err := strictly(u.Object, &template); err != nil {
				return first, fmt.Errorf("%s: %s: %w", s.name, titled(u), err)
			}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &template); err != nil {
				return first, fmt.Errorf("%s: %s: %w", s.name, titled(u), err)
			}
			ref := v1alpha1.AnalysisTemplateRef{TemplateName: u.GetName(), ClusterScope: u.GetKind() == v1alpha1.KindClusterAnalysisTemplate}
			known[ref] = &template.Spec
			if first.TemplateName == "" {
				first = ref
			}
		}
	}
	if first.TemplateName == "" {
		return first, fmt.Errorf("there is no AnalysisTemplate and no ClusterAnalysisTemplate in %s: give a file with one", file)
	}
	return first, nil
}

// checkArguments finds arguments that have no value, and warns of values that no template asks for.
func (a *app) checkArguments(known analysis.Templates, given []v1alpha1.AnalysisRunArgument) error {
	valued, asked := map[string]bool{}, map[string]bool{}
	var names []string
	for _, template := range known {
		for _, arg := range template.Args {
			if !asked[arg.Name] {
				names = append(names, arg.Name)
			}
			asked[arg.Name] = true
			if arg.Value != nil || arg.ValueFrom != nil && arg.ValueFrom.SecretKeyRef != nil {
				valued[arg.Name] = true
			}
		}
	}
	for _, arg := range given {
		valued[arg.Name] = true
		if !asked[arg.Name] {
			text := fmt.Sprintf("Warning: no template has an argument %q", arg.Name)
			if near := spelling.Nearest(arg.Name, names); near != "" {
				text += fmt.Sprintf("; did you mean %q?", near)
			}
			a.tell("%s\n", text)
		}
	}
	var failures []error
	for _, name := range slices.Sorted(slices.Values(names)) {
		if !valued[name] {
			failures = append(failures, fmt.Errorf("argument %q has no value: give it one with -a %s=VALUE", name, name))
		}
	}
	return errors.Join(failures...)
}

// noTemplate is the error that there is no such template.
func (a *app) noTemplate(ctx context.Context, c live.Client, ref v1alpha1.AnalysisTemplateRef) error {
	resource, text := live.AnalysisTemplates, fmt.Sprintf("there is no AnalysisTemplate '%s' in namespace '%s'", ref.TemplateName, c.Namespace)
	if ref.ClusterScope {
		c.Namespace = ""
		resource, text = live.ClusterAnalysisTemplates, fmt.Sprintf("there is no ClusterAnalysisTemplate '%s'", ref.TemplateName)
	}
	names, err := c.Names(ctx, resource)
	if apierrors.IsNotFound(err) { // the resource, that is
		return err
	}
	if near := spelling.Nearest(ref.TemplateName, names); near != "" {
		text += fmt.Sprintf("; did you mean '%s'?", near)
	}
	return errors.New(text)
}
