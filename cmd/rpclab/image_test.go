package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestAnInterruptedBuildOfAnImageLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	command := root()
	command.SetErr(io.Discard)
	command.SetArgs([]string{"image", "build", "--with", "", "--program", "/bin/sh", "--output", filepath.Join(dir, "image.tar")})
	if err := command.ExecuteContext(ctx); exitCode(err) != exitInterrupted {
		t.Errorf("it ends with exit code %d (%v), want %d", exitCode(err), err, exitInterrupted)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("the directory has %v, want nothing", left)
	}
}
