package v1alpha1

import (
	"encoding/json"
	"maps"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Metric is what to measure and how to evaluate it.
//
// +kubebuilder:validation:XValidation:rule=`[[(has(self.count) ? self.count : 0)]].all(v, !v.all(x, string(x).matches('^-?[0-9]+$')) || int(v[0]) <= 1) || (has(self.interval) && size(self.interval) > 0)`,message=`interval is required when count is more than 1: the time between two measurements, such as 30s`,fieldPath=`.interval`,reason=FieldValueRequired
// +kubebuilder:validation:XValidation:rule=`[[(has(self.count) ? self.count : 0), (has(self.failureLimit) ? self.failureLimit : 0), (has(self.consecutiveSuccessLimit) ? self.consecutiveSuccessLimit : 0)]].all(v, !v.all(x, string(x).matches('^-?[0-9]+$')) || int(v[0]) <= 0 || int(v[0]) >= (int(v[1]) < 0 ? 0 : int(v[1])) + int(v[2]))`,message=`count must be at least failureLimit plus consecutiveSuccessLimit, or the metric could never be decided: raise count or lower a limit`,fieldPath=`.count`
// +kubebuilder:validation:XValidation:rule=`[[(has(self.count) ? self.count : 0), (has(self.inconclusiveLimit) ? self.inconclusiveLimit : 0)]].all(v, !v.all(x, string(x).matches('^-?[0-9]+$')) || int(v[0]) <= 0 || int(v[0]) >= int(v[1]))`,message=`count must be at least inconclusiveLimit: raise count or lower the limit`,fieldPath=`.count`
// +kubebuilder:validation:XValidation:rule=`[[(has(self.failureLimit) ? self.failureLimit : 0), (has(self.consecutiveSuccessLimit) ? self.consecutiveSuccessLimit : 0)]].all(v, !v.all(x, string(x).matches('^-?[0-9]+$')) || int(v[0]) != -1 || int(v[1]) > 0)`,message=`failureLimit -1 needs consecutiveSuccessLimit of at least 1, or nothing could fail the metric`,fieldPath=`.failureLimit`
// +kubebuilder:validation:XValidation:rule=`!has(self.provider.prometheus) || has(self.comparison) || has(self.golden) || (has(self.provider.prometheus.query) && size(self.provider.prometheus.query) > 0)`,message=`query is required`,fieldPath=`.provider.prometheus.query`,reason=FieldValueRequired
// +kubebuilder:validation:XValidation:rule=`!has(self.comparison) || has(self.provider.prometheus)`,message=`a comparison needs provider prometheus: other providers cannot be asked for series yet`,fieldPath=`.comparison`,reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule=`!has(self.comparison) || !has(self.provider.prometheus) || !((has(self.provider.prometheus.query) && size(self.provider.prometheus.query) > 0) || has(self.provider.prometheus.rangeQuery))`,message=`a comparison has its queries in signals: remove the provider's query and rangeQuery`,fieldPath=`.provider.prometheus.query`,reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule=`!has(self.comparison) || !((has(self.successCondition) && size(self.successCondition) > 0) || (has(self.failureCondition) && size(self.failureCondition) > 0))`,message=`a comparison judges by its score: remove successCondition and failureCondition, and set comparison.pass and comparison.marginal`,fieldPath=`.comparison`,reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule=`!has(self.golden) || (has(self.provider.prometheus) && !((has(self.provider.prometheus.query) && size(self.provider.prometheus.query) > 0) || has(self.provider.prometheus.rangeQuery)))`,message=`golden needs provider prometheus, without query and rangeQuery`,fieldPath=`.golden`,reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule=`has(self.golden) || !has(self.goldenTarget)`,message=`goldenTarget is for golden: set golden, for example to requestSuccessRate, or remove goldenTarget`,fieldPath=`.goldenTarget`,reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule=`!has(self.comparison) || has(self.golden) != (has(self.comparison.signals) && size(self.comparison.signals) > 0)`,message=`a comparison has signals, or compares what golden asks for: set one of the two`,fieldPath=`.comparison.signals`
type Metric struct {
	// Name of the metric, unique in the analysis.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Time from the end of one measurement to the start of the next, such as "30s". Required if count is more than 1. With an interval
	// and no count, measuring continues until the analysis is stopped. After an error, the interval is always 10 seconds.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule=`size(self) == 0 || self.contains('{{') || self.matches('^\\+?(0|(([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$')`,message=`must be a length of time with units h, m, s and ms, such as 30s, 5m or 1h30m; a day is 24h`
	Interval DurationString `json:"interval,omitempty"`

	// Time from the start of the analysis to the first measurement, such as "1m". Defaults to no delay.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule=`size(self) == 0 || self.contains('{{') || self.matches('^\\+?(0|(([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$')`,message=`must be a length of time with units h, m, s and ms, such as 30s, 5m or 1h30m; a day is 24h`
	InitialDelay DurationString `json:"initialDelay,omitempty"`

	// Number of measurements. Without it, 1 measurement if there is no interval, and unlimited if there is one. Like the limits below, a
	// number or a string with {{args.<name>}}.
	// +optional
	// +kubebuilder:validation:XValidation:rule=`type(self) == int ? self >= 0 : (self.matches('^[0-9]+$') || self.contains('{{'))`,message=`count must be a number that is not negative, or a text with an argument such as "{{args.count}}"`
	Count *intstr.IntOrString `json:"count,omitempty"`

	// Expression that passes a measurement, such as `result[0] >= 0.95`. Without it, every measurement passes that failureCondition does
	// not fail.
	// +optional
	// +kubebuilder:validation:MaxLength=8192
	SuccessCondition string `json:"successCondition,omitempty"`

	// Expression that fails a measurement. Without it, every measurement fails that successCondition does not pass. With both,
	// measurements for which neither is true are inconclusive.
	// +optional
	// +kubebuilder:validation:MaxLength=8192
	FailureCondition string `json:"failureCondition,omitempty"`

	// Number of failed measurements to tolerate: one more fails the metric. Defaults to 0. -1 tolerates any number, and needs
	// consecutiveSuccessLimit.
	// +optional
	// +kubebuilder:validation:XValidation:rule=`type(self) == int ? self >= -1 : (self.matches('^(-1|[0-9]+)$') || self.contains('{{'))`,message=`failureLimit must be a number that is not negative, -1 to tolerate any number of failures, or a text with an argument such as "{{args.failureLimit}}"`
	FailureLimit *intstr.IntOrString `json:"failureLimit,omitempty"`

	// Number of inconclusive measurements to tolerate. Defaults to 0.
	// +optional
	// +kubebuilder:validation:XValidation:rule=`type(self) == int ? self >= 0 : (self.matches('^[0-9]+$') || self.contains('{{'))`,message=`inconclusiveLimit must be a number that is not negative, or a text with an argument such as "{{args.inconclusiveLimit}}"`
	InconclusiveLimit *intstr.IntOrString `json:"inconclusiveLimit,omitempty"`

	// Number of consecutive errors to tolerate. Defaults to 4.
	// +optional
	// +kubebuilder:validation:XValidation:rule=`type(self) == int ? self >= 0 : (self.matches('^[0-9]+$') || self.contains('{{'))`,message=`consecutiveErrorLimit must be a number that is not negative, or a text with an argument such as "{{args.consecutiveErrorLimit}}"`
	ConsecutiveErrorLimit *intstr.IntOrString `json:"consecutiveErrorLimit,omitempty"`

	// Number of consecutive measurements that must pass. The metric is successful as soon as they have. Defaults to 0: not required.
	// +optional
	// +kubebuilder:validation:XValidation:rule=`type(self) == int ? self >= 0 : (self.matches('^[0-9]+$') || self.contains('{{'))`,message=`consecutiveSuccessLimit must be a number that is not negative, or a text with an argument such as "{{args.consecutiveSuccessLimit}}"`
	ConsecutiveSuccessLimit *intstr.IntOrString `json:"consecutiveSuccessLimit,omitempty"`

	// How to count a measurement that found no data: no value, an empty list or object, or only NaN. Successful, Failed, Inconclusive or
	// Error. If left out, the conditions are evaluated as usual, and a condition that needs a value is an error. Argo Rollouts does not
	// support it.
	// +optional
	// +kubebuilder:validation:Enum=Successful;Failed;Inconclusive;Error
	WhenNoData AnalysisPhase `json:"whenNoData,omitempty"`

	// Compares the canary with a baseline, instead of evaluating conditions. The provider then only says which server to query and has
	// no query of its own. For prometheus only. Argo Rollouts does not support it.
	// +optional
	Comparison *Comparison `json:"comparison,omitempty"`

	// Measures a standard signal of the traffic router with a built-in query: requestSuccessRate, from 0 to 1, or the latency quantiles
	// requestDurationP50, requestDurationP95 and requestDurationP99, in seconds. The result is a list with one number for the canary, or
	// the single signal of a comparison without signals. For prometheus only. Argo Rollouts does not support it.
	// +optional
	// +kubebuilder:validation:Enum=requestSuccessRate;requestDurationP50;requestDurationP95;requestDurationP99
	Golden GoldenSignal `json:"golden,omitempty"`

	// The router and the Services to measure for golden, if the Rollout does not define them.
	// +optional
	GoldenTarget *GoldenTarget `json:"goldenTarget,omitempty"`

	// How to measure. Set exactly one provider.
	Provider MetricProvider `json:"provider"`
}

// MetricProvider is how to measure. Set exactly one of its fields.
//
// +kubebuilder:validation:XValidation:rule=`[has(self.prometheus), has(self.kayenta), has(self.web), has(self.datadog), has(self.wavefront), has(self.newRelic), has(self.job), has(self.cloudWatch), has(self.graphite), has(self.influxdb), has(self.skywalking), has(self.loki), has(self.elasticsearch), has(self.dynatrace), has(self.splunkObservability), has(self.kubernetes), has(self.plugin)].filter(x, x).size() == 1`,message=`set exactly one provider: prometheus, kayenta, web, datadog, wavefront, newRelic, job, cloudWatch, graphite, influxdb, skywalking, loki, elasticsearch, dynatrace, splunkObservability, kubernetes or plugin`
type MetricProvider struct {
	// A Prometheus query.
	// +optional
	Prometheus *PrometheusMetric `json:"prometheus,omitempty"`

	// A canary judgment by Kayenta.
	// +optional
	Kayenta *KayentaMetric `json:"kayenta,omitempty"`

	// An HTTP request.
	// +optional
	Web *WebMetric `json:"web,omitempty"`

	// A Datadog query.
	// +optional
	Datadog *DatadogMetric `json:"datadog,omitempty"`

	// A Wavefront query.
	// +optional
	Wavefront *WavefrontMetric `json:"wavefront,omitempty"`

	// A New Relic query.
	// +optional
	NewRelic *NewRelicMetric `json:"newRelic,omitempty"`

	// A Kubernetes Job that runs to completion. The metric passes if the Job succeeds.
	// +optional
	Job *JobMetric `json:"job,omitempty"`

	// An Amazon CloudWatch query.
	// +optional
	CloudWatch *CloudWatchMetric `json:"cloudWatch,omitempty"`

	// A Graphite query.
	// +optional
	Graphite *GraphiteMetric `json:"graphite,omitempty"`

	// An InfluxDB query.
	// +optional
	Influxdb *InfluxdbMetric `json:"influxdb,omitempty"`

	// An Apache SkyWalking query.
	// +optional
	SkyWalking *SkyWalkingMetric `json:"skywalking,omitempty"`

	// A Grafana Loki query. Argo Rollouts does not support it.
	// +optional
	Loki *LokiMetric `json:"loki,omitempty"`

	// An Elasticsearch or OpenSearch query. Argo Rollouts does not support it.
	// +optional
	Elasticsearch *ElasticsearchMetric `json:"elasticsearch,omitempty"`

	// A Dynatrace query. Argo Rollouts does not support it.
	// +optional
	Dynatrace *DynatraceMetric `json:"dynatrace,omitempty"`

	// A SignalFlow program in Splunk Observability Cloud. Argo Rollouts does not support it.
	// +optional
	SplunkObservability *SplunkObservabilityMetric `json:"splunkObservability,omitempty"`

	// A metric of the external or custom metrics API of Kubernetes. Argo Rollouts does not support it.
	// +optional
	Kubernetes *KubernetesMetric `json:"kubernetes,omitempty"`

	// A metric provider plugin: its name, as in the ConfigMap argo-rollouts-config, and its settings in the format that the plugin
	// defines.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=1
	Plugin map[string]json.RawMessage `json:"plugin,omitempty"`
}

// Names returns the names of the fields that are set, and the names of plugins, sorted.
func (p MetricProvider) Names() []string {
	names := slices.Collect(maps.Keys(p.Plugin))
	for name, set := range map[string]bool{
		"prometheus": p.Prometheus != nil, "kayenta": p.Kayenta != nil, "web": p.Web != nil, "datadog": p.Datadog != nil,
		"wavefront": p.Wavefront != nil, "newRelic": p.NewRelic != nil, "job": p.Job != nil, "cloudWatch": p.CloudWatch != nil,
		"graphite": p.Graphite != nil, "influxdb": p.Influxdb != nil, "skywalking": p.SkyWalking != nil,
		"loki": p.Loki != nil, "elasticsearch": p.Elasticsearch != nil, "dynatrace": p.Dynatrace != nil,
		"splunkObservability": p.SplunkObservability != nil, "kubernetes": p.Kubernetes != nil,
	} {
		if set {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// JobMetric is a Kubernetes Job. The metric passes if the Job completes and fails if the Job fails.
type JobMetric struct {
	// Labels and annotations for the Job.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Metadata metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// Spec of the Job. Unlike for other Jobs, backoffLimit defaults to 0.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Spec batchv1.JobSpec `json:"spec"`
}

// DatadogMetric is a query to Datadog. The result is a number. The keys are read from secretRef. Without it, they are read from the
// controller's environment variables DD_API_KEY, DD_APP_KEY and DD_ADDRESS, or else from the Secret datadog in the controller's
// namespace.
//
// +kubebuilder:validation:XValidation:rule=`(has(self.query) && size(self.query) > 0) != (has(self.queries) && size(self.queries) > 0)`,message=`set exactly one of query and queries`
// +kubebuilder:validation:XValidation:rule=`(has(self.apiVersion) && self.apiVersion == 'v2') || !((has(self.queries) && size(self.queries) > 0) || (has(self.formula) && size(self.formula) > 0))`,message=`queries and formula need apiVersion: v2`,fieldPath=`.apiVersion`
// +kubebuilder:validation:XValidation:rule=`!has(self.queries) || size(self.queries) <= 1 || (has(self.formula) && size(self.formula) > 0)`,message=`formula is required with more than one query: it joins them to one number, such as "a / b"`,fieldPath=`.formula`,reason=FieldValueRequired
type DatadogMetric struct {
	// How far back the query looks, such as "5m". Defaults to 5m.
	// +optional
	// +kubebuilder:default="5m"
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule=`size(self) == 0 || self.contains('{{') || self.matches('^\\+?(0|(([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$')`,message=`must be a length of time with units h, m, s and ms, such as 30s, 5m or 1h30m; a day is 24h`
	Interval DurationString `json:"interval,omitempty"`

	// The query. Set this or queries.
	// +optional
	Query string `json:"query,omitempty"`

	// Several queries by name, which formula combines. Needs apiVersion v2. Set this or query.
	// +optional
	// +kubebuilder:validation:MaxProperties=50
	Queries map[string]string `json:"queries,omitempty"`

	// Formula that combines the queries into one number, such as "a / b". Needs apiVersion v2.
	// +optional
	Formula string `json:"formula,omitempty"`

	// Version of Datadog's API: v1 or v2. Defaults to v1.
	// +optional
	// +kubebuilder:default=v1
	// +kubebuilder:validation:Enum=v1;v2
	ApiVersion string `json:"apiVersion,omitempty"` //nolint:revive // plugins know the field by this name

	// How to reduce the values in the interval to one: avg, min, max, sum, last, percentile, mean, l2norm or area. Defaults to last.
	// Needs apiVersion v2.
	// +optional
	// +kubebuilder:validation:Enum=avg;min;max;sum;last;percentile;mean;l2norm;area
	Aggregator string `json:"aggregator,omitempty"`

	// The Secret with the keys address, api-key and app-key.
	// +optional
	SecretRef SecretRef `json:"secretRef,omitempty,omitzero"`

	// How long to wait for the answer, such as "10s". Defaults to 10s.
	// +optional
	// +kubebuilder:default="10s"
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule=`size(self) == 0 || self.contains('{{') || self.matches('^\\+?(0|(([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$')`,message=`must be a length of time with units h, m, s and ms, such as 30s, 5m or 1h30m; a day is 24h`
	RequestTimeout DurationString `json:"requestTimeout,omitempty"`
}

// SecretRef names a Secret with credentials.
type SecretRef struct {
	// Name of the Secret.
	// +optional
	Name string `json:"name,omitempty"`

	// Whether the Secret is in the namespace of the AnalysisRun. Defaults to false: in the controller's namespace.
	// +optional
	Namespaced bool `json:"namespaced,omitempty"`
}

// NewRelicMetric is a query to New Relic. The result is an object or a number if there is one row, and a list if there are several.
type NewRelicMetric struct {
	// Name of the Secret in the controller's namespace with the keys personal-api-key, account-id, region, base-url-rest and
	// base-url-nerdgraph. Defaults to newrelic.
	// +optional
	Profile string `json:"profile,omitempty"`

	// The query, in NRQL.
	// +kubebuilder:validation:MinLength=1
	Query string `json:"query"`

	// Seconds to wait for the answer. Defaults to 5.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Timeout *int64 `json:"timeout,omitempty"`
}

// WavefrontMetric is a query to Wavefront. The result is a number, or a list of numbers if there are several series. The token is read
// from the Secret wavefront-api-tokens in the controller's namespace, where the address is the key.
//
// +kubebuilder:validation:XValidation:rule=`has(self.query) && size(self.query) > 0`,message=`query is required`,fieldPath=`.query`,reason=FieldValueRequired
type WavefrontMetric struct {
	// Host name of the server.
	// +optional
	Address string `json:"address,omitempty"`

	// The query.
	// +optional
	Query string `json:"query,omitempty"`
}

// GraphiteMetric is a query to Graphite. The result is a list of numbers: the values of the last series.
//
// +kubebuilder:validation:XValidation:rule=`has(self.query) && size(self.query) > 0`,message=`query is required`,fieldPath=`.query`,reason=FieldValueRequired
type GraphiteMetric struct {
	// URL of the server.
	// +optional
	Address string `json:"address,omitempty"`

	// The query.
	// +optional
	Query string `json:"query,omitempty"`
}

// InfluxdbMetric is a query to InfluxDB. The result is a list.
//
// +kubebuilder:validation:XValidation:rule=`has(self.query) && size(self.query) > 0`,message=`query is required`,fieldPath=`.query`,reason=FieldValueRequired
type InfluxdbMetric struct {
	// Name of the Secret in the controller's namespace with the keys address, authToken and org. Defaults to influxdb.
	// +optional
	Profile string `json:"profile,omitempty"`

	// The query, in Flux.
	// +optional
	Query string `json:"query,omitempty"`
}

// SkyWalkingMetric is a query to Apache SkyWalking. The result is an object.
//
// +kubebuilder:validation:XValidation:rule=`has(self.query) && size(self.query) > 0`,message=`query is required`,fieldPath=`.query`,reason=FieldValueRequired
type SkyWalkingMetric struct {
	// URL of the server.
	// +optional
	Address string `json:"address,omitempty"`

	// The query, in GraphQL.
	// +optional
	Query string `json:"query,omitempty"`

	// How far back the query looks, such as "5m". Defaults to 5m.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule=`size(self) == 0 || self.contains('{{') || self.matches('^\\+?(0|(([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$')`,message=`must be a length of time with units h, m, s and ms, such as 30s, 5m or 1h30m; a day is 24h`
	Interval DurationString `json:"interval,omitempty"`
}
