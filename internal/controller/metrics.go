package controller

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// metricsServer says how metrics are served: in plain text to everybody, or by TLS to clients whose token the API server knows, and which may
// get /metrics.
func (o Options) metricsServer() metricsserver.Options {
	options := metricsserver.Options{BindAddress: address(o.MetricsPort)}
	if o.MetricsSecure {
		options.SecureServing = true
		options.FilterProvider = authorized
		options.CertDir = o.MetricsCertDir
		options.TLSOpts = []func(*tls.Config){func(c *tls.Config) {
			c.MinVersion = tls.VersionTLS12
			c.NextProtos = []string{"http/1.1"} // one scrape at a time; HTTP/2 lets a client without a token open many streams
		}}
	}
	return options
}

// authorized has the API server say whose a token is, and whether they may get /metrics.
func authorized(config *rest.Config, client *http.Client) (metricsserver.Filter, error) {
	filter, err := filters.WithAuthenticationAndAuthorization(config, client)
	if err != nil {
		return nil, err
	}
	return unauthorizing(filter), nil
}

// unauthorizing has a filter of controller-runtime answer 401 where it could not find out whose a token is, as the API server itself does. It
// would answer 500, since the library that it asks takes a token that nobody knows for an error.
func unauthorizing(filter metricsserver.Filter) metricsserver.Filter {
	return func(log logr.Logger, next http.Handler) (http.Handler, error) {
		filtered, err := filter(log, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(w.(*filterAnswer).ResponseWriter, r) // whose answers are its own
		}))
		if err != nil {
			return nil, err
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			filtered.ServeHTTP(&filterAnswer{ResponseWriter: w}, r)
		}), nil
	}
}

// filterAnswer is what a filter answers itself.
type filterAnswer struct {
	http.ResponseWriter
	// status waits for the text behind it, if it is not 0.
	status int
}

// WriteHeader keeps a failure until it is known which one it is.
func (a *filterAnswer) WriteHeader(status int) {
	if status == http.StatusInternalServerError {
		a.status = status
		return
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write writes the text of an answer.
func (a *filterAnswer) Write(text []byte) (int, error) {
	if a.status != 0 {
		if strings.TrimSpace(string(text)) == authenticationFailed {
			a.status = http.StatusUnauthorized
		}
		a.ResponseWriter.WriteHeader(a.status)
		a.status = 0
	}
	return a.ResponseWriter.Write(text)
}

// authenticationFailed is what controller-runtime answers where it could not find out whose a token is.
const authenticationFailed = "Authentication failed"

// validateMetrics says what is wrong with the flags about metrics. A certificate that is missing would silently be replaced by a self-signed one.
func (o Options) validateMetrics() error {
	switch {
	case o.MetricsCertDir == "":
		return nil
	case !o.MetricsSecure:
		return fmt.Errorf("--metrics-cert-dir %q is for --metrics-secure: set it too, or leave the directory out", o.MetricsCertDir)
	case o.MetricsPort == 0:
		return errors.New("--metrics-cert-dir is of no use with --metrics-port 0, which serves no metrics")
	}
	certificate, key := filepath.Join(o.MetricsCertDir, "tls.crt"), filepath.Join(o.MetricsCertDir, "tls.key")
	if _, err := tls.LoadX509KeyPair(certificate, key); err != nil {
		return fmt.Errorf("--metrics-cert-dir %q: %w: put a certificate in tls.crt and its key in tls.key", o.MetricsCertDir, err)
	}
	return nil
}
