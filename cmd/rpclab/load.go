package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	generator "rpclab/internal/load"
	"rpclab/internal/load/summary"
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
array, or NDJSON) calls take one after the other. {{.Worker}} is a number that
no other call under way has.

A call of a streaming method is a whole stream: it sends its message --messages
times, and ends with the last answer. How long each answer took is shown too.

REST answers with a status of 400 or more are errors, HTTP_404 say. Redirects
are answers, and nobody follows them.

With --style it loads a CalculatorService (see 'rpclab server --security') as
study 4 did, and sums up in its words.

Assertions are such as 'p99 < 50ms', 'errors == 0', 'errors < 0.1%',
'rate >= 950/s', joined by &&; one that fails ends the command with code 1.
They know min mean p50 p90 p95 p99 p999 max (also after service_,
lateness_ and message_), rate, calls, errors, errors.CODE and dropped.`,
		Example: `  rpclab load --call rpclab.v1.Greeter/SayHello -d '{"name": "you"}' \
      --rate 500 --duration 10s 127.0.0.1:50051
  rpclab load --call shop.Orders/Get -d @ids.ndjson --stages 10s:100,30s:100 \
      --assert 'p99 < 50ms' --assert 'errors == 0' 127.0.0.1:50051
  rpclab load --http GET --concurrency 20 --calls 10000 http://127.0.0.1:8080/
  rpclab load --style bidi --workers 3 --interval 1ms --latency-gt 20ms \
      --keys keys.json 127.0.0.1:50051
  rpclab load --self-test`,
		Args: f.target,
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.study.alone(c.Flags()); err != nil {
				return usage{err}
			}
			if f.study.Style != "" {
				f.study.Target, f.study.Timeout = args[0], f.Timeout
				return f.study.run(c)
			}
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
	load, err := generator.Open(c.Context(), f.Settings)
	if errors.Is(err, generator.ErrRequest) {
		return usage{err}
	} else if err != nil {
		return err
	}
	document, err := f.perform(c, load)
	err = errors.Join(err, load.Close())
	if document.ID == "" {
		return err
	}
	checks := check(assertions, document.Arms)
	if err := errors.Join(err, f.outputs.write(c, document, checks)); err != nil {
		return err
	}
	f.keeping.tell(c, f.outputs, document.ID)
	if c.Context().Err() != nil {
		return fmt.Errorf("%w; the result holds what was measured until then", context.Canceled)
	}
	return hold(c.ErrOrStderr(), checks, 1)
}

// perform runs a load, shows how it goes and keeps the result.
func (f loadFlags) perform(c *cobra.Command, load *generator.Load) (d result.Document, err error) {
	store, done, err := f.keeping.open() // before the load, which may be long
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, done()) }()
	live := generator.NewLive()
	stop := showLive(c.ErrOrStderr(), live)
	d, err = load.Run(c.Context(), live)
	stop()
	if err != nil || store == nil {
		return d, err
	}
	return d, store.Save(context.Background(), d) // also when it was interrupted
}

// selfTest measures the generator alone.
func selfTest(c *cobra.Command, f loadFlags) error {
	probe := generator.Probe{Engine: f.Engine, Request: selfTestBytes, Reply: selfTestBytes, Each: selfTestEach}
	if f.HTTP != "" {
		if probe.HTTP = 1; f.HTTP2 {
			probe.HTTP = 2
		}
	}
	ability, err := generator.SelfTest(c.Context(), probe)
	if interrupt := c.Context().Err(); interrupt != nil {
		return interrupt // the rest of it says nothing
	}
	if err != nil {
		return fmt.Errorf("self-test: %w", err)
	}
	fmt.Fprintf(c.OutOrStdout(), "The generator alone, messages of %d bytes\n", selfTestBytes)
	summary.Ability(c.OutOrStdout(), *ability)
	return nil
}
