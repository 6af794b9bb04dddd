package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"rpclab/internal/cluster/kubernetes"
	"rpclab/internal/process"
)

// Exit codes, which scripts rely on.
const (
	exitDone        = 0
	exitGate        = 1   // an assertion or gate failed
	exitUsage       = 2   // wrong usage or a wrong experiment file
	exitLab         = 3   // a server did not start, a tool is missing …
	exitInterrupted = 130 // measurements so far are kept
)

// usageError marks an error in the command line or in a file of the user.
type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

// errReported ends a command that has printed its failure.
var errReported = errors.New("already reported")

// programStatus is the exit status of the program that the agent ran.
type programStatus int

func (e programStatus) Error() string {
	return fmt.Sprintf("the program exited with status %d", int(e))
}

func exitCode(err error) int {
	var wrong usageError
	var status programStatus
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &status):
		return int(status)
	case errors.Is(err, errGate):
		return exitGate
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &wrong), errors.Is(err, kubernetes.ErrKubeconfig):
		return exitUsage
	}
	return exitLab
}

// withoutInterrupt returns the errors that were joined with an interrupt; nil: none.
func withoutInterrupt(err error) error {
	if !errors.Is(err, context.Canceled) {
		return err
	}
	var others []error
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range joined.Unwrap() {
			others = append(others, withoutInterrupt(one))
		}
	}
	return errors.Join(others...)
}

// abortable returns a command that an interrupt ends at once, in the middle of a computation. It is
// for commands that only read runs and write files; a file that is being written is completed.
func abortable(run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		done := make(chan error, 1)
		go func() { done <- run(c, args) }()
		select {
		case err := <-done:
			return err
		case <-c.Context().Done():
			process.EndWriting()
			return c.Context().Err()
		}
	}
}

// interruptible returns a context that the first Ctrl-C, SIGTERM or SIGHUP cancels. SIGHUP
// stays ignored under nohup. A second Ctrl-C ends the process at once.
func interruptible() (context.Context, context.CancelFunc) {
	asked := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		asked = append(asked, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), asked...)
	context.AfterFunc(ctx, func() {
		// A closing terminal sends SIGHUP twice, itself and through the shell, and closes the
		// readers of our output. Neither may interrupt the clean-up.
		signal.Ignore(syscall.SIGHUP, syscall.SIGPIPE)
		stop()
	})
	return ctx, stop
}

// continueWithoutReader lets writes to a standard output or error without a reader fail, where they would otherwise end the
// program. So `rpclab run NAME 2>&1 | head -1` does not lose what it measures.
func continueWithoutReader() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}

// unlessUnread leaves out the error of an output whose reader has ended.
func unlessUnread(err error) error {
	if errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}
