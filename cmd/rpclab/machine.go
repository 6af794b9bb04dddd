package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"rpclab/internal/process/running"
)

// machineLock is the environment variable that, with the value off, lets runs neither wait for each
// other nor know of each other. Tests set it.
const machineLock = "RPCLAB_MACHINE_LOCK"

// machineFlags say what a command does while another run uses this machine.
type machineFlags struct {
	noWait  bool
	entered func() error // called once no other run uses the machine; nil: nothing is called
}

func (f *machineFlags) register(flags *pflag.FlagSet) {
	flags.BoolVar(&f.noWait, "no-wait", false, "start even if another rpclab run uses this machine; the result says so")
}

// enter makes this run known on this machine, once no other run uses it. It fails only when ctx ends:
// a run without a lock is better than none.
func (f machineFlags) enter(ctx context.Context, out io.Writer, command string) (*running.Entry, error) {
	if os.Getenv(machineLock) == "off" {
		return nil, nil
	}
	machine, err := running.Open()
	if err == nil {
		wait := func(others []running.Run) {
			var all []string
			for _, run := range others {
				all = append(all, run.String())
			}
			fmt.Fprintf(out, "rpclab: waiting for another run that uses this machine: %s\nrpclab: --no-wait starts at once, and the result says so\n", strings.Join(all, ", "))
		}
		if f.noWait {
			wait = nil
		}
		var entry *running.Entry
		if entry, err = machine.Enter(ctx, command, wait); err == nil || errors.Is(err, context.Canceled) {
			return entry, err
		}
	}
	fmt.Fprintf(out, "rpclab: cannot tell whether another run uses this machine: %v\n", err)
	return nil, nil
}
