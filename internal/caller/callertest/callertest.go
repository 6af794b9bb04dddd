// Package callertest opens caller sessions and runs loads in tests.
package callertest

import (
	"testing"

	"rpclab/internal/caller"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
)

// Open opens a session and closes it when the test ends.
func Open(t *testing.T, library caller.Caller, job caller.Job, target caller.Target) caller.Session {
	t.Helper()
	session, err := library.Open(job, target)
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

// Load makes the calls of a pace, starting now, and returns the measurement.
func Load(t *testing.T, session caller.Session, plan pace.Pace) measure.Measurement {
	t.Helper()
	recorder, _, err := session.Run(t.Context(), plan, measure.StartSignal{})
	if err != nil {
		t.Fatal(err)
	}
	measurement, err := recorder.Measurement()
	if err != nil {
		t.Fatal(err)
	}
	return measurement
}
