package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
	"github.com/sluice-delivery/sluice/internal/cli/act"
	"github.com/sluice-delivery/sluice/internal/cli/live"
	"github.com/sluice-delivery/sluice/internal/metric/registry"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/sim/play"
)

// stage gathers what the update is played with.
func (a *app) stage(cmd *cobra.Command, args []string, s simulation) (play.Stage, error) {
	stage := play.Stage{
		PodStartup: s.startup, StopAtPauses: s.stop, Templates: analysis.Templates{}, Images: map[string]string{},
		Providers: registry.New(registry.Options{}).Names(),
	}
	resized := cmd.Flags().Changed("replicas")
	switch {
	case s.startup < 0:
		return stage, fmt.Errorf("--pod-startup must not be negative, got %s", s.startup)
	case resized && s.replicas < 0:
		return stage, fmt.Errorf("--replicas must not be negative, got %d", s.replicas)
	case len(args) > 1:
		return stage, fmt.Errorf("only one rollout can be simulated, not %q: leave the others out", args)
	case len(args) == 0 && len(s.files) == 0:
		return stage, fmt.Errorf("simulate what? Give a file, %s -f FILE, or the name of a rollout in the cluster", cmd.CommandPath())
	}
	images, err := act.ParseImages(s.images)
	if err != nil {
		return stage, fmt.Errorf("--image: %w", err)
	}
	for _, i := range images {
		stage.Images[i.Container] = i.Name
	}
	if s.scenario != "" {
		text, err := os.ReadFile(s.scenario)
		if errors.Is(err, os.ErrNotExist) {
			return stage, fmt.Errorf("there is no file %s", s.scenario)
		}
		if err != nil {
			return stage, err
		}
		if stage.Scenario, err = play.ParseScenario(s.scenario, string(text)); err != nil {
			return stage, err
		}
	}
	if len(s.files) > 0 {
		err = a.stageFiles(&stage, s, args)
	} else {
		err = a.stageLive(cmd, &stage, args[0])
	}
	if err == nil && resized {
		stage.Rollout.Spec.Replicas = &s.replicas
	}
	return stage, err
}

func (a *app) stageLive(cmd *cobra.Command, stage *play.Stage, name string) error {
	if len(stage.Images) == 0 {
		return fmt.Errorf("update %s to what? Give --image CONTAINER=IMAGE", name)
	}
	c, err := a.connect()
	if err != nil {
		return err
	}
	seen, err := c.Observe(cmd.Context(), name, a.clock.Now())
	if err != nil {
		return missing(cmd.Context(), c, name, err)
	}
	stage.Rollout, stage.Services, stage.Templates = seen.Rollout, seen.Services, seen.Templates
	stage.Stable = stableBeside(seen)
	if status := seen.Rollout.Status; stage.Stable == nil && status.StableRS != "" && status.StableRS != status.CurrentPodHash {
		stage.Warnings = append(stage.Warnings, fmt.Sprintf(
			"the ReplicaSet of the stable version, %s, is gone: what is played begins on the version of the update under way", status.StableRS))
	}
	for _, o := range seen.Routes {
		stage.Routes = append(stage.Routes, o)
	}
	if seen.Workload != nil {
		d, ok := seen.Workload.(*appsv1.Deployment)
		if !ok {
			return fmt.Errorf("rollout '%s' takes its template from a %s, and only Deployments can be simulated: write the template into a file, and simulate that with -f", name, stage.Rollout.Spec.WorkloadRef.Kind)
		}
		stage.Deployment = d
	}
	return a.stageLiveAutoscaler(cmd, c, stage)
}

// stageLiveAutoscaler reads what scales the Rollout, if the scenario has work for it: it takes a right that nothing else here asks for.
func (a *app) stageLiveAutoscaler(cmd *cobra.Command, c live.Client, stage *play.Stage) error {
	if !slices.ContainsFunc(stage.Scenario, func(e play.Event) bool { return e.Verb == "load" }) {
		return nil
	}
	all, err := c.Autoscalers(cmd.Context())
	if apierrors.IsForbidden(err) {
		stage.NoAutoscaler = fmt.Sprintf("you may not list horizontalpodautoscalers in namespace %q: ask for that right", c.Namespace)
		return nil
	}
	if err != nil {
		return err
	}
	if stage.Autoscaler = autoscalerOf(stage.Rollout, all); stage.Autoscaler == nil {
		stage.NoAutoscaler = fmt.Sprintf("none in namespace %q scales Rollout %q: create one", c.Namespace, stage.Rollout.Name)
	}
	return nil
}

// autoscalerOf is the one that scales the Rollout, nil if none of them does.
func autoscalerOf(ro *v1alpha1.Rollout, all []*autoscalingv2.HorizontalPodAutoscaler) *autoscalingv2.HorizontalPodAutoscaler {
	i := slices.IndexFunc(all, func(h *autoscalingv2.HorizontalPodAutoscaler) bool {
		target := h.Spec.ScaleTargetRef
		group, err := schema.ParseGroupVersion(target.APIVersion)
		elsewhere := h.Namespace != "" && ro.Namespace != "" && h.Namespace != ro.Namespace
		return err == nil && group.Group == v1alpha1.GroupVersion.Group && target.Kind == v1alpha1.KindRollout && target.Name == ro.Name && !elsewhere
	})
	if i < 0 {
		return nil
	}
	return all[i]
}

// stableBeside is what the stable version is made from while there is another one, nil if there is none.
func stableBeside(seen plan.Observed) *corev1.PodTemplateSpec {
	status := seen.Rollout.Status
	if status.StableRS == "" || status.StableRS == status.CurrentPodHash {
		return nil
	}
	for _, set := range seen.ReplicaSets {
		if set.Labels[v1alpha1.PodTemplateHashLabel] == status.StableRS {
			template := set.Spec.Template.DeepCopy()
			delete(template.Labels, v1alpha1.PodTemplateHashLabel)
			return template
		}
	}
	return nil // it was deleted
}
