package v1alpha1

import (
	"encoding/json"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Metric is something to measure and how to judge it.
type Metric struct {
	// Name of the metric, unique in the analysis.
	Name string `json:"name"`

	// Time between the end of a measurement and the next, such as "30s". Required when count is more than 1. With an
	// interval and no count, measuring goes on until the analysis is stopped. After an error the time is always 10s.
	// +optional
	Interval DurationString `json:"interval,omitempty"`

	// Time between the beginning of the analysis and the first measurement. Defaults to none.
	// +optional
	InitialDelay DurationString `json:"initialDelay,omitempty"`

	// Number of measurements. Defaults to 1 without interval, and to no end with one. Like the limits, a number or a text
	// with {{args.<name>}}.
	// +optional
	Count *intstr.IntOrString `json:"count,omitempty"`

	// Condition under which a measurement passes, such as `result[0] >= 0.95`. Without it, all that failureCondition does
	// not fail pass.
	// +optional
	SuccessCondition string `json:"successCondition,omitempty"`

	// Condition under which a measurement fails. Without it, all that successCondition does not pass fail. With both,
	// measurements for which neither holds are inconclusive.
	// +optional
	FailureCondition string `json:"failureCondition,omitempty"`

	// Number of failed measurements that are put up with: one more fails the metric. Defaults to 0. -1 puts up with any
	// number, and needs consecutiveSuccessLimit.
	// +optional
	FailureLimit *intstr.IntOrString `json:"failureLimit,omitempty"`

	// Number of inconclusive measurements that are put up with. Defaults to 0.
	// +optional
	InconclusiveLimit *intstr.IntOrString `json:"inconclusiveLimit,omitempty"`

	// Number of errors in a row that are put up with. Defaults to 4.
	// +optional
	ConsecutiveErrorLimit *intstr.IntOrString `json:"consecutiveErrorLimit,omitempty"`

	// Number of measurements in a row that must pass for the metric to be successful, which it then is at once. Defaults to
	// 0: not required.
	// +optional
	ConsecutiveSuccessLimit *intstr.IntOrString `json:"consecutiveSuccessLimit,omitempty"`

	// How to measure. Set exactly one.
	Provider MetricProvider `json:"provider"`
}

// MetricProvider is how to measure. Exactly one of its fields is set.
type MetricProvider struct {
	// A query to Prometheus.
	// +optional
	Prometheus *PrometheusMetric `json:"prometheus,omitempty"`

	// A canary judgement by Kayenta.
	// +optional
	Kayenta *KayentaMetric `json:"kayenta,omitempty"`

	// An HTTP request.
	// +optional
	Web *WebMetric `json:"web,omitempty"`

	// A query to Datadog.
	// +optional
	Datadog *DatadogMetric `json:"datadog,omitempty"`

	// A query to Wavefront.
	// +optional
	Wavefront *WavefrontMetric `json:"wavefront,omitempty"`

	// A query to New Relic.
	// +optional
	NewRelic *NewRelicMetric `json:"newRelic,omitempty"`

	// A Kubernetes Job, whose success or failure is the result.
	// +optional
	Job *JobMetric `json:"job,omitempty"`

	// A query to Amazon CloudWatch.
	// +optional
	CloudWatch *CloudWatchMetric `json:"cloudWatch,omitempty"`

	// A query to Graphite.
	// +optional
	Graphite *GraphiteMetric `json:"graphite,omitempty"`

	// A query to InfluxDB.
	// +optional
	Influxdb *InfluxdbMetric `json:"influxdb,omitempty"`

	// A query to Apache SkyWalking.
	// +optional
	SkyWalking *SkyWalkingMetric `json:"skywalking,omitempty"`

	// A metric provider plugin: its name, as in the ConfigMap argo-rollouts-config, and its settings in its own form.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Plugin map[string]json.RawMessage `json:"plugin,omitempty"`
}

// PrometheusMetric is a query to Prometheus. The result is a list of numbers for a vector or a range, and a number for a
// scalar.
type PrometheusMetric struct {
	// URL of the server, such as "http://prometheus.monitoring:9090". Defaults to the controller's environment variable
	// ARGO_ROLLOUTS_PROMETHEUS_ADDRESS.
	// +optional
	Address string `json:"address,omitempty"`

	// The query, in PromQL.
	// +optional
	Query string `json:"query,omitempty"`

	// How to prove who asks.
	// +optional
	Authentication *Authentication `json:"authentication,omitempty"`

	// Seconds to wait for the answer. Defaults to 30.
	// +optional
	Timeout *int64 `json:"timeout,omitempty"`

	// Whether to accept any certificate of the server. Defaults to false.
	// +optional
	Insecure bool `json:"insecure,omitempty"`

	// HTTP headers to add to the request.
	// +optional
	Headers []WebMetricHeader `json:"headers,omitempty"`

	// Asks for all values in a range of time, rather than for the value now.
	// +optional
	RangeQuery *PrometheusRangeQuery `json:"rangeQuery,omitempty"`
}

// PrometheusRangeQuery is a range of time.
type PrometheusRangeQuery struct {
	// Begin of the range: an expression that gives a time, such as `now() - duration("1h")`.
	// +optional
	Start string `json:"start,omitempty"`

	// End of the range: an expression that gives a time, such as `now()`.
	// +optional
	End string `json:"end,omitempty"`

	// Time between two values, such as "1m".
	// +optional
	Step string `json:"step,omitempty"`
}

// Authentication is how to prove to a server who asks. Set at most one of its fields.
type Authentication struct {
	// Sign requests for Amazon Managed Service for Prometheus. For prometheus only.
	// +optional
	Sigv4 *Sigv4Config `json:"sigv4,omitempty"`

	// Ask for a token with client credentials.
	// +optional
	OAuth2 *OAuth2Config `json:"oauth2,omitempty"`

	// Send a user name and a password. For prometheus only.
	// +optional
	BasicAuth *BasicAuthConfig `json:"basicAuth,omitempty"`
}

// Sigv4Config is how requests to AWS are signed. What is left out is taken from the controller's surroundings.
type Sigv4Config struct {
	// AWS region.
	// +optional
	Region string `json:"region,omitempty"`

	// Name of a profile in the controller's AWS configuration.
	// +optional
	Profile string `json:"profile,omitempty"`

	// ARN of the role to take on.
	// +optional
	RoleARN string `json:"roleArn,omitempty"`
}

// OAuth2Config is how to ask for a token with client credentials.
type OAuth2Config struct {
	// URL to ask for the token.
	// +optional
	TokenURL string `json:"tokenUrl,omitempty"`

	// Name of the client.
	// +optional
	ClientID string `json:"clientId,omitempty"`

	// Secret of the client; best an argument that is read from a Secret: "{{args.secret}}".
	// +optional
	ClientSecret string `json:"clientSecret,omitempty"`

	// Scopes to ask for.
	// +optional
	Scopes []string `json:"scopes,omitempty"`
}

// BasicAuthConfig is a user name and a password.
type BasicAuthConfig struct {
	// The user name.
	// +optional
	Username string `json:"username,omitempty"`

	// The password; best an argument that is read from a Secret: "{{args.password}}".
	// +optional
	Password string `json:"password,omitempty"`
}

// WebMetric is an HTTP request. The result is the value at jsonPath, or the whole body as a text if it is not JSON.
type WebMetric struct {
	// GET, POST or PUT. Defaults to GET.
	// +optional
	Method WebMetricMethod `json:"method,omitempty"`

	// URL to send the request to.
	URL string `json:"url"`

	// HTTP headers to add to the request.
	// +optional
	Headers []WebMetricHeader `json:"headers,omitempty"`

	// Body of the request, as a text. For POST and PUT; not together with jsonBody.
	// +optional
	Body string `json:"body,omitempty"`

	// Seconds to wait for the answer. Defaults to 10.
	// +optional
	TimeoutSeconds int64 `json:"timeoutSeconds,omitempty"`

	// Where in the answer the result is, in the syntax of kubectl's JSONPath. Defaults to "{$}": all of it.
	// +optional
	JSONPath string `json:"jsonPath,omitempty"`

	// Whether to accept any certificate of the server. Defaults to false.
	// +optional
	Insecure bool `json:"insecure,omitempty"`

	// Body of the request, as YAML that is sent as JSON. For POST and PUT; not together with body.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	JSONBody json.RawMessage `json:"jsonBody,omitempty"`

	// How to prove who asks.
	// +optional
	Authentication *Authentication `json:"authentication,omitempty"`
}

// WebMetricMethod is an HTTP method.
type WebMetricMethod string

const (
	// WebMetricMethodGet is GET.
	WebMetricMethodGet WebMetricMethod = "GET"
	// WebMetricMethodPost is POST.
	WebMetricMethodPost WebMetricMethod = "POST"
	// WebMetricMethodPut is PUT.
	WebMetricMethodPut WebMetricMethod = "PUT"
)

// WebMetricHeader is an HTTP header.
type WebMetricHeader struct {
	// Name of the header.
	Key string `json:"key"`

	// Value of the header.
	Value string `json:"value"`
}

// JobMetric is a Kubernetes Job. The metric passes if the Job completes and does not pass if it fails.
type JobMetric struct {
	// Labels and annotations for the Job.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Metadata metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// The Job. Its backoffLimit defaults to 0 here.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Spec batchv1.JobSpec `json:"spec"`
}

// DatadogMetric is a query to Datadog. The result is a number. The keys are read from secretRef, else from the controller's
// environment variables DD_API_KEY, DD_APP_KEY and DD_ADDRESS, else from the Secret datadog beside the controller.
type DatadogMetric struct {
	// How far back the query looks, such as "5m". Defaults to 5m.
	// +optional
	Interval DurationString `json:"interval,omitempty"`

	// The query. Give this or queries.
	// +optional
	Query string `json:"query,omitempty"`

	// Several queries by name, which formula joins. Needs apiVersion v2. Give this or query.
	// +optional
	Queries map[string]string `json:"queries,omitempty"`

	// How the queries are joined to one number. Needs apiVersion v2.
	// +optional
	Formula string `json:"formula,omitempty"`

	// Version of Datadog's API: v1 or v2. Defaults to v1.
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`

	// How the values in the interval become one: avg, min, max, sum, last, percentile, mean, l2norm or area. Defaults to
	// last. Needs apiVersion v2.
	// +optional
	Aggregator string `json:"aggregator,omitempty"`

	// The Secret with the keys address, api-key and app-key.
	// +optional
	SecretRef SecretRef `json:"secretRef,omitempty,omitzero"`

	// How long to wait for the answer, such as "10s". Defaults to 10s.
	// +optional
	RequestTimeout DurationString `json:"requestTimeout,omitempty"`
}

// SecretRef names a Secret with credentials.
type SecretRef struct {
	// Name of the Secret.
	// +optional
	Name string `json:"name,omitempty"`

	// Whether the Secret is in the namespace of the AnalysisRun. Defaults to false: in that of the controller.
	// +optional
	Namespaced bool `json:"namespaced,omitempty"`
}

// NewRelicMetric is a query to New Relic. The result is a number or an object for one row and a list for several.
type NewRelicMetric struct {
	// Name of the Secret beside the controller with the keys personal-api-key, account-id, region, base-url-rest and
	// base-url-nerdgraph. Defaults to newrelic.
	// +optional
	Profile string `json:"profile,omitempty"`

	// The query, in NRQL.
	Query string `json:"query"`

	// Seconds to wait for the answer. Defaults to 5.
	// +optional
	Timeout *int64 `json:"timeout,omitempty"`
}

// WavefrontMetric is a query to Wavefront. The result is a number, or a list of numbers for several series. The token is
// read from the Secret wavefront-api-tokens beside the controller, under the address as key.
type WavefrontMetric struct {
	// Host name of the server.
	// +optional
	Address string `json:"address,omitempty"`

	// The query.
	// +optional
	Query string `json:"query,omitempty"`
}

// GraphiteMetric is a query to Graphite. The result is a list of numbers: the values of the last series.
type GraphiteMetric struct {
	// URL of the server.
	// +optional
	Address string `json:"address,omitempty"`

	// The query.
	// +optional
	Query string `json:"query,omitempty"`
}

// InfluxdbMetric is a query to InfluxDB. The result is a list.
type InfluxdbMetric struct {
	// Name of the Secret beside the controller with the keys address, authToken and org. Defaults to influxdb.
	// +optional
	Profile string `json:"profile,omitempty"`

	// The query, in Flux.
	// +optional
	Query string `json:"query,omitempty"`
}

// SkyWalkingMetric is a query to Apache SkyWalking. The result is an object.
type SkyWalkingMetric struct {
	// URL of the server.
	// +optional
	Address string `json:"address,omitempty"`

	// The query, in GraphQL.
	// +optional
	Query string `json:"query,omitempty"`

	// How far back the query looks, such as "5m". Defaults to 5m.
	// +optional
	Interval DurationString `json:"interval,omitempty"`
}
