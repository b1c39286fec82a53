package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis"
	"github.com/sluice-delivery/sluice/internal/cli/live"
	"github.com/sluice-delivery/sluice/internal/hazard"
	"github.com/sluice-delivery/sluice/internal/metric/registry"
	"github.com/sluice-delivery/sluice/internal/plan"
	"github.com/sluice-delivery/sluice/internal/sim/play"
	"github.com/sluice-delivery/sluice/internal/view"
)

// simulation is what the flags of the command say.
type simulation struct {
	files    []string
	deep     bool
	images   []string
	startup  time.Duration
	replicas int32
	scenario string
	expect   []string
	stop     bool
	output   string
}

func (a *app) simulateCommand() *cobra.Command {
	var s simulation
	cmd := &cobra.Command{
		Use:   "simulate (-f FILE... | NAME --image CONTAINER=IMAGE)",
		Short: "See how an update would go, before it runs",
		Long: `Plays an update in virtual time and tells what will happen: when each step begins, how many pods each version has, who gets the
traffic, what is waited for, how long it takes, how many pods there are at most and how many can serve at least.

What decides is Sluice's own engine. The Rollout, and the Services, AnalysisTemplates and workloads that it names, come from files or,
with a NAME, from the cluster, in which nothing is changed. Pods take --pod-startup to become ready. Measurements are good unless the
scenario says otherwise; when they are made and how they are judged is as in the cluster.

A scenario has lines such as these, with times since the update began:

  at 2m scale 20
  at 3m image web=v3
  at 4m promote            # also promote-full, abort, retry, undo, pause, resume, restart
  at 5m fail metric error-rate             # also pass, inconclusive, error, nodata
  at 6m value metric error-rate 0.2        # judged by the metric's conditions
  at 6m takes metric smoke-test 90s
  at 7m break pods         # of the current version; also crash pods, kill 2 pods, and mend pods
  at 8m load 14            # for the HorizontalPodAutoscaler: work for 14 pods
  at 9m delete service web-canary          # until: restore service web-canary

--expect fails the command where something is not so: promoted, aborted, healthy, degraded, paused, or a comparison of duration,
max-pods or min-capacity, such as 'duration<20m'. The exit status is 2 then, and 1 where the update could not be played.`,
		Example: a.examples(`
			{} simulate -f web.yaml
			# What if error-rate fails after five minutes
			{} simulate -f deploy/ --scenario bad.txt --expect aborted --expect 'min-capacity>=8'
			# A rollout of the cluster
			{} simulate web --image web=registry/web:2
			# One page to look at
			{} simulate -f web.yaml -o html > web.html`),
		RunE: func(cmd *cobra.Command, args []string) error { return a.simulate(cmd, args, s) },
	}
	f := cmd.Flags()
	f.StringSliceVarP(&s.files, "filename", "f", nil, "file, or folder of files, with the Rollout and what it names; - for the standard input")
	f.BoolVarP(&s.deep, "recursive", "R", false, "look into the folders of folders too")
	f.StringArrayVar(&s.images, "image", nil, "what to update to, as CONTAINER=IMAGE")
	f.DurationVar(&s.startup, "pod-startup", 10*time.Second, "how long a pod takes to become ready")
	f.Int32Var(&s.replicas, "replicas", -1, "play with another number of pods")
	f.StringVar(&s.scenario, "scenario", "", "file with what happens meanwhile")
	f.StringArrayVar(&s.expect, "expect", nil, "fail unless this is so, for example promoted or 'duration<20m'")
	f.BoolVar(&s.stop, "stop-at-pauses", false, "end where a person would have to promote")
	f.StringVarP(&s.output, "output", "o", "text", "how to tell it: text, json, html for one page that needs nothing else, or svg for the picture alone")
	return cmd
}

func (a *app) simulate(cmd *cobra.Command, args []string, s simulation) error {
	if !slices.Contains([]string{"text", "json", "html", "svg"}, s.output) {
		return fmt.Errorf("--output %q is not one of text, json, html, svg", s.output)
	}
	expectations := make([]play.Expectation, len(s.expect))
	for i, text := range s.expect {
		var err error
		if expectations[i], err = play.Expect(text); err != nil {
			return fmt.Errorf("--expect: %w", err)
		}
	}
	stage, err := a.stage(cmd, args, s)
	if err != nil {
		return err
	}
	played, err := play.Play(stage)
	if err != nil {
		return err
	}
	for _, h := range hazard.Of(stage.Rollout) {
		played.Warnings = append(played.Warnings, h.String())
	}
	if err := a.tellSimulation(played, s.output); err != nil {
		return err
	}
	var failed []error
	for _, e := range expectations {
		failed = append(failed, e.Check(played.Summary))
	}
	failed = slices.DeleteFunc(failed, func(err error) bool { return err == nil })
	if len(failed) > 0 {
		return &unmetError{failed}
	}
	return nil
}

// expectationUnmet is the exit status where the update was played, and something is not as --expect has it.
const expectationUnmet = 2

// unmetError is all that is not as expected.
type unmetError struct{ all []error }

func (e *unmetError) Error() string   { return errors.Join(e.all...).Error() }
func (e *unmetError) Unwrap() []error { return e.all }

func (a *app) tellSimulation(s view.Simulation, output string) error {
	switch output {
	case "json":
		text, err := json.MarshalIndent(s, "", "  ")
		a.print("%s\n", text)
		return err
	case "html":
		page, err := s.HTML()
		a.print("%s", page)
		return err
	case "svg":
		a.print("%s", s.SVG())
		return nil
	}
	screen := live.NewScreen(a.Out, false)
	options := view.TextOptions{Colours: screen.Colours}
	if screen.Terminal() {
		options.Width, _ = screen.Size()
	}
	a.print("%s", s.Text(options))
	return nil
}

