package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/pflag"

	"rpclab/internal/experiment"
	generator "rpclab/internal/load"
	"rpclab/internal/pace/search"
	"rpclab/internal/result"
	"rpclab/internal/result/condition"
)

// searchFlags are the flags of a load that searches for the highest rate that meets a condition.
type searchFlags struct {
	slo, precision string
	from, to       float64
}

// The defaults of a search. A percentile needs calls: 5 s at 100/s are 500.
const (
	searchFrom      = 100
	searchTo        = 100_000
	searchPrecision = experiment.Percent(2)
	searchDuration  = 5 * time.Second
)

func (f *searchFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.slo, "search", "", "find the highest rate at which a `condition` holds, such as 'p99 < 50ms && errors < 0.1%' (open loop)")
	flags.Float64Var(&f.from, "search-from", searchFrom, "lowest `rate` of --search")
	flags.Float64Var(&f.to, "search-to", searchTo, "highest `rate` of --search")
	flags.StringVar(&f.precision, "search-precision", searchPrecision.String(), "largest distance between the rate that holds and the rate that fails, as a `share`")
}

// of returns the search of a load; nil: the load is no search. given reports whether the command line sets a flag.
func (f searchFlags) of(load generator.Settings, arrivals string, given func(string) bool) (*experiment.Search, error) {
	if f.slo == "" && !given("search") {
		for _, name := range []string{"search-from", "search-to", "search-precision"} {
			if given(name) {
				return nil, fmt.Errorf("--%s needs --search: set the condition that the rate has to meet, such as --search 'p99 < 50ms'", name)
			}
		}
		return nil, nil
	}
	if _, err := condition.Parse(f.slo); err != nil {
		return nil, fmt.Errorf("--search %w", err)
	}
	precision, ok := experiment.ParsePercent(f.precision)
	switch {
	case !ok || precision < 0.1 || precision > 50:
		return nil, fmt.Errorf("--search-precision %s: use 0.1%% to 50%%", f.precision)
	case !(f.from >= generator.MinRate && f.to <= generator.MaxRate): // also for NaN
		return nil, fmt.Errorf("--search-from and --search-to must be %g to %d calls/s", generator.MinRate, generator.MaxRate)
	case !(f.from < f.to):
		return nil, fmt.Errorf("--search-to must be more than --search-from, %g/s, not %g/s", f.from, f.to)
	}
	wanted := &experiment.Search{SLO: f.slo, From: f.from, To: f.to, Precision: precision, Duration: load.Duration, Arrivals: arrivals, MaxInFlight: load.MaxInFlight}
	if wanted.Duration == 0 {
		wanted.Duration = searchDuration
	}
	return wanted, nil
}

// reportNoRate returns an error if half of the rounds of a search, or more, found no rate that holds, so that the median is not
// known: errGate if even the lowest rate failed, as for an assertion.
func reportNoRate(out io.Writer, arm result.Arm) error {
	if arm.Capacity == nil {
		return nil
	}
	without, missed := 0, ""
	for _, t := range arm.Trials {
		if t.Capacity != nil && t.Capacity.Holds > 0 {
			continue
		}
		without++
		if t.Capacity != nil && t.Capacity.End == string(search.LowestFails) {
			missed = t.Capacity.SLO
		}
	}
	in := ""
	if rounds := len(arm.Trials); without < rounds {
		in = fmt.Sprintf(" in %d of %d rounds", without, rounds)
	}
	switch {
	case 2*without < len(arm.Trials):
		return nil
	case missed == "":
		return fmt.Errorf("the search found no rate that holds%s: the report says why", in)
	}
	fmt.Fprintf(out, "rpclab: --search %s: no rate holds%s\n", missed, in)
	return errGate
}
