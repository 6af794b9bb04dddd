package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"rpclab/internal/lab"
	"rpclab/internal/telemetry/otlp"
)

// Servers of the user's that a run starts must not see the headers.
func TestHeadersOfPrometheusLeaveTheEnvironment(t *testing.T) {
	t.Setenv(remoteWriteHeaders, "Authorization=Bearer x")
	if err := (&telemetryFlags{}).check(); err != nil || os.Getenv(remoteWriteHeaders) != "" {
		t.Errorf("%v; the environment has %q", err, os.Getenv(remoteWriteHeaders))
	}
}

// The variables of OpenTelemetry are those of all programs in a job, so a run continues without a receiver that it cannot use.
func TestAReceiverOfTheEnvironmentThatIsWrongIsAWarning(t *testing.T) {
	for _, c := range []struct{ endpoint, protocol, want string }{
		{"localhost:4317", "", otlp.Endpoint + ": use a URL such as"},
		{"http://localhost:4318", "http/json", `rpclab supports grpc and http/protobuf, not "http/json"`},
	} {
		t.Setenv(otlp.Endpoint, c.endpoint)
		t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", c.protocol)
		var f telemetryFlags
		if err := f.check(); err != nil {
			t.Errorf("%s %s: %v", c.endpoint, c.protocol, err)
		}
		var out bytes.Buffer
		sent, err := f.open(&out, lab.Plan{}, "id", nil)
		if err != nil || len(sent.all) > 0 || !strings.HasPrefix(out.String(), "rpclab: warning: ") || !strings.Contains(out.String(), c.want) {
			t.Errorf("%s %s: %v, %+v, want a warning with %q: %q", c.endpoint, c.protocol, err, sent, c.want, out.String())
		}
	}
	if err := (&telemetryFlags{otlp: "localhost:4317"}).check(); err == nil {
		t.Error("a flag that is wrong is accepted")
	}
}
