package main

import (
	"io"
	"testing"
)

func TestInitRejectsWrongFlagsAndFiles(t *testing.T) {
	for _, args := range [][]string{
		{"127.0.0.1:1", "--proto", "missing.proto"},
		{"127.0.0.1:1", "--protoset", "missing.bin"},
		{"127.0.0.1:1", "--cacert", "missing.pem"},
		{"127.0.0.1:1", "-H", "nonsense"},
		{"localhost"},
		{"localhost", "--proto", "../../api/studies/chain/chain.proto"},
	} {
		command := root()
		command.SetOut(io.Discard)
		command.SetArgs(append([]string{"init"}, args...))
		if err := command.Execute(); exitCode(err) != exitUsage {
			t.Errorf("rpclab init %q ends with exit code %d (%v), want %d", args, exitCode(err), err, exitUsage)
		}
	}
}
