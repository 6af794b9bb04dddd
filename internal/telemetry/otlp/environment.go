package otlp

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"rpclab/internal/telemetry"
)

// Options says where and how to send a run.
type Options struct {
	url      *url.URL
	grpc     bool
	header   http.Header
	tls      *tls.Config // nil: cleartext
	resource map[string]string
	// Signals that are not sent.
	noSpans, noMetrics bool
}

// The environment variables of OpenTelemetry that rpclab reads (opentelemetry.io/docs/specs/otel/protocol/exporter).
const (
	Endpoint      = "OTEL_EXPORTER_OTLP_ENDPOINT"
	protocol      = "OTEL_EXPORTER_OTLP_PROTOCOL"
	headers       = "OTEL_EXPORTER_OTLP_HEADERS"
	certificate   = "OTEL_EXPORTER_OTLP_CERTIFICATE"
	attributes    = "OTEL_RESOURCE_ATTRIBUTES"
	serviceName   = "OTEL_SERVICE_NAME"
	disabled      = "OTEL_SDK_DISABLED"
	spansTo       = "OTEL_TRACES_EXPORTER"
	metricsTo     = "OTEL_METRICS_EXPORTER"
	nowhere       = "none" // of spansTo and metricsTo
	protocolGRPC  = "grpc"
	protocolHTTP  = "http/protobuf"
	allowedURLs   = "http://127.0.0.1:4318 (OTLP over HTTP) or grpc://127.0.0.1:4317 (over gRPC); https and grpcs use TLS"
	serviceRpclab = "rpclab"
)

// Read returns the options for a URL, or for that of the environment if the URL is empty. They are nil if there is none.
func Read(to string, env func(string) string) (*Options, error) {
	what := "--otlp"
	if to == "" {
		what = Endpoint
		if to = env(Endpoint); to == "" || strings.EqualFold(env(disabled), "true") {
			return nil, nil
		}
	}
	address, err := url.Parse(to)
	if err != nil || address.Host == "" {
		return nil, fmt.Errorf("%s: use a URL such as %s", what, allowedURLs)
	}
	o := &Options{url: address, noSpans: env(spansTo) == nowhere, noMetrics: env(metricsTo) == nowhere}
	switch address.Scheme {
	case "http", "https":
	case "grpc", "grpcs":
		o.grpc = true
	default:
		return nil, fmt.Errorf("%s: no scheme %q: use a URL such as %s", what, address.Scheme, allowedURLs)
	}
	if p := env(protocol); what == Endpoint && !o.grpc {
		if p != "" && p != protocolGRPC && p != protocolHTTP {
			return nil, fmt.Errorf("%s: rpclab supports %s and %s, not %q", protocol, protocolGRPC, protocolHTTP, p)
		}
		o.grpc = p == protocolGRPC
	}
	if o.header, err = telemetry.ParseHeaders(env(headers)); err != nil {
		return nil, fmt.Errorf("%s: %w", headers, err)
	}
	if o.grpc {
		if strings.Trim(address.Path, "/") != "" || address.RawQuery != "" {
			return nil, fmt.Errorf("%s: OTLP over gRPC has no path and no query: use %s://%s", what, address.Scheme, address.Host)
		}
		if user := address.User; user != nil && o.header.Get("Authorization") == "" {
			password, _ := user.Password()
			o.header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
		}
	}
	if o.resource, err = telemetry.ParsePairs(env(attributes)); err != nil {
		return nil, fmt.Errorf("%s: %w", attributes, err)
	}
	o.resource["service.name"] = cmp.Or(env(serviceName), o.resource["service.name"], serviceRpclab)
	if strings.HasSuffix(address.Scheme, "s") {
		o.tls, err = trusting(env(certificate))
	}
	return o, err
}

// trusting returns a configuration that trusts the certificates in a file, or the system's without a file.
func trusting(file string) (*tls.Config, error) {
	if file == "" {
		return &tls.Config{}, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", certificate, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s: %w", certificate, errors.New("the file has no certificate (PEM)"))
	}
	return &tls.Config{RootCAs: pool}, nil
}

// String returns the URL without a password.
func (o Options) String() string { return o.url.Redacted() }
