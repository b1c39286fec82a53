package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/analysis/measure"
	"github.com/sluice-delivery/sluice/internal/cli/live"
	"github.com/sluice-delivery/sluice/internal/expr"
	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/prometheus"
	"github.com/sluice-delivery/sluice/internal/metric/registry"
	metricserver "github.com/sluice-delivery/sluice/internal/metric/server"
)

// trial measures each metric of a template once.
type trial struct {
	runMaking
	prometheus   string
	ownNamespace string
	timeout      time.Duration
	watch        bool
	noColor      bool
}

func (a *app) analysisCommand() *cobra.Command {
	return a.group("analysis", "Try out an analysis template", a.analysisRunCommand())
}

func (a *app) analysisRunCommand() *cobra.Command {
	var t trial
	cmd := &cobra.Command{
		Use:   "run -f FILE",
		Short: "Measure each metric of a template once, and show how its conditions evaluate",
		Long: `Measures each metric of an AnalysisTemplate once, from this machine, and shows the query, the result, and how each condition
evaluates. Nothing is written to a cluster. Use it to try out a template before a release depends on it.

The template and those that it refers to are read from the file; only what the file does not contain, Secrets, and ConfigMaps are read from
the cluster. Servers must be reachable from this machine: use kubectl port-forward, and an argument for the address. Metrics of the
provider job are not measured.

With --watch, each metric is measured again at its interval, or every 10 seconds if it has none, until you press Ctrl-C or --timeout has
passed. A terminal shows a chart for each metric with a column for each measurement, colored by its verdict; a pipe gets a line for each
measurement.

Exit status: 0 if all metrics are successful, otherwise 1. With --watch, the last measurements decide.`,
		Example: a.examples(`
			{} analysis run -f template.yaml --arg service=web
			{} analysis run -f template.yaml --prometheus http://localhost:9090
			{} analysis run -f template.yaml --watch`),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if t.fromFile == "" {
				return errors.New("from which template? Use -f FILE")
			}
			if t.watch && !cmd.Flags().Changed("timeout") {
				t.timeout = 0
			}
			ctx, cancel := within(cmd.Context(), t.timeout)
			defer cancel()
			return a.try(ctx, t)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&t.fromFile, "filename", "f", "", "file with the template; - for standard input")
	f.StringArrayVarP(&t.arguments, "arg", "a", nil, "value of an argument of the template, as NAME=VALUE; may be repeated")
	f.StringVar(&t.prometheus, "prometheus", "", "address of Prometheus for metrics that name none; defaults to $"+prometheus.AddressVariable)
	f.StringVar(&t.ownNamespace, "controller-namespace", "argo-rollouts", "namespace of the controller, for the Secrets of providers")
	f.DurationVar(&t.timeout, "timeout", 5*time.Minute, "time after which measuring ends; with --watch there is no default")
	f.BoolVarP(&t.watch, "watch", "w", false, "measure repeatedly, and show the values as a chart")
	f.BoolVar(&t.noColor, "no-color", false, "disable colors; also disabled in a pipe and if NO_COLOR is set")
	return cmd
}

// anyAddress are all addresses: a person may ask what is in reach.
var anyAddress = metricserver.Reach{Allow: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}}

func (a *app) try(ctx context.Context, t trial) error {
	c, err := a.connect()
	if err != nil {
		c = live.Client{} // the file may have all that is needed
	}
	object, err := a.analysisRun(ctx, c, t.runMaking)
	if err != nil {
		return err
	}
	run := &v1alpha1.AnalysisRun{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, run); err != nil {
		return err
	}
	run.Namespace, run.Name, run.UID = cmp.Or(c.Namespace, metav1.NamespaceDefault), "trial", types.UID("trial")
	providers := registry.New(registry.Options{
		Clock: a.clock, PrometheusAddress: cmp.Or(t.prometheus, live.Env(prometheus.AddressVariable)), Network: metricserver.NewNetwork(anyAddress), Env: live.Env,
		Cluster: c.Metrics,
	})
	tasks, err := a.tasks(ctx, c, run, providers.Names())
	if err != nil {
		return err
	}
	keys := func(ctx context.Context, namespace, name string) (map[string]string, error) {
		return c.Secret(ctx, cmp.Or(namespace, t.ownNamespace), name)
	}
	if t.watch {
		return a.watchTrial(ctx, t, tasks, func(ctx context.Context, task measure.Task) measure.Result {
			return a.measure(ctx, task, providers, keys, func(string) {})
		})
	}
	bad := 0
	for _, task := range tasks {
		result := a.measure(ctx, task, providers, keys, func(message string) { a.tell("%s: %s\n", task.Metric.Name, message) })
		if !a.tellTrial(ctx, result) {
			bad++
		}
	}
	return unsuccessful(bad, len(tasks))
}

func unsuccessful(bad, of int) error {
	if bad > 0 {
		return fmt.Errorf("not successful: %d of %d metrics", bad, of)
	}
	return nil
}

