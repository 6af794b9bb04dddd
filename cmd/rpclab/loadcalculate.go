package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rpclab/internal/caller"
	"rpclab/internal/load/calculate"
	"rpclab/internal/workload"
)

// calculateFlags are the flags of the CalculatorService client, as in the published study.
type calculateFlags struct{ calculate.Settings }

func (f *calculateFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.Style, "style", "", "load a CalculatorService in this `style`: bidi or unary-stream; only --timeout and the next flags apply")
	flags.IntVar(&f.Workers, "workers", 1, "number of workers that send; with bidi, each has its own stream")
	flags.DurationVar(&f.Interval, "interval", time.Millisecond, "pause of a worker after each message")
	flags.IntVar(&f.Transactions, "transactions", 5000, "total number of calculations")
	flags.StringVar(&f.Client, "client-id", "rpclab-load", "`name` of the client, to which the server addresses its responses")
	flags.Int64Var(&f.Calculation.X, "x", 1_000_000_000_037, "first `number` of each calculation")
	flags.Int64Var(&f.Calculation.Y, "y", 1, "second `number` of each calculation")
	flags.StringVar(&f.Calculation.Operation, "operation", workload.IsPrime, "`operation`: add, subtract, or isprime (of x)")
	flags.DurationVar(&f.LatencyOver, "latency-gt", 0, "list the calculations that took longer than this")
	flags.StringVar(&f.JWT, "jwt-gen", caller.TokenOnce, "`when` to create tokens: once for all calls, or every (for every call)")
	flags.IntVar(&f.Metadata, "extra-metadata", 0, "extra metadata entries of 32 bytes in every call")
	flags.StringVar(&f.Keys, "keys", "", "`file` with the keys that the server wrote, if it needs TLS, tokens or signatures")
}

// calculatorFlags are the flags that --style allows.
var calculatorFlags = map[string]bool{"style": true, "timeout": true, "workers": true, "interval": true, "transactions": true, "client-id": true, "x": true, "y": true,
	"operation": true, "latency-gt": true, "jwt-gen": true, "extra-metadata": true, "keys": true}

// checkFlags rejects flags that --style does not allow, and flags that need it.
func (f *calculateFlags) checkFlags(flags *pflag.FlagSet) (err error) {
	flags.Visit(func(flag *pflag.Flag) {
		switch {
		case err != nil:
		case f.Style != "" && !calculatorFlags[flag.Name]:
			err = fmt.Errorf("--%s cannot be used with --style: 'rpclab load --help' lists the flags that can", flag.Name)
		case f.Style == "" && calculatorFlags[flag.Name] && flag.Name != "timeout":
			err = fmt.Errorf("--%s needs --style %s or %s", flag.Name, caller.Bidi, caller.UnaryStream)
		}
	})
	return err
}

// run makes the calculations and prints a summary, also after an interrupt.
func (f *calculateFlags) run(c *cobra.Command) error {
	calls, err := calculate.Run(c.Context(), f.Settings)
	if errors.Is(err, calculate.ErrInvalid) {
		return usageError{err}
	} else if err != nil {
		return err
	}
	calculate.Print(c.OutOrStdout(), calls, f.Settings)
	if c.Context().Err() != nil {
		return fmt.Errorf("%w; the summary covers the calculations made so far", context.Canceled)
	}
	return nil
}
