package main

import (
	"os"
	"testing"
)

// Servers of the user's that a run starts must not see the headers.
func TestHeadersOfPrometheusLeaveTheEnvironment(t *testing.T) {
	t.Setenv(remoteWriteHeaders, "Authorization=Bearer x")
	if err := (&telemetryFlags{}).check(); err != nil || os.Getenv(remoteWriteHeaders) != "" {
		t.Errorf("%v; the environment has %q", err, os.Getenv(remoteWriteHeaders))
	}
}