// stage gathers what the update is played with.
func (a *app) stage(cmd *cobra.Command, args []string, s simulation) (play.Stage, error) {
	stage := play.Stage{
		PodStartup: s.startup, StopAtPauses: s.stop, Templates: analysis.Templates{}, Images: map[string]string{},
		Providers: registry.New(registry.Options{}).Names(),
	}
	if s.startup < 0 {
		return stage, fmt.Errorf("--pod-startup %s is less than nothing", s.startup)
	}
	images, err := parseImages(s.images)
	if err != nil {
		return stage, fmt.Errorf("--image: %w", err)
	}
	for _, i := range images {
		stage.Images[i.container] = i.name
	}
	if s.scenario != "" {
		text, err := os.ReadFile(s.scenario)
		if err != nil {
			return stage, err
		}
		if stage.Scenario, err = play.ParseScenario(s.scenario, string(text)); err != nil {
			return stage, err
		}
	}
	switch {
	case len(s.files) > 0 && len(args) > 0:
		return stage, fmt.Errorf("give files or the name of a rollout in the cluster, not both: %q", args)
	case len(s.files) > 0:
		err = a.stageFiles(&stage, s)
	case len(args) == 1:
		err = a.stageLive(cmd, &stage, args[0])
	default:
		return stage, fmt.Errorf("simulate what? Give a file, %s -f FILE, or the name of a rollout in the cluster", cmd.CommandPath())
	}
	if err == nil && s.replicas >= 0 {
		stage.Rollout.Spec.Replicas = &s.replicas
	}
	return stage, err
}

func (a *app) stageFiles(stage *play.Stage, s simulation) error {
	sources, err := readSources(s.files, s.deep, a.In)
	if err != nil {
		return err
	}
	var deployments []*appsv1.Deployment
	for _, source := range sources {
		objects, err := source.objects()
		if err != nil {
			return err
		}
		for _, u := range objects {
			if d, err := stageObject(stage, u); err != nil {
				return fmt.Errorf("%s: %s: %w", source.name, titled(u), err)
			} else if d != nil {
				deployments = append(deployments, d)
			}
		}
	}
	if stage.Rollout == nil {
		return fmt.Errorf("there is no Rollout in %s", strings.Join(s.files, ", "))
	}
	if ref := stage.Rollout.Spec.WorkloadRef; ref != nil {
		i := slices.IndexFunc(deployments, func(d *appsv1.Deployment) bool { return d.Name == ref.Name })
		if i < 0 || ref.Kind != "Deployment" {
			return fmt.Errorf("the Rollout refers to %s %q, which is not in the files; only Deployments can be played", ref.Kind, ref.Name)
		}
		stage.Deployment = deployments[i]
	}
	return nil
}

// stageObject puts an object of a file where it belongs. Those that an update has nothing to do with are passed over.
func stageObject(stage *play.Stage, u *unstructured.Unstructured) (*appsv1.Deployment, error) {
	into := runtime.DefaultUnstructuredConverter.FromUnstructured
	switch u.GetKind() {
	case v1alpha1.KindRollout:
		if stage.Rollout != nil {
			return nil, fmt.Errorf("there is another Rollout, %q: only one can be played", stage.Rollout.Name)
		}
		stage.Rollout = &v1alpha1.Rollout{}
		return nil, into(u.Object, stage.Rollout)
	case "Service":
		s := &corev1.Service{}
		stage.Services = append(stage.Services, s)
		return nil, into(u.Object, s)
	case "HTTPRoute", "GRPCRoute", "TCPRoute", "TLSRoute", "Ingress":
		stage.Routes = append(stage.Routes, u)
		return nil, nil //nolint:nilnil // not a Deployment
	case "AnalysisTemplate", "ClusterAnalysisTemplate":
		t := &v1alpha1.AnalysisTemplate{}
		stage.Templates[v1alpha1.AnalysisTemplateRef{TemplateName: u.GetName(), ClusterScope: u.GetKind() == "ClusterAnalysisTemplate"}] = &t.Spec
		return nil, into(u.Object, t)
	case "Secret":
		s := &corev1.Secret{}
		stage.Secrets = append(stage.Secrets, s)
		return nil, into(u.Object, s)
	case "ConfigMap":
		m := &corev1.ConfigMap{}
		stage.ConfigMaps = append(stage.ConfigMaps, m)
		return nil, into(u.Object, m)
	case "HorizontalPodAutoscaler":
		h := &autoscalingv2.HorizontalPodAutoscaler{}
		if err := into(u.Object, h); err != nil || h.Spec.ScaleTargetRef.Kind != v1alpha1.KindRollout {
			return nil, err
		}
		stage.Autoscaler = h
		return nil, nil //nolint:nilnil // not a Deployment
	case "Deployment":
		d := &appsv1.Deployment{}
		return d, into(u.Object, d)
	}
	return nil, nil //nolint:nilnil // not an object that is played, and nothing wrong with it
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
	for _, o := range seen.Routes {
		stage.Routes = append(stage.Routes, o)
	}
	if seen.Workload != nil {
		d, ok := seen.Workload.(*appsv1.Deployment)
		if !ok {
			return fmt.Errorf("rollout %q refers to a %T; only Deployments can be played", name, seen.Workload)
		}
		stage.Deployment = d
	}
	return nil
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
