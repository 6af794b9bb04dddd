package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rpclab/internal/caller"
	"rpclab/internal/load/calculate"
	"rpclab/internal/workload"
)

// calculateFlags are the flags of the CalculatorService client, as in the published study.
type calculateFlags struct {
	calculate.Settings
	host, mode string // in place of the target and the style
}

func (f *calculateFlags) register(flags *pflag.FlagSet) {
	f.Interval = time.Millisecond
	flags.StringVar(&f.Style, "style", "", "load a CalculatorService in this `style`: bidi or unary-stream. Besides --timeout, only the flags from --mode to --keys apply. Those up to --jwt-gen also work with one dash, as in the study")
	flags.StringVar(&f.mode, "mode", "", "--style in the words of the study: bidirectional or unary")
	flags.StringVar(&f.host, "host", "", "the target, as a flag of the study: `HOST:PORT`")
	flags.IntVar(&f.Workers, "workers", 1, "number of workers that send; with bidi, each has its own stream")
	flags.Var((*milliseconds)(&f.Interval), "interval", "pause of a worker after each message, such as 2ms; a number is in ms")
	flags.IntVar(&f.Transactions, "transactions", 5000, "total number of calculations")
	flags.StringVar(&f.Client, "client-id", "rpclab-load", "`name` of the client, to which the server addresses its responses")
	flags.Int64Var(&f.Calculation.X, "x", 1_000_000_000_037, "first `number` of each calculation")
	flags.Int64Var(&f.Calculation.Y, "y", 1, "second `number` of each calculation")
	flags.StringVar(&f.Calculation.Operation, "operation", workload.IsPrime, "`operation`: add, subtract, or isprime (of x)")
	flags.Var((*milliseconds)(&f.LatencyOver), "latency-gt", "list the calculations that took longer than this, such as 20ms; a number is in ms")
	flags.StringVar(&f.JWT, "jwt-gen", caller.TokenOnce, "`when` to create tokens: once for all calls, or every (for every call)")
	flags.IntVar(&f.Metadata, "extra-metadata", 0, "extra metadata entries of 32 bytes in every call")
	flags.StringVar(&f.Keys, "keys", "", "`file` with the keys that the server wrote, if it needs TLS, tokens or signatures")
}

// milliseconds is a flag with a duration, or a number of milliseconds as published.
type milliseconds time.Duration

func (m *milliseconds) Type() string { return "duration" }

func (m *milliseconds) String() string {
	if *m == 0 {
		return "0"
	}
	return time.Duration(*m).String()
}

// Set implements [pflag.Value].
func (m *milliseconds) Set(text string) error {
	if number, err := strconv.ParseFloat(text, 64); err == nil && number != 0 {
		text = strconv.FormatFloat(number, 'f', -1, 64) + "ms"
	}
	took, err := time.ParseDuration(text)
	*m = milliseconds(took)
	return err
}

// publishedFlags are the flags of the study's client, which are written with one dash.
var publishedFlags = []string{"host", "mode", "workers", "interval", "transactions", "client-id", "x", "y", "operation", "latency-gt", "jwt-gen"}

// withTwoDashes returns a command line in which the published flags of `rpclab load` have two dashes.
func withTwoDashes(args []string) []string {
	if len(args) == 0 || args[0] != "load" {
		return args
	}
	args = slices.Clone(args)
	for i, arg := range args {
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		if strings.HasPrefix(arg, "-") && slices.Contains(publishedFlags, name) {
			args[i] = "-" + arg
		}
	}
	return args
}

// modes are the styles by their published names.
var modes = map[string]string{"bidirectional": caller.Bidi, "unary": caller.UnaryStream}

// calculatorFlags are the flags that --style allows.
var calculatorFlags = map[string]bool{"style": true, "mode": true, "host": true, "timeout": true, "workers": true, "interval": true, "transactions": true, "client-id": true, "x": true, "y": true,
	"operation": true, "latency-gt": true, "jwt-gen": true, "extra-metadata": true, "keys": true}

// checkFlags rejects flags that --style does not allow, and flags that need it.
func (f *calculateFlags) checkFlags(flags *pflag.FlagSet) (err error) {
	switch style := modes[f.mode]; {
	case f.mode == "":
	case style == "":
		return fmt.Errorf("--mode %s: use bidirectional or unary", f.mode)
	case f.Style != "":
		return errors.New("--mode and --style say the same: use one of them")
	default:
		f.Style = style
	}
	f.Calculation.Operation = strings.ToLower(f.Calculation.Operation) // as published
	flags.Visit(func(flag *pflag.Flag) {
		switch {
		case err != nil || isDefault(flag):
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
	var text strings.Builder
	calculate.Print(&text, calls, f.Settings)
	if _, err := io.WriteString(c.OutOrStdout(), text.String()); err != nil {
		return fmt.Errorf("cannot write the summary: %w", err)
	}
	if c.Context().Err() != nil {
		return fmt.Errorf("%w; the summary covers the calculations made so far", context.Canceled)
	}
	if calculate.Summarize(calls, f.Timeout).Answered == 0 {
		return errors.New("no calculation was answered: the summary says why")
	}
	return nil
}
