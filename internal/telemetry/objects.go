package telemetry

import (
	"context"
	"log/slog"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
	"github.com/sluice-delivery/sluice/internal/metric"
)

// reading is how long reading the caches may take, which block only while they fill.
const reading = 5 * time.Second

// Objects reports the state of objects, from the caches, at each scrape.
type Objects struct {
	clock  clock.PassiveClock
	reader client.Reader
	log    *slog.Logger
	// clusterTemplates: ClusterAnalysisTemplates may be read.
	clusterTemplates bool
}

// NewObjects returns a collector that reads from caches.
func NewObjects(c clock.PassiveClock, reader client.Reader, clusterTemplates bool, log *slog.Logger) *Objects {
	return &Objects{clock: c, reader: reader, clusterTemplates: clusterTemplates, log: log}
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, append([]string{"namespace", "name"}, labels...), nil)
}

var (
	rolloutInfo        = describe("rollout_info", "A Rollout.", "strategy", "traffic_router", "phase")
	rolloutAvailable   = describe("rollout_info_replicas_available", "Pods of a Rollout that are available.")
	rolloutUnavailable = describe("rollout_info_replicas_unavailable", "Pods of a Rollout that are not available.")
	rolloutDesired     = describe("rollout_info_replicas_desired", "Pods that a Rollout should have.")
	rolloutUpdated     = describe("rollout_info_replicas_updated", "Pods of a Rollout's newest version.")
	rolloutPhase       = describe("rollout_phase", "Whether a Rollout is in a phase. Deprecated: use rollout_info.", "strategy", "phase")
	rolloutsWaiting    = prometheus.NewDesc("sluice_rollouts_waiting", "Rollouts that are not done, by what they wait for.", []string{"reason"}, nil)

	runInfo        = describe("analysis_run_info", "An AnalysisRun.", "phase")
	runPhase       = describe("analysis_run_phase", "Whether an AnalysisRun is in a phase. Deprecated: use analysis_run_info.", "phase")
	runMetricPhase = describe("analysis_run_metric_phase", "Whether a metric of an AnalysisRun is in a phase.", "metric", "type", "dry_run", "phase")
	runMetricType  = describe("analysis_run_metric_type", "What measures a metric of an AnalysisRun.", "metric", "type")

	templateInfo       = describe("analysis_template_info", "An AnalysisTemplate, or a ClusterAnalysisTemplate, which has no namespace.")
	templateMetricInfo = describe("analysis_template_metric_info", "A metric of a template.", "type", "metric")

	experimentInfo  = describe("experiment_info", "An Experiment.", "phase")
	experimentPhase = describe("experiment_phase", "Whether an Experiment is in a phase. Deprecated: use experiment_info.", "phase")
)

// Describe sends the descriptions of all metrics.
func (o *Objects) Describe(out chan<- *prometheus.Desc) {
	for _, description := range []*prometheus.Desc{
		rolloutInfo, rolloutAvailable, rolloutUnavailable, rolloutDesired, rolloutUpdated, rolloutPhase, rolloutsWaiting,
		runInfo, runPhase, runMetricPhase, runMetricType, metricValue,
		templateInfo, templateMetricInfo,
		experimentInfo, experimentPhase,
	} {
		out <- description
	}
}

// Collect reads the caches.
func (o *Objects) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), reading)
	defer cancel()
	var (
		rollouts    v1alpha1.RolloutList
		runs        v1alpha1.AnalysisRunList
		experiments v1alpha1.ExperimentList
		templates   v1alpha1.AnalysisTemplateList
		cluster     v1alpha1.ClusterAnalysisTemplateList
	)
	lists := []client.ObjectList{&rollouts, &runs, &experiments, &templates}
	if o.clusterTemplates {
		lists = append(lists, &cluster)
	}
	for _, list := range lists {
		if err := o.reader.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			o.log.Warn("metrics of objects are incomplete", "error", err)
		}
	}
	collectRollouts(out, rollouts.Items)
	for i := range runs.Items {
		collectRun(out, &runs.Items[i])
	}
	collectValues(out, runs.Items, o.clock.Now())
	for i := range experiments.Items {
		e := &experiments.Items[i]
		gauge(out, experimentInfo, 1, e.Namespace, e.Name, string(e.Status.Phase))
		eachPhase(out, experimentPhase, analysisPhases, string(e.Status.Phase), e.Namespace, e.Name)
	}
	for i := range templates.Items {
		collectTemplate(out, &templates.Items[i], templates.Items[i].Spec)
	}
	for i := range cluster.Items {
		collectTemplate(out, &cluster.Items[i], cluster.Items[i].Spec)
	}
}

