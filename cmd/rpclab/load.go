package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	generator "rpclab/internal/load"
	"rpclab/internal/load/summary"
	"rpclab/internal/process"
	"rpclab/internal/result"
)

func loadCommand() *cobra.Command {
	var f loadFlags
	command := &cobra.Command{
		Use:   "load HOST:PORT",
		Short: "Load one gRPC or REST server and measure it",
		Long: `Calls one method of one server and says how long calls took from the moment
they were due. With --rate or --stages calls are due whatever the answers do
(an open loop, which sees every stall); with --concurrency each user waits for
its answer (a closed loop, which hides them).

The method is found by server reflection, unless --proto or --protoset has it.
Messages may be templates: {{.Number}} {{.Worker}} {{uuid}} {{now}}
{{unixMilli}} {{randomInt 1 10}} {{randomString 8}}. Of many messages (a JSON
array, or NDJSON) calls take one after the other.

Assertions are such as 'p99 < 50ms', 'errors == 0', 'errors < 0.1%',
'rate >= 950/s', joined by &&; one that fails ends the command with code 1.
They know min mean p50 p90 p95 p99 p999 max (also after service_ and
lateness_), rate, calls, errors, errors.CODE and dropped.`,
		Example: `  rpclab load --call rpclab.v1.Greeter/SayHello -d '{"name": "you"}' \
      --rate 500 --duration 10s 127.0.0.1:50051
  rpclab load --call shop.Orders/Get -d @ids.ndjson --stages 10s:100,30s:100 \
      --assert 'p99 < 50ms' --assert 'errors == 0' 127.0.0.1:50051
  rpclab load --http GET --concurrency 20 --calls 10000 http://127.0.0.1:8080/
  rpclab load --self-test`,
		Args: f.target,
		RunE: func(c *cobra.Command, args []string) error {
			if f.selfTest {
				return selfTest(c, f)
			}
			f.Target, f.Stdin = args[0], c.InOrStdin()
			return runLoad(c, f)
		},
	}
	f.register(command.Flags())
	return command
}

// runLoad loads a target, shows what was measured and checks the assertions.
func runLoad(c *cobra.Command, f loadFlags) error {
	assertions, err := f.finish(c.Flags())
	if err != nil {
		return usage{err}
	}
	if _, err := process.MaxFiles(); err != nil {
		return err
	}
	load, err := generator.Open(c.Context(), f.Settings)
	if errors.Is(err, generator.ErrRequest) {
		return usage{err}
	} else if err != nil {
		return err
	}
	live := load.Live()
	stop := showLive(c.ErrOrStderr(), live)
	document, err := load.Run(c.Context(), live)
	stop()
	if err = errors.Join(err, load.Close()); err != nil {
		return err
	}
	if err := f.write(c.OutOrStdout(), document); err != nil {
		return err
	}
	if document.Partial {
		return fmt.Errorf("%w; the result holds what was measured until then", context.Canceled)
	}
	return hold(c.ErrOrStderr(), assertions, document.Arms[:1])
}

func (f loadFlags) write(out io.Writer, d result.Document) error {
	if f.json == "-" {
		return result.Write(out, d)
	}
	return errors.Join(
		summary.Terminal(out, d),
		toFile(f.json, func(w io.Writer) error { return result.Write(w, d) }))
}

// selfTest measures the generator alone.
func selfTest(c *cobra.Command, f loadFlags) error {
	probe := generator.Probe{Engine: f.Engine, Request: selfTestBytes, Reply: selfTestBytes, Each: selfTestEach}
	if f.HTTP != "" {
		probe.Engine = "net/http"
	}
	ability, err := generator.SelfTest(c.Context(), probe)
	if err != nil {
		return fmt.Errorf("self-test: %w", err)
	}
	if err := c.Context().Err(); err != nil {
		return err
	}
	fmt.Fprintf(c.OutOrStdout(), "The generator alone, messages of %d bytes\n", selfTestBytes)
	summary.Ability(c.OutOrStdout(), *ability)
	return nil
}
