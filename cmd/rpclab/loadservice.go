package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	generator "rpclab/internal/load"
	"rpclab/internal/suggest"
)

// serviceLoadFlags are the flags that say which load is made on a service file, and serviceOutputFlags those that say
// where it is shown. The file says how the service is called, so the other flags do not apply.
var (
	serviceLoadFlags = []string{"service", "call", "mix", "flow", "rate", "search", "search-from", "search-to", "search-precision", "arrivals", "max-in-flight", "concurrency", "think", "duration", "calls", "rounds",
		"warmup", "warmup-max", "timeout", "connections", "balance", "engine"}
	serviceOutputFlags = []string{"seed", "assert", "json", "md", "html", "csv", "junit", "keep-paths", "web", "listen", "metrics", "otlp", "remote-write", "no-store", "store-limit", "no-wait", "color", "quiet"}
)

// addressOnlyFlags are flags of a load that only a load on an address has.
var addressOnlyFlags = []string{"stages", "cores", "self-test", "max-message", "max-header-list", "no-decode", "source"}

// checkServiceFlags checks that no other flag is set.
func checkServiceFlags(flags *pflag.FlagSet) error {
	given := onCommandLine(flags) // a default of the configuration file need not apply to every load
	for _, name := range addressOnlyFlags {
		if given(name) {
			return fmt.Errorf("--%s works with an address only, not with --service: remove one of them", name)
		}
	}
	if name := flagOtherThan(flags, slices.Concat(serviceLoadFlags, serviceOutputFlags)); name != "" {
		return fmt.Errorf("--%s does not work with --service: the service file says how the service is called (rpclab schema prints its fields)", name)
	}
	return nil
}

// loadService makes the load as an experiment with one arm: the service.
func loadService(c *cobra.Command, f loadFlags) error {
	if err := checkServiceFlags(c.Flags()); err != nil {
		return usageError{err}
	}
	if err := f.finish(c.Flags()); err != nil {
		return usageError{err}
	}
	if err := checkEngine(f.Engine); err != nil {
		return usageError{err}
	}
	if f.Poisson && f.Calls > 0 {
		return usageError{errors.New("--calls with --arrivals poisson does not work with --service: set --duration, because the time of random calls is not known before the load")}
	}
	run := f.run()
	run.Call, run.Mix, run.Flow, run.Seed, run.Rounds = f.Call, f.mix, f.flow, f.Seed, f.Rounds
	if err := run.openService(onCommandLine(c.Flags())); err != nil {
		return usageError{err}
	}
	service, err := experiment.ReadService(*run.Service, lab.Vocabulary())
	if err != nil {
		return usageError{err}
	}
	if c.Flags().Changed("engine") && service.FirstCall(experiment.Workload{Call: f.Call, Mix: f.mix, Flow: f.flow}).HTTP != "" { // whose caller is http otherwise
		run.Set = append(run.Set, "caller.kind="+f.Engine)
	}
	document, err := f.experiment(service, c.Flags())
	if err != nil {
		return usageError{err}
	}
	plan, err := run.plan(generator.Experiment, document)
	if err != nil {
		return usageError{f.inFlags(err)}
	}
	return run.runAndReport(c, plan, f.commandLine(c.Flags()))
}

// commandLine repeats the load.
func (f loadFlags) commandLine(flags *pflag.FlagSet) string {
	words := []string{"rpclab", "load"}
	flags.Visit(func(flag *pflag.Flag) {
		switch {
		case flag.Name == "mix":
			words = append(words, "--mix", experiment.Mix(f.mix).String())
		case flag.Name == "flow":
			words = append(words, "--flow", strings.Join(f.flow, ","))
		case slices.Contains(serviceLoadFlags, flag.Name):
			words = append(words, "--"+flag.Name, flag.Value.String())
		}
	})
	return experiment.CommandLine(append(words, "--seed", strconv.FormatUint(f.Seed, 10))...)
}

// experiment returns the experiment with one arm.
func (f loadFlags) experiment(service experiment.ServiceFile, flags *pflag.FlagSet) ([]byte, error) {
	pace, err := f.DescribePace()
	if err != nil {
		return nil, err
	}
	one := experiment.OneLoad{Name: generator.Experiment, Service: service, Call: f.Call, Mix: f.mix, Flow: f.flow, Pace: pace, Load: f.load(), Rounds: f.Rounds,
		Caller: map[string]any{"kind": f.Engine, "warmup": f.Warmup, "timeout": f.Timeout.String()}}
	if f.WarmupMax > 0 {
		one.Caller["warmup_max"] = f.WarmupMax.String()
	}
	ofHTTP := service.FirstCall(experiment.Workload{Call: f.Call, Mix: f.mix, Flow: f.flow}).HTTP != ""
	if ofHTTP && f.Connections > 0 && onCommandLine(flags)("connections") {
		return nil, fmt.Errorf("--connections %d works with gRPC: HTTP requests of --service open as many connections as they need. Use per-call, leave it out, or call a URL with rpclab load --http", f.Connections)
	}
	switch {
	case f.PerCall:
		one.Caller["channel"] = perCall
	case f.Connections > 1 && !ofHTTP:
		one.Caller["channel"] = map[string]any{"pool": f.Connections}
	}
	if flags.Changed("balance") {
		one.Policy = f.Balance
	}
	if onCommandLine(flags)("balance") {
		if err := checkBalance(one); err != nil {
			return nil, err
		}
	}
	return one.Document()
}

