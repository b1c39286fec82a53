package controller

import (
	"crypto/tls"
	"errors"
	"fmt"
	"path/filepath"

	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// metricsServer says how metrics are served: in plain text to everybody, or by TLS to clients whose token the API server knows, and which may
// get /metrics.
func (o Options) metricsServer() metricsserver.Options {
	options := metricsserver.Options{BindAddress: address(o.MetricsPort)}
	if o.MetricsSecure {
		options.SecureServing = true
		options.FilterProvider = filters.WithAuthenticationAndAuthorization
		options.CertDir = o.MetricsCertDir
		options.TLSOpts = []func(*tls.Config){func(c *tls.Config) {
			c.MinVersion = tls.VersionTLS12
			c.NextProtos = []string{"http/1.1"} // one scrape at a time; HTTP/2 lets a client without a token open many streams
		}}
	}
	return options
}

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
