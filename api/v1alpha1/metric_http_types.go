package v1alpha1

import "encoding/json"

// PrometheusMetric is a query to Prometheus. The result is a list of numbers if the query returns a vector or a range, and a
// number if it returns a scalar.
type PrometheusMetric struct {
	// URL of the server, such as "http://prometheus.monitoring:9090". Defaults to the controller's environment variable
	// ARGO_ROLLOUTS_PROMETHEUS_ADDRESS.
	// +optional
	Address string `json:"address,omitempty"`

	// The query, in PromQL, at most 64 KiB. The response may be up to 1 MiB. Required unless the metric has a comparison.
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	Query string `json:"query,omitempty"`

	// How to authenticate to the server.
	// +optional
	Authentication *Authentication `json:"authentication,omitempty"`

	// Seconds to wait for the response. Defaults to 30, at most 60. In objects stored before this limit existed, longer timeouts
	// are shortened to 60.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:XValidation:rule=`self <= 60`,message=`must be 60 or less: a measurement may wait for its server for a minute`
	Timeout *int64 `json:"timeout,omitempty"`

	// Whether to skip verification of the server's certificate. Defaults to false.
	// +optional
	Insecure bool `json:"insecure,omitempty"`

	// HTTP headers to add to the request, at most 100.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	Headers []WebMetricHeader `json:"headers,omitempty"`

	// Queries all values in a time range, instead of the current value.
	// +optional
	RangeQuery *PrometheusRangeQuery `json:"rangeQuery,omitempty"`
}

// PrometheusRangeQuery is a time range.
//
// +kubebuilder:validation:XValidation:rule=`has(self.start) && size(self.start) > 0 && has(self.end) && size(self.end) > 0 && has(self.step) && size(self.step) > 0`,message=`start, end and step are all required, such as start: now() - duration("5m"), end: now(), step: 1m`,reason=FieldValueRequired
type PrometheusRangeQuery struct {
	// Start of the range: an expression that returns a time, such as `now() - duration("1h")`.
	// +optional
	Start string `json:"start,omitempty"`

	// End of the range: an expression that returns a time, such as `now()`.
	// +optional
	End string `json:"end,omitempty"`

	// Time between two values, such as "1m".
	// +optional
	Step string `json:"step,omitempty"`
}

// Authentication is how to authenticate to a server. Set at most one of its fields.
//
// +kubebuilder:validation:XValidation:rule=`[(has(self.sigv4) && ((has(self.sigv4.region) && size(self.sigv4.region) > 0) || (has(self.sigv4.profile) && size(self.sigv4.profile) > 0) || (has(self.sigv4.roleArn) && size(self.sigv4.roleArn) > 0))), has(self.google), (has(self.oauth2) && ((has(self.oauth2.tokenUrl) && size(self.oauth2.tokenUrl) > 0) || (has(self.oauth2.clientId) && size(self.oauth2.clientId) > 0) || (has(self.oauth2.clientSecret) && size(self.oauth2.clientSecret) > 0))), (has(self.basicAuth) && ((has(self.basicAuth.username) && size(self.basicAuth.username) > 0) || (has(self.basicAuth.password) && size(self.basicAuth.password) > 0)))].filter(x, x).size() <= 1`,message=`set only one of sigv4, google, oauth2 and basicAuth`,reason=FieldValueForbidden
type Authentication struct {
	// Sign requests for Amazon Managed Service for Prometheus, whose addresses contain aps-workspaces. For prometheus only.
	// +optional
	Sigv4 *Sigv4Config `json:"sigv4,omitempty"`

	// Send a token of the controller's Google Cloud identity. For prometheus only, and only to
	// https://monitoring.googleapis.com, such as
	// "https://monitoring.googleapis.com/v1/projects/<project>/location/global/prometheus". Argo Rollouts 1.10 does not support
	// it.
	// +optional
	Google *GoogleConfig `json:"google,omitempty"`

	// Request a token with client credentials.
	// +optional
	OAuth2 *OAuth2Config `json:"oauth2,omitempty"`

	// Send a user name and a password. For prometheus only.
	// +optional
	BasicAuth *BasicAuthConfig `json:"basicAuth,omitempty"`
}

