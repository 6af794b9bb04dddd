package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rpclab/internal/lab"
	generator "rpclab/internal/load"
	"rpclab/internal/load/summary"
)

func loadCommand() *cobra.Command {
	var f loadFlags
	command := &cobra.Command{
		Use:   "load TARGET",
		Short: "Generate load on a gRPC or REST server and measure it",
		Long: `Calls one method of one server and reports latencies, counted from the moment
each call was due. --rate and --stages make an open loop: calls are due at a
rate, independent of responses, so every stall shows. --concurrency makes a
closed loop: each user waits for its response, which hides stalls.

rpclab finds the method by server reflection, or in --proto or --protoset.
Messages and metadata can be templates with {{.Number}} {{.Worker}} {{uuid}}
{{now}} {{unixMilli}} {{randomInt 1 10}} {{randomString 8}}. When --data is a
JSON array or NDJSON, calls use its messages in turn. No two calls in flight
share a {{.Worker}}.

A target is HOST:PORT, dns:///HOST:PORT, dns://NAMESERVER/HOST:PORT or
unix:///PATH, or several of them with commas. rpclab resolves names once, before
the load. With several addresses, --balance chooses one for each call.
pick_first goes to the next address when one cannot be reached. round_robin
leaves it out; calls fail only while no address can be reached.

A call of a streaming method is one whole stream: it sends its message
--messages times and ends with the last response. The report shows the latency
of each response too.

A load first waits until no other run or load of yours uses this machine. With
--no-wait it starts at once, and the results of both say so.

REST responses with status 400 or above count as errors, for example HTTP_404.
rpclab does not follow redirects.

--service calls a service as its file says (see 'rpclab init'), and starts it if
the file has a command. --call is then the name of a call in that file. Of the
flags up to --insecure-skip-verify, it accepts --call, --flow, --mix, --engine,
--seed and those from --balance to --connections, but not --authority and
--stages: the file says how to call.

--style loads a CalculatorService (see 'rpclab server --security') and prints a
summary like that of the published streams study (docs/studies.md).

--rounds makes the load several times, each time as one trial of the result.
'rpclab compare' needs at least four trials of each of two loads. Percentiles,
counts and assertions are of all rounds together.

--search finds the highest rate at which a condition holds, with the search of
an experiment (docs/method/search.md). The figures are those at that rate. If
even the lowest rate fails, the exit code is 1.

An assertion is one or more conditions joined by &&, such as 'p99 < 50ms',
'errors == 0', 'errors < 0.1%' or 'rate >= 950/s'. A failed assertion gives exit
code 1. Metrics: min mean p50 p90 p95 p99 p999 max (also with the prefix
service_, lateness_ or message_), rate (of successful calls), calls, errors
(failed and dropped), errors.CODE and dropped.`,
		Example: `  rpclab load --call rpclab.v1.Greeter/SayHello -d '{"name": "you"}' \
      --rate 500 --duration 10s 127.0.0.1:50051
  rpclab load --call shop.Orders/Get -d @ids.ndjson --stages 10s:100,30s:100 \
      --assert 'p99 < 50ms' --assert 'errors == 0' 127.0.0.1:50051
  rpclab load --http GET --concurrency 20 --calls 10000 http://127.0.0.1:8080/
  rpclab load --style bidi --workers 3 --interval 1ms --latency-gt 20ms \
      --keys keys.json 127.0.0.1:50051
  rpclab load -host=127.0.0.1:50051 -mode=bidirectional -interval=1 \
      -latency-gt=10 -jwt-gen=once --keys keys.json
  rpclab load --service orders.yaml --call get --rate 500
  rpclab load --service orders.yaml --search 'p99 < 50ms && errors < 0.1%'
  rpclab load --self-test`,
		Args: f.target,
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.calculator.checkFlags(c.Flags()); err != nil {
				return usageError{err}
			}
			if f.calculator.Style != "" {
				f.calculator.Target, f.calculator.Timeout = cmp.Or(f.calculator.host, strings.Join(args, "")), f.Timeout
				return f.calculator.run(c)
			}
			if f.selfTest {
				if err := errors.Join(checkSelfTestFlags(c.Flags()), checkEngine(f.Engine)); err != nil {
					return usageError{err}
				}
				return selfTest(c, f)
			}
			if f.service != "" {
				return loadService(c, f)
			}
			f.Target, f.Stdin = args[0], c.InOrStdin()
			return runLoad(c, f)
		},
	}
	f.register(command.Flags())
	return command
}

// runLoad loads a target, prints the result and checks the assertions.
func runLoad(c *cobra.Command, f loadFlags) error {
	if err := f.finish(c.Flags()); err != nil {
		return usageError{err}
	}
	self, err := thisProgram("the test server")
	if err != nil {
		return err
	}
	f.Self = self
	load, err := generator.Open(c.Context(), f.Settings)
	if errors.Is(err, generator.ErrInvalid) {
		return usageError{err}
	} else if err != nil {
		return err
	}
	err = f.run().runAndReport(c, lab.LoadPlan(load), "")
	return errors.Join(err, load.Close())
}

// selfTestFlags are the flags that --self-test allows.
var selfTestFlags = []string{"self-test", "engine", "http", "http2"}

// checkSelfTestFlags rejects other flags.
func checkSelfTestFlags(flags *pflag.FlagSet) error {
	if name := flagOtherThan(flags, selfTestFlags); name != "" {
		return fmt.Errorf("--self-test measures rpclab alone: leave out --%s", name)
	}
	return nil
}

// selfTest measures the load generator alone.
func selfTest(c *cobra.Command, f loadFlags) error {
	self, err := thisProgram("the test server")
	if err != nil {
		return err
	}
	probe := generator.Probe{Engine: f.Engine, Request: selfTestBytes, Reply: selfTestBytes, Duration: selfTestEach, Self: self}
	if f.HTTP != "" {
		if probe.HTTP = 1; f.HTTP2 {
			probe.HTTP = 2
		}
	}
	ability, err := generator.SelfTest(c.Context(), probe)
	if interrupt := c.Context().Err(); interrupt != nil {
		return interrupt // an interrupted self-test has no valid result
	}
	if err != nil {
		return fmt.Errorf("self-test: %w", err)
	}
	fmt.Fprintf(c.OutOrStdout(), "Load generator alone, messages of %d bytes\n", selfTestBytes)
	summary.SelfTest(c.OutOrStdout(), *ability)
	return nil
}
