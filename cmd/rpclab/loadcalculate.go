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

// calculateFlags are those of study 4's client.
type calculateFlags struct{ calculate.Settings }

func (f *calculateFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.Style, "style", "", "load a calculator as study 4 did: bidi, or unary-stream; the next flags go with it, and of the others --timeout alone")
	flags.IntVar(&f.Workers, "workers", 1, "who send; of two-way streams each has its own")
	flags.DurationVar(&f.Interval, "interval", time.Millisecond, "what a worker sleeps after each message")
	flags.IntVar(&f.Transactions, "transactions", 5000, "calculations in all")
	flags.StringVar(&f.Client, "client-id", "rpclab-load", "`name` of the client, by which its answers find it")
	flags.Int64Var(&f.Calculation.X, "x", 1_000_000_000_037, "the first number")
	flags.Int64Var(&f.Calculation.Y, "y", 1, "the second")
	flags.StringVar(&f.Calculation.Operation, "operation", workload.IsPrime, "add, subtract, or isprime of x")
	flags.DurationVar(&f.LatencyOver, "latency-gt", 0, "list the calculations that took longer")
	flags.StringVar(&f.JWT, "jwt-gen", caller.Once, "where the server wants tokens: once, one for all; every, one for each call")
	flags.IntVar(&f.Metadata, "extra-metadata", 0, "further keys and values of 32 bytes with every call")
	flags.StringVar(&f.Keys, "keys", "", "`file` that the server wrote where it asks for TLS, tokens or signatures")
}

// others are the flags that go with a style.
var others = map[string]bool{"style": true, "timeout": true, "workers": true, "interval": true, "transactions": true, "client-id": true, "x": true, "y": true,
	"operation": true, "latency-gt": true, "jwt-gen": true, "extra-metadata": true, "keys": true}

// alone refuses flags that do not go with a style, or with none.
func (f *calculateFlags) alone(flags *pflag.FlagSet) (err error) {
	flags.Visit(func(flag *pflag.Flag) {
		switch {
		case err != nil:
		case f.Style != "" && !others[flag.Name]:
			err = fmt.Errorf("--%s does not go with --style: see what does with 'rpclab load --help'", flag.Name)
		case f.Style == "" && others[flag.Name] && flag.Name != "timeout":
			err = fmt.Errorf("--%s goes with --style %s or %s alone", flag.Name, caller.Bidi, caller.UnaryStream)
		}
	})
	return err
}

// run makes the calculations and sums them up, those too that were made before an interrupt.
func (f *calculateFlags) run(c *cobra.Command) error {
	calls, err := calculate.Run(c.Context(), f.Settings)
	if errors.Is(err, calculate.ErrRequest) {
		return usage{err}
	} else if err != nil {
		return err
	}
	calculate.Print(c.OutOrStdout(), calls, f.LatencyOver)
	if c.Context().Err() != nil {
		return fmt.Errorf("%w; these were made until then", context.Canceled)
	}
	return nil
}