// Sigv4Config is how to sign requests to AWS. Fields that are left out are taken from the controller's environment.
type Sigv4Config struct {
	// AWS region.
	// +optional
	Region string `json:"region,omitempty"`

	// Name of a profile in the controller's AWS configuration.
	// +optional
	Profile string `json:"profile,omitempty"`

	// ARN of the role to assume.
	// +optional
	RoleARN string `json:"roleArn,omitempty"`
}

// GoogleConfig is what to request from Google Cloud with the controller's application default credentials.
type GoogleConfig struct {
	// Scopes to request, at most 100. Defaults to https://www.googleapis.com/auth/monitoring.read.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	Scopes []string `json:"scopes,omitempty"`
}

// OAuth2Config is how to request a token with client credentials.
//
// +kubebuilder:validation:XValidation:rule=`[has(self.tokenUrl) && size(self.tokenUrl) > 0, has(self.clientId) && size(self.clientId) > 0, has(self.clientSecret) && size(self.clientSecret) > 0].filter(x, x).size() in [0, 3]`,message=`tokenUrl, clientId and clientSecret are all required`,reason=FieldValueRequired
type OAuth2Config struct {
	// URL to request the token from.
	// +optional
	TokenURL string `json:"tokenUrl,omitempty"`

	// ID of the client.
	// +optional
	ClientID string `json:"clientId,omitempty"`

	// Secret of the client. Use an argument that is read from a Secret: "{{args.secret}}".
	// +optional
	ClientSecret string `json:"clientSecret,omitempty"`

	// Scopes to request, at most 100.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	Scopes []string `json:"scopes,omitempty"`
}

// BasicAuthConfig is a user name and a password.
type BasicAuthConfig struct {
	// The user name.
	// +optional
	Username string `json:"username,omitempty"`

	// The password. Use an argument that is read from a Secret: "{{args.password}}".
	// +optional
	Password string `json:"password,omitempty"`
}

// WebMetric is an HTTP request. The result is the value at jsonPath, or the whole body as a string if it is not JSON.
//
// +kubebuilder:validation:XValidation:rule=`!((has(self.body) && size(self.body) > 0) && has(self.jsonBody))`,message=`set only one of body and jsonBody`,fieldPath=`.jsonBody`,reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule=`!((has(self.body) && size(self.body) > 0) || has(self.jsonBody)) || (has(self.method) && self.method in ['POST', 'PUT'])`,message=`a body needs method POST or PUT; GET, the default, sends none`,fieldPath=`.method`
type WebMetric struct {
	// GET, POST or PUT. Defaults to GET.
	// +optional
	// +kubebuilder:validation:Enum=GET;POST;PUT
	Method WebMetricMethod `json:"method,omitempty"`

	// URL to send the request to, at most 8 KiB. The response may be up to 1 MiB.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=8192
	URL string `json:"url"`

	// HTTP headers to add to the request, at most 100.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	Headers []WebMetricHeader `json:"headers,omitempty"`

	// Body of the request, as a string, at most 256 KiB. For POST and PUT. Must not be set together with jsonBody.
	// +optional
	// +kubebuilder:validation:MaxLength=262144
	Body string `json:"body,omitempty"`

	// Seconds to wait for the response. Defaults to 10, at most 60. In objects stored before this limit existed, longer timeouts
	// are shortened to 60.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:XValidation:rule=`self <= 60`,message=`must be 60 or less: a measurement may wait for its server for a minute`
	TimeoutSeconds int64 `json:"timeoutSeconds,omitempty"`

	// Where to find the result in the response, in kubectl's JSONPath syntax, at most 8 KiB. Defaults to "{$}": the whole
	// response.
	// +optional
	// +kubebuilder:validation:MaxLength=8192
	JSONPath string `json:"jsonPath,omitempty"`

	// Whether to skip verification of the server's certificate. Defaults to false.
	// +optional
	Insecure bool `json:"insecure,omitempty"`

	// Body of the request: an object, sent as JSON. For POST and PUT. Must not be set together with body.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	JSONBody json.RawMessage `json:"jsonBody,omitempty"`

	// How to authenticate to the server.
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
	// +kubebuilder:validation:MinLength=1
	Key string `json:"key"`

	// Value of the header.
	Value string `json:"value"`
}
