package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/cli/live"
)

func (a *app) createCommand() *cobra.Command {
	var (
		files []string
		get   = getting{app: a}
	)
	cmd := a.group("create", "Create rollouts, experiments, analysis runs and templates", a.createAnalysisRunCommand())
	cmd.Long = `Creates the objects that files describe: Rollouts, Experiments, AnalysisRuns, AnalysisTemplates and ClusterAnalysisTemplates.

With -w, the command then shows the Rollout or Experiment until you press Ctrl-C.`
	cmd.Example = a.examples(`
		{} create -f web.yaml
		# And watch it
		{} create -f compare.yaml -w
		{} create -f - < web.yaml`)
	refuse := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) > 0:
			return refuse(cmd, args)
		case len(files) == 0:
			return fmt.Errorf("create what? Give a file with -f, or see '%s --help'", cmd.CommandPath())
		}
		objects, err := a.creatable(files)
		if err != nil {
			return err
		}
		c, err := a.connect()
		if err != nil {
			return err
		}
		if !get.watch {
			return a.createAll(cmd.Context(), c, objects)
		}
		if err := get.only(objects); err != nil {
			return err
		}
		if err := a.createAll(cmd.Context(), c, objects); err != nil {
			return err
		}
		c.Namespace = namespaceOf(c, objects[0])
		return get.show(cmd.Context(), c, get.screen(), objects[0].GetName())
	}
	cmd.Flags().StringSliceVarP(&files, "filename", "f", nil, "file or directory with the objects to create; - for standard input")
	cmd.Flags().BoolVarP(&get.watch, "watch", "w", false, "watch the created object until you press Ctrl-C")
	cmd.Flags().BoolVar(&get.noColor, "no-color", false, "disable colors; also disabled in a pipe and if NO_COLOR is set")
	return cmd
}

// creators say what the kinds of objects that can be created are made through.
var creators = map[string]func(c live.Client, namespace string) dynamic.ResourceInterface{
	v1alpha1.KindRollout: func(c live.Client, ns string) dynamic.ResourceInterface {
		return c.Resource(live.Rollouts).Namespace(ns)
	},
	v1alpha1.KindExperiment: func(c live.Client, ns string) dynamic.ResourceInterface {
		return c.Resource(live.Experiments).Namespace(ns)
	},
	v1alpha1.KindAnalysisRun: func(c live.Client, ns string) dynamic.ResourceInterface {
		return c.Resource(live.AnalysisRuns).Namespace(ns)
	},
	v1alpha1.KindAnalysisTemplate: func(c live.Client, ns string) dynamic.ResourceInterface {
		return c.Resource(live.AnalysisTemplates).Namespace(ns)
	},
	v1alpha1.KindClusterAnalysisTemplate: func(c live.Client, _ string) dynamic.ResourceInterface {
		return c.Resource(live.ClusterAnalysisTemplates)
	},
}

// creatable are the objects that the files describe, if all of them are of kinds that can be created.
func (a *app) creatable(files []string) ([]*unstructured.Unstructured, error) {
	sources, err := readSources(files, false, a.In)
	if err != nil {
		return nil, err
	}
	var all []*unstructured.Unstructured
	for _, s := range sources {
		objects, err := s.objects()
		if err != nil {
			return nil, err
		}
		for _, u := range objects {
			if u.GroupVersionKind().Group != v1alpha1.GroupVersion.Group || creators[u.GetKind()] == nil {
				return nil, fmt.Errorf("%s: %s is not for this command, which creates %s; use kubectl create. Nothing was created",
					s.name, titled(u), join(slices.Sorted(maps.Keys(creators))))
			}
		}
		all = append(all, objects...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("there is no object in %s: give a file with manifests", join(files))
	}
	return all, nil
}

// createAll creates objects and says of each that it is done. One that fails does not keep it from the others.
func (a *app) createAll(ctx context.Context, c live.Client, objects []*unstructured.Unstructured) error {
	var failures []error
	for i, u := range objects {
		created, err := creators[u.GetKind()](c, namespaceOf(c, u)).Create(ctx, u, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
		if err != nil {
			failures = append(failures, err)
			continue
		}
		objects[i] = created
		a.print("%s created\n", titled(created))
	}
	return errors.Join(failures...)
}

// namespaceOf is where an object goes: the namespace that it names, or the one that the command is about.
func namespaceOf(c live.Client, u *unstructured.Unstructured) string {
	if ns := u.GetNamespace(); ns != "" {
		return ns
	}
	return c.Namespace
}

// only checks that there is one object, which can be shown, and finds out how.
func (g *getting) only(objects []*unstructured.Unstructured) error {
	if len(objects) == 1 {
		switch objects[0].GetKind() {
		case v1alpha1.KindRollout:
			g.follow = live.Client.Follow
			return nil
		case v1alpha1.KindExperiment:
			g.follow = live.Client.FollowExperiment
			return nil
		}
	}
	return errors.New("--watch shows one Rollout or one Experiment: give a file with just that. Nothing was created")
}
