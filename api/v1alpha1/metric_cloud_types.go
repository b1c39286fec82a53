package v1alpha1

import "k8s.io/apimachinery/pkg/util/intstr"

// CloudWatchMetric is a query to Amazon CloudWatch. The result is a list of the results of its queries.
type CloudWatchMetric struct {
	// How far back the queries look, such as "5m". Defaults to 5m.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule=`size(self) == 0 || self.contains('{{') || self.matches('^\\+?(0|(([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$')`,message=`must be a length of time with units h, m, s and ms, such as 30s, 5m or 1h30m; a day is 24h`
	Interval DurationString `json:"interval,omitempty"`

	// The queries, 1 to 100.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	MetricDataQueries []CloudWatchMetricDataQuery `json:"metricDataQueries"`
}

// CloudWatchMetricDataQuery is a metric, or an expression over other queries.
//
// +kubebuilder:validation:XValidation:rule=`has(self.expression) != has(self.metricStat)`,message=`set exactly one of expression and metricStat`
type CloudWatchMetricDataQuery struct {
	// Name by which expressions refer to this query.
	Id string `json:"id,omitempty"` //nolint:revive // plugins know the field by this name

	// Expression over other queries. Set this or metricStat.
	// +optional
	Expression *string `json:"expression,omitempty"`

	// Label of the result.
	// +optional
	Label *string `json:"label,omitempty"`

	// The metric. Set this or expression.
	// +optional
	MetricStat *CloudWatchMetricStat `json:"metricStat,omitempty"`

	// Seconds between two values of an expression, as a number or a string with {{args.<name>}}.
	// +optional
	Period *intstr.IntOrString `json:"period,omitempty"`

	// Whether this query is part of the result. Defaults to true.
	// +optional
	ReturnData *bool `json:"returnData,omitempty"`
}

// CloudWatchMetricStat is a metric and how to aggregate its values.
type CloudWatchMetricStat struct {
	// The metric.
	// +optional
	Metric CloudWatchMetricStatMetric `json:"metric,omitempty"`

	// Seconds to aggregate into one value, as a number or a string with {{args.<name>}}.
	// +optional
	Period intstr.IntOrString `json:"period,omitempty"`

	// How to aggregate them, such as Average, Sum or p99.
	// +optional
	Stat string `json:"stat,omitempty"`

	// Unit of the metric, such as Count or Seconds.
	// +optional
	Unit string `json:"unit,omitempty"`
}

// CloudWatchMetricStatMetric names a metric.
type CloudWatchMetricStatMetric struct {
	// Dimensions that identify the metric.
	// +optional
	Dimensions []CloudWatchMetricStatMetricDimension `json:"dimensions,omitempty"`

	// Name of the metric.
	// +optional
	MetricName string `json:"metricName,omitempty"`

	// Namespace of the metric, such as AWS/ApplicationELB.
	// +optional
	Namespace *string `json:"namespace,omitempty"`
}

// CloudWatchMetricStatMetricDimension is a dimension of a metric.
type CloudWatchMetricStatMetricDimension struct {
	// Name of the dimension.
	// +optional
	Name string `json:"name,omitempty"`

	// Value of the dimension.
	// +optional
	Value string `json:"value,omitempty"`
}

// KayentaMetric is a judgment by Kayenta, which compares the metrics of the new version with those of the old one. The
// result is a score from 0 to 100.
type KayentaMetric struct {
	// URL of the server.
	Address string `json:"address"`

	// Name of the application.
	Application string `json:"application"`

	// Name of the configuration that defines what to compare.
	CanaryConfigName string `json:"canaryConfigName"`

	// Name of the account that reads metrics.
	MetricsAccountName string `json:"metricsAccountName"`

	// Name of the account that holds configurations.
	ConfigurationAccountName string `json:"configurationAccountName"`

	// Name of the account that stores results.
	StorageAccountName string `json:"storageAccountName"`

	// The scores that pass.
	Threshold KayentaThreshold `json:"threshold"`

	// What to compare.
	// +kubebuilder:validation:MinItems=1
	Scopes []KayentaScope `json:"scopes"`

	// Whether every comparison covers the time since the first one, instead of since the previous one. Defaults to false.
	// +optional
	Lookback bool `json:"lookback,omitempty"`
}

// KayentaThreshold is the scores that pass.
//
// +kubebuilder:validation:XValidation:rule=`self.marginal <= self.pass`,message=`marginal must not be greater than pass`,fieldPath=`.marginal`
type KayentaThreshold struct {
	// Lowest score that passes.
	Pass int64 `json:"pass"`

	// Lowest score that is inconclusive. Lower scores fail.
	Marginal int64 `json:"marginal"`
}

// KayentaScope is what to compare with what.
type KayentaScope struct {
	// Name of the scope, as in the configuration.
	Name string `json:"name"`

	// The old version.
	ControlScope ScopeDetail `json:"controlScope"`

	// The new version.
	ExperimentScope ScopeDetail `json:"experimentScope"`
}

// ScopeDetail is one side of a comparison.
type ScopeDetail struct {
	// What identifies the metrics of this version.
	Scope string `json:"scope"`

	// Region of the metrics.
	// +optional
	Region string `json:"region"`

	// Seconds between two values.
	// +optional
	Step int64 `json:"step"`

	// Start of the range, in RFC 3339.
	// +optional
	Start string `json:"start"`

	// End of the range, in RFC 3339.
	// +optional
	End string `json:"end"`
}