// tasks are the measurements of all metrics, with their arguments filled in by the engine that the controller has.
func (a *app) tasks(ctx context.Context, c live.Client, run *v1alpha1.AnalysisRun, providers []string) ([]measure.Task, error) {
	for i := range run.Spec.Metrics {
		run.Spec.Metrics[i].InitialDelay = ""
		if c := run.Spec.Metrics[i].Comparison; c != nil {
			c.BeforeRun = true // the trial begins now
		}
	}
	seen := measure.Observed{Now: a.clock.Now(), Run: run, Providers: providers}
	plan := measure.Next(seen)
	if plan.NeedsArguments {
		var err error
		if seen.Arguments, err = lookUpArguments(ctx, c, run); err != nil {
			return nil, err
		}
		plan = measure.Next(seen)
	}
	if len(plan.Measure) == 0 && plan.Record != nil {
		return nil, errors.New(plan.Record.To.Status.Message)
	}
	return plan.Measure, nil
}

// lookUpArguments reads the arguments that are in Secrets and ConfigMaps.
func lookUpArguments(ctx context.Context, c live.Client, run *v1alpha1.AnalysisRun) (*measure.Arguments, error) {
	found := &measure.Arguments{Values: map[string]string{}}
	for _, arg := range run.Spec.Args {
		if arg.Value != nil || arg.ValueFrom == nil {
			continue
		}
		var values map[string]string
		var key string
		var err error
		switch from := arg.ValueFrom; {
		case from.SecretKeyRef != nil:
			found.Hidden, key = append(found.Hidden, arg.Name), from.SecretKeyRef.Key
			values, err = c.Secret(ctx, run.Namespace, from.SecretKeyRef.Name)
		case from.ConfigMapKeyRef != nil:
			key = from.ConfigMapKeyRef.Key
			values, err = c.ConfigMap(ctx, run.Namespace, from.ConfigMapKeyRef.Name)
		default:
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("args.%s: %w", arg.Name, err)
		}
		value, ok := values[key]
		if !ok {
			return nil, fmt.Errorf("args.%s: there is no key %q: add it, or give the value with --arg %s=VALUE", arg.Name, key, arg.Name)
		}
		found.Values[arg.Name] = value
	}
	return found, nil
}

// measure measures once, and waits for what takes its time; tell is told meanwhile what it waits for.
func (a *app) measure(ctx context.Context, task measure.Task, providers registry.Registry, read metric.ReadSecret, tell func(string)) measure.Result {
	keys := &metric.Keys{Read: read}
	task.Keys = keys
	result := measure.Result{Task: task, StartedAt: a.clock.Now()}
	reading, err := a.ask(ctx, task, providers, tell)
	result.FinishedAt, result.Reading, result.Secrets = a.clock.Now(), reading, append(result.Secrets, keys.Hidden...)
	if err != nil {
		result.Err = err.Error()
	}
	return measure.Judge(ctx, result)
}

func (a *app) ask(ctx context.Context, task measure.Task, providers registry.Registry, tell func(string)) (metric.Reading, error) {
	name := metric.NameOf(task.Metric.Provider)
	if name == "job" {
		return metric.Reading{}, errors.New("provider job runs in the cluster and is not measured here: use 'create analysisrun'")
	}
	reading, err := providers[name].Measure(ctx, task.Request)
	for err == nil && reading.Phase == v1alpha1.AnalysisPhaseRunning {
		tell(reading.Message)
		timer := a.clock.NewTimer(max(0, reading.ResumeAt.Sub(a.clock.Now())))
		select {
		case <-ctx.Done():
			timer.Stop()
			return reading, fmt.Errorf("it was not finished in time: %w", ctx.Err())
		case <-timer.C():
		}
		task.Begun = &v1alpha1.Measurement{Phase: reading.Phase, Metadata: reading.Metadata}
		reading, err = providers[name].(metric.Asynchronous).Resume(ctx, task.Request)
	}
	return reading, err
}

// tellTrial shows a measurement, and reports whether it is successful.
func (a *app) tellTrial(ctx context.Context, r measure.Result) bool {
	phase := verdict(r)
	a.print("%s: %s\n", r.Metric.Name, phase)
	line := func(name, text string) {
		if text != "" {
			a.print("  %-17s %s\n", name, strings.ReplaceAll(r.Secrets.Hide(text), "\n", "\n                    "))
		}
	}
	line("asked", cmp.Or(r.Reading.Metadata[metric.Asked], r.Reading.Question))
	line("value", r.Reading.Text)
	if r.Metric.Comparison != nil {
		for _, key := range slices.Sorted(maps.Keys(r.Reading.Metadata)) {
			if key != metric.Asked {
				line(key, r.Reading.Metadata[key])
			}
		}
	}
	if r.Err == "" {
		line("failureCondition", a.judged(ctx, r, r.Metric.FailureCondition))
		line("successCondition", a.judged(ctx, r, r.Metric.SuccessCondition))
	}
	line("message", cmp.Or(r.Err, r.Reading.Message))
	return phase == v1alpha1.AnalysisPhaseSuccessful
}

func verdict(r measure.Result) v1alpha1.AnalysisPhase {
	if r.Err != "" {
		return v1alpha1.AnalysisPhaseError
	}
	return r.Reading.Phase
}

// judged is a condition with what it gives.
func (a *app) judged(ctx context.Context, r measure.Result, condition string) string {
	if condition == "" {
		return ""
	}
	text := strings.Join(strings.Fields(condition), " ")
	holds, err := expr.Holds(ctx, condition, r.Reading.Value, r.FinishedAt)
	if err != nil {
		return text + "  cannot be evaluated"
	}
	return fmt.Sprintf("%s  is %t", text, holds)
}