func gauge(out chan<- prometheus.Metric, desc *prometheus.Desc, value float64, labels ...string) {
	out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
}

// eachPhase reports for every phase whether it is the current one.
func eachPhase(out chan<- prometheus.Metric, desc *prometheus.Desc, phases []string, present string, labels ...string) {
	for _, phase := range phases {
		value := 0.0
		if phase == present {
			value = 1
		}
		gauge(out, desc, value, append(labels[:len(labels):len(labels)], phase)...)
	}
}

var analysisPhases = []string{
	string(v1alpha1.AnalysisPhasePending), string(v1alpha1.AnalysisPhaseRunning), string(v1alpha1.AnalysisPhaseSuccessful),
	string(v1alpha1.AnalysisPhaseFailed), string(v1alpha1.AnalysisPhaseError), string(v1alpha1.AnalysisPhaseInconclusive),
}

func collectRollouts(out chan<- prometheus.Metric, rollouts []v1alpha1.Rollout) {
	waiting := map[string]int{}
	for i := range rollouts {
		ro := &rollouts[i]
		phase, strategy := phaseOf(ro), strategyOf(ro)
		desired := int32(1)
		if ro.Spec.Replicas != nil {
			desired = *ro.Spec.Replicas
		}
		s := ro.Status
		gauge(out, rolloutInfo, 1, ro.Namespace, ro.Name, strategy, routerOf(ro), phase)
		gauge(out, rolloutAvailable, float64(s.AvailableReplicas), ro.Namespace, ro.Name)
		gauge(out, rolloutUnavailable, float64(max(0, s.Replicas-s.AvailableReplicas)), ro.Namespace, ro.Name)
		gauge(out, rolloutDesired, float64(desired), ro.Namespace, ro.Name)
		gauge(out, rolloutUpdated, float64(s.UpdatedReplicas), ro.Namespace, ro.Name)
		eachPhase(out, rolloutPhase, rolloutPhases, phase, ro.Namespace, ro.Name, strategy)
		if reason := WaitsFor(ro); reason != "" {
			waiting[reason]++
		}
	}
	for reason, n := range waiting {
		gauge(out, rolloutsWaiting, float64(n), reason)
	}
}

func collectRun(out chan<- prometheus.Metric, run *v1alpha1.AnalysisRun) {
	phase := string(run.Status.Phase)
	gauge(out, runInfo, 1, run.Namespace, run.Name, phase)
	eachPhase(out, runPhase, analysisPhases, phase, run.Namespace, run.Name)
	for _, result := range run.Status.MetricResults {
		kind := ""
		for _, m := range run.Spec.Metrics {
			if m.Name == result.Name {
				kind = metric.NameOf(m.Provider)
			}
		}
		gauge(out, runMetricType, 1, run.Namespace, run.Name, result.Name, kind)
		eachPhase(out, runMetricPhase, analysisPhases, string(result.Phase),
			run.Namespace, run.Name, result.Name, kind, strconv.FormatBool(result.DryRun))
	}
}

func collectTemplate(out chan<- prometheus.Metric, template client.Object, spec v1alpha1.AnalysisTemplateSpec) {
	gauge(out, templateInfo, 1, template.GetNamespace(), template.GetName())
	for _, m := range spec.Metrics {
		gauge(out, templateMetricInfo, 1, template.GetNamespace(), template.GetName(), metric.NameOf(m.Provider), m.Name)
	}
}

