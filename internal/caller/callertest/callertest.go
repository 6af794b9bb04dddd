// Package callertest opens caller sessions and runs loads in tests.
package callertest

import (
	"testing"

	"rpclab/internal/caller"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
)

// Open opens a session and closes it when the test ends.
func Open(t *testing.T, by caller.Caller, job caller.Job, target caller.Target) caller.Session {
	t.Helper()
	session, err := by.Open(job, target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	})
	return session
}

// Load runs a pace at once and returns the measurement.
func Load(t *testing.T, s caller.Session, p pace.Pace) measure.Measurement {
	t.Helper()
	recorder, _, err := s.Run(t.Context(), p, measure.StartSignal{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := recorder.Measurement()
	if err != nil {
		t.Fatal(err)
	}
	return m
}
