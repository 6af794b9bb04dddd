package main

import (
	"bytes"
	"context"
	"testing"
)

// A tool whose program was ended is not one that does not run.
func TestAnInterruptedDoctorFindsNothing(t *testing.T) {
	t.Setenv("RPCLAB_DATA_DIR", t.TempDir())
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	var out bytes.Buffer
	command := root()
	command.SetOut(&out)
	command.SetArgs([]string{"doctor"})
	if err := command.ExecuteContext(ctx); exitCode(err) != exitInterrupted || out.Len() > 0 {
		t.Errorf("it ends with exit code %d (%v) and prints %q, want %d and nothing", exitCode(err), err, &out, exitInterrupted)
	}
}
