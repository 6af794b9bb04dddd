package main

import (
	"errors"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
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

// The help of --style names its flags by their order.
func TestTheHelpOfStyleNamesItsFlags(t *testing.T) {
	var names []string // in the order of the help
	command := loadCommand()
	command.Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	from := func(first, last string) []string {
		return slices.Sorted(slices.Values(names[slices.Index(names, first) : slices.Index(names, last)+1]))
	}
	_, after, _ := strings.Cut(command.Flags().Lookup("style").Usage, "unary-stream. ")
	if want := "Besides --timeout, only the flags from --mode to --keys apply. Those up to --jwt-gen also work with one dash, as in the study"; after != want {
		t.Errorf("the help of --style ends with %q, want %q", after, want)
	}
	allowed := maps.Clone(calculatorFlags)
	delete(allowed, "style")
	delete(allowed, "timeout")
	if got, want := from("mode", "keys"), slices.Sorted(maps.Keys(allowed)); !slices.Equal(got, want) {
		t.Errorf("the flags from --mode to --keys are %v, and --style allows %v", got, want)
	}
	if got, want := from("mode", "jwt-gen"), slices.Sorted(slices.Values(publishedFlags)); !slices.Equal(got, want) {
		t.Errorf("the flags from --mode to --jwt-gen are %v, and %v work with one dash", got, want)
	}
}