// checkBalance rejects a policy that is unknown or would not apply.
func checkBalance(one experiment.OneLoad) error {
	policies := lab.Vocabulary().Policies["endpointslice"]
	switch route := one.Route(); {
	case !slices.Contains(policies, one.Policy):
		return fmt.Errorf("--balance %s: unknown policy%s", one.Policy, suggest.DidYouMean(one.Policy, policies))
	case route == "direct" && one.Policy != generator.PickFirst:
		return fmt.Errorf("--balance %s chooses among several addresses, and the service %s has one: leave it out, or use a service with several", one.Policy, one.Service.Name)
	case route == "clusterip":
		return fmt.Errorf("--balance %s applies to gRPC, and connections of REST are spread without a policy: leave it out", one.Policy)
	}
	return nil
}

// load returns the load as the experiment has it.
func (f loadFlags) load() map[string]any {
	if s := f.Search; s != nil {
		return map[string]any{"search": map[string]any{
			"slo": s.SLO, "from": s.From, "to": s.To, "precision": s.Precision.String(), "duration": s.Duration.String(), "arrivals": s.Arrivals, "max_in_flight": s.MaxInFlight,
		}}
	}
	duration := f.Duration
	if duration == 0 && f.Calls == 0 {
		duration = generator.DefaultDuration
	}
	if f.Rate > 0 {
		if f.endsByCalls() {
			duration = f.timeOfCalls()
		}
		return map[string]any{"open": map[string]any{"rate": f.Rate, "arrivals": f.arrivals, "duration": duration.String(), "max_in_flight": f.MaxInFlight}}
	}
	closed := map[string]any{"users": cmp.Or(f.Concurrency, generator.DefaultUsers)}
	if f.Think > 0 {
		closed["think"] = f.Think.String()
	}
	if duration > 0 {
		closed["duration"] = duration.String()
	}
	if f.Calls > 0 {
		closed["calls"] = f.Calls
	}
	return map[string]any{"closed": closed}
}

// longestLoad is longer than any load, and far from the largest duration.
const longestLoad = 1e9 * time.Second

// timeOfCalls is how long --calls take at --rate.
func (f loadFlags) timeOfCalls() time.Duration {
	return time.Duration(min(float64(f.Calls)/f.Rate*float64(time.Second), float64(longestLoad)))
}

// endsByCalls reports whether an open loop ends by --calls, not by --duration.
func (f loadFlags) endsByCalls() bool {
	return f.Rate > 0 && f.Calls > 0 && (f.Duration == 0 || f.timeOfCalls() < f.Duration)
}

// fieldFlags are the flags that set the fields of a load's document. A field comes before one that begins its name.
var fieldFlags = []string{
	"caller.channel.pool", "--connections", "caller.timeout", "--timeout", "caller.warmup_max", "--warmup-max", "caller.warmup", "--warmup",
	"load.open.duration", "--duration", "load.open.max_in_flight", "--max-in-flight", "load.open.rate", "--rate",
	"load.closed.users", "--concurrency", "load.closed.think", "--think", "load.closed.duration", "--duration", "load.closed.calls", "--calls",
	"load.search.duration", "--duration", "load.search.max_in_flight", "--max-in-flight", "load.search.slo", "--search",
	"load.search.from", "--search-from", "load.search.to", "--search-to", "load.search.precision", "--search-precision",
	"use the caller " + generator.GRPCGo, "use --engine " + generator.GRPCGo,
}

// inFlags returns errors of the document of a load, which the user did not write, in the words of the flags.
func (f loadFlags) inFlags(err error) error {
	var all experiment.Errors
	if !errors.As(err, &all) {
		one, ok := errors.AsType[experiment.Error](err) // of the service file
		if !ok {
			return err
		}
		one.Message = strings.NewReplacer(fieldFlags...).Replace(one.Message)
		return one
	}
	var errs []error
	for _, one := range all {
		switch {
		case one.File != generator.Experiment:
			errs = append(errs, one)
		case f.endsByCalls() && strings.HasPrefix(one.Message, "load.open.duration "):
			remedy := "use more calls or a lower rate"
			if f.timeOfCalls() > time.Second {
				remedy = "use fewer calls or a higher rate"
			}
			limits := strings.TrimPrefix(one.Message, "load.open.duration ")
			errs = append(errs, fmt.Errorf("the time of --calls %d at --rate %g %s: %s", f.Calls, f.Rate, limits, remedy))
		default:
			errs = append(errs, errors.New(strings.NewReplacer(fieldFlags...).Replace(one.Message)))
		}
	}
	return errors.Join(errs...)
}
