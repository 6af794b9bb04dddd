package main

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
)

// fullDisk is an output that accepts nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestCalculationsOfWhichNoneIsAnsweredFail(t *testing.T) {
	t.Setenv(configVariable, os.DevNull)
	for _, test := range []struct {
		target string
		out    io.Writer
		code   int
		want   string
	}{
		{"127.0.0.1:1", io.Discard, exitLab, "no calculation was answered"}, // nothing listens there
		{"127.0.0.1:1", fullDisk{}, exitLab, "no space left on device"},
		{"nonsense", io.Discard, exitUsage, "is not an address: use HOST:PORT"},
	} {
		command := root()
		command.SetOut(test.out)
		command.SetArgs([]string{"load", "--style", "bidi", "--transactions", "1", "--timeout", "1s", test.target})
		if err := command.Execute(); err == nil || exitCode(err) != test.code || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: exit code %d (%v), want %d with %q", test.target, exitCode(err), err, test.code, test.want)
		}
	}
}
