package v1alpha1

// LokiMetric is a Grafana Loki query that returns numbers. The result is a list of them.
type LokiMetric struct {
	// URL of the server, such as "http://loki.monitoring:3100".
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Address string `json:"address"`

	// The query, in LogQL, at most 64 KiB. It must return numbers, such as `sum(count_over_time({app="shop"} |= "error" [5m]))`.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	Query string `json:"query"`

	// Tenant whose logs to query, sent in the header X-Scope-OrgID. Defaults to none.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Tenant string `json:"tenant,omitempty"`

	// How to authenticate to the server: oauth2 or basicAuth.
	// +optional
	Authentication *Authentication `json:"authentication,omitempty"`

	// Seconds to wait for the response. Defaults to 30, at most 60.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=60
	Timeout *int64 `json:"timeout,omitempty"`

	// Whether to skip verification of the server's certificate. Defaults to false.
	// +optional
	Insecure bool `json:"insecure,omitempty"`

	// HTTP headers to add to the request, at most 100.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	Headers []WebMetricHeader `json:"headers,omitempty"`
}
