package v1alpha1

// LokiMetric is a query to Grafana Loki that gives numbers. The result is a list of them.
type LokiMetric struct {
	// URL of the server, such as "http://loki.monitoring:3100".
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Address string `json:"address"`

	// The query, in LogQL: one that gives numbers, such as `sum(count_over_time({app="shop"} |= "error" [5m]))`. 64 KiB at most.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	Query string `json:"query"`

	// Tenant whose logs to query, which is sent as the header X-Scope-OrgID. Defaults to none.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Tenant string `json:"tenant,omitempty"`

	// How to prove who asks: oauth2 or basicAuth.
	// +optional
	Authentication *Authentication `json:"authentication,omitempty"`

	// Seconds to wait for the answer. Defaults to 30, and is 60 at most.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=60
	Timeout *int64 `json:"timeout,omitempty"`

	// Whether to accept any certificate of the server. Defaults to false.
	// +optional
	Insecure bool `json:"insecure,omitempty"`

	// HTTP headers to add to the request, 100 at most.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	Headers []WebMetricHeader `json:"headers,omitempty"`
}