// The phases of Argo Rollouts' rollout_info. They are not those of the status.
const (
	completed   = "Completed"
	paused      = "Paused"
	progressing = "Progressing"
	timeout     = "Timeout"
	failed      = "Error"
	aborted     = "Abort"
	invalid     = "InvalidSpec"
)

var rolloutPhases = []string{completed, paused, progressing, timeout, failed, aborted, invalid}

// phaseOf is the first that fits.
func phaseOf(ro *v1alpha1.Rollout) string {
	is := condition(ro, v1alpha1.ConditionProgressing)
	switch {
	case condition(ro, v1alpha1.ConditionInvalidSpec).Status == corev1.ConditionTrue:
		return invalid
	case is.Reason == v1alpha1.ReasonRolloutAborted:
		return aborted
	case is.Reason == v1alpha1.ReasonProgressDeadlineExceeded:
		return timeout
	case is.Reason == v1alpha1.ReasonReplicaSetCreateError, ro.Status.Phase == v1alpha1.RolloutPhaseDegraded:
		return failed
	case ro.Status.Phase == v1alpha1.RolloutPhasePaused:
		return paused
	case ro.Status.Phase == v1alpha1.RolloutPhaseHealthy:
		return completed
	}
	return progressing
}

func condition(ro *v1alpha1.Rollout, kind v1alpha1.RolloutConditionType) v1alpha1.RolloutCondition {
	for _, c := range ro.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return v1alpha1.RolloutCondition{}
}

// WaitsFor is one of a few reasons why a Rollout is not done, empty if it is.
func WaitsFor(ro *v1alpha1.Rollout) string {
	switch phase := phaseOf(ro); {
	case phase == completed, phase == aborted:
		return ""
	case phase == invalid:
		return "valid spec"
	case len(ro.Status.PauseConditions) > 0:
		return string(ro.Status.PauseConditions[0].Reason)
	case ro.Spec.Paused:
		return "spec.paused"
	case phase == failed, phase == timeout:
		return phase
	}
	canary, blueGreen := ro.Status.Canary, ro.Status.BlueGreen
	for _, run := range []*v1alpha1.RolloutAnalysisRunStatus{
		canary.CurrentStepAnalysisRunStatus, blueGreen.PrePromotionAnalysisRunStatus, blueGreen.PostPromotionAnalysisRunStatus,
	} {
		if run != nil && (run.Status == v1alpha1.AnalysisPhaseRunning || run.Status == v1alpha1.AnalysisPhasePending) {
			return "analysis"
		}
	}
	if canary.CurrentExperiment != "" {
		return "experiment"
	}
	return "pods"
}

func strategyOf(ro *v1alpha1.Rollout) string {
	switch {
	case ro.Spec.Strategy.BlueGreen != nil:
		return "blueGreen"
	case ro.Spec.Strategy.Canary != nil:
		return "canary"
	}
	return ""
}

// routerOf is the first router of a Rollout, with Argo Rollouts' order and names.
func routerOf(ro *v1alpha1.Rollout) string {
	if ro.Spec.Strategy.Canary == nil || ro.Spec.Strategy.Canary.TrafficRouting == nil {
		return ""
	}
	r := ro.Spec.Strategy.Canary.TrafficRouting
	switch {
	case r.ALB != nil:
		return "ALB"
	case r.Ambassador != nil:
		return "Ambassador"
	case r.AppMesh != nil:
		return "AppMesh"
	case r.Istio != nil:
		return "Istio"
	case r.Nginx != nil:
		return "Nginx"
	case r.SMI != nil:
		return "SMI"
	case r.Traefik != nil:
		return "Traefik"
	case r.Apisix != nil:
		return "Apisix"
	case r.GatewayAPI != nil:
		return "GatewayAPI"
	case len(r.Custom) > 0:
		return "Custom"
	case len(r.Plugins) > 0:
		return "Plugin"
	}
	return ""
}
