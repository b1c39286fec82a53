package trace

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/url"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"k8s.io/utils/clock"

	"github.com/sluice-delivery/sluice/internal/buildinfo"
)

// Endpoint is where traces go: what the flag says, or else OpenTelemetry's environment variables. Empty: nowhere.
func Endpoint(flag string, env func(string) string) (string, error) {
	name, endpoint := "--otlp-endpoint", flag
	for _, variable := range []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"} {
		if endpoint == "" {
			name, endpoint = "$"+variable, env(variable)
		}
	}
	if endpoint == "" || env("OTEL_SDK_DISABLED") == "true" || env("OTEL_TRACES_EXPORTER") == "none" {
		return "", nil
	}
	if at, err := url.Parse(endpoint); err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" {
		return "", fmt.Errorf("%s %q is not a valid address of an OpenTelemetry collector: write http://HOST:PORT, or https:// with TLS", name, endpoint)
	}
	if exporter := env("OTEL_TRACES_EXPORTER"); exporter != "" && exporter != "otlp" {
		return "", fmt.Errorf("$OTEL_TRACES_EXPORTER %q: traces are sent by otlp; leave it out, or write none", exporter)
	}
	protocol := cmp.Or(env("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"), env("OTEL_EXPORTER_OTLP_PROTOCOL"))
	if protocol != "" && protocol != "grpc" {
		return "", fmt.Errorf("$OTEL_EXPORTER_OTLP_PROTOCOL %q: traces are sent by grpc; write that, and the port for it, mostly 4317", protocol)
	}
	return endpoint, nil
}

// Export returns Updates that report to an endpoint. Certificates, headers, limits, sampling and the resource's attributes
// are read from OpenTelemetry's environment variables.
func Export(ctx context.Context, clk clock.PassiveClock, endpoint string, log *slog.Logger) (*Updates, error) {
	otel.SetLogger(logr.FromSlogHandler(log.Handler()))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		log.Warn("traces are incomplete", "error", err)
	}))
	exporter, err := otlptracegrpc.New(ctx, otlptracegrpc.WithEndpointURL(endpoint))
	if err != nil {
		return nil, fmt.Errorf("send traces to %s: %w", endpoint, err)
	}
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "sluice-controller"), attribute.String("service.version", buildinfo.Version())),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("read $OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	return New(clk, sdktrace.WithBatcher(exporter), sdktrace.WithResource(about)), nil
}
