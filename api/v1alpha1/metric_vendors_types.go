package v1alpha1

// ElasticsearchMetric is a query to Elasticsearch or OpenSearch. With esql, the result is an object if there is one row, and a list of objects
// if there are several. With search, the result is an object with total, the number of documents that match, and aggregations.
//
// +kubebuilder:validation:XValidation:rule=`has(self.esql) != has(self.search)`,message=`set exactly one of esql and search`
// +kubebuilder:validation:XValidation:rule=`has(self.search) == has(self.index)`,message=`set index together with search; an ES|QL query names its indices itself`
type ElasticsearchMetric struct {
	// URL of the server, such as "https://elasticsearch.logging:9200".
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Address string `json:"address"`

	// An ES|QL query, such as `FROM logs | WHERE level == "error" | STATS errors = COUNT(*)`. Elasticsearch 8.11 or later. At most 64 KiB.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	ESQL string `json:"esql,omitempty"`

	// The indices to search, separated by commas. May contain wildcards.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Index string `json:"index,omitempty"`

	// The JSON body of a search request: query and aggs. Documents are counted, not returned. At most 64 KiB.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	Search string `json:"search,omitempty"`

	// Credentials: oauth2 or basicAuth. For an API key, set a header.
	// +optional
	Authentication *Authentication `json:"authentication,omitempty"`

	// Timeout of the request, in seconds. Defaults to 30. Maximum 60.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=60
	Timeout *int64 `json:"timeout,omitempty"`

	// Whether to skip verification of the server's TLS certificate. Defaults to false.
	// +optional
	Insecure bool `json:"insecure,omitempty"`

	// HTTP headers of the request. At most 100.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	Headers []WebMetricHeader `json:"headers,omitempty"`
}

// DynatraceMetric is a query to the Metrics API of Dynatrace. The result is a list of the values of all series.
type DynatraceMetric struct {
	// Name of the Secret in the controller's namespace with the keys address and api-token. Defaults to dynatrace.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Profile string `json:"profile,omitempty"`

	// The metric selector, such as "builtin:service.errors.total.rate:avg". At most 64 KiB.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	MetricSelector string `json:"metricSelector"`

	// The entities to include, such as `type("SERVICE"),tag("version:2")`. Defaults to all.
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	EntitySelector string `json:"entitySelector,omitempty"`

	// Resolution of the values, such as 1m. Defaults to Inf, which is one value for each series.
	// +optional
	// +kubebuilder:validation:MaxLength=20
	Resolution string `json:"resolution,omitempty"`

	// How far back the query looks. Defaults to 5m.
	// +optional
	Interval DurationString `json:"interval,omitempty"`
}

// SplunkObservabilityMetric is a SignalFlow program that Splunk Observability Cloud computes. The result is a list of the last value of each
// series.
type SplunkObservabilityMetric struct {
	// Name of the Secret in the controller's namespace with the keys access-token and realm, or address instead of realm. Defaults to
	// splunk-observability.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Profile string `json:"profile,omitempty"`

	// The program, in SignalFlow, such as `data("errors").sum().publish()`. At most 64 KiB.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	Program string `json:"program"`

	// How far back the program looks. Defaults to 5m.
	// +optional
	Interval DurationString `json:"interval,omitempty"`
}
