package load

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"rpclab/internal/experiment"
	"rpclab/internal/pace"
	"rpclab/internal/service/request"
)

// DefaultUsers is the default number of users of a closed loop.
const DefaultUsers = 50

// Pace returns when calls are due.
func (s Settings) Pace() (pace.Pace, error) {
	duration := s.Duration
	if duration == 0 && s.Calls == 0 {
		duration = DefaultDuration
	}
	if w := s.Search; w != nil { // its lowest rate
		return pace.Rate{PerSecond: w.From, Duration: w.Duration, Max: w.MaxInFlight, Poisson: s.Poisson, Seed: s.Seed}, nil
	}
	if s.Rate == 0 && s.Stages == "" {
		users := s.Concurrency
		if users == 0 {
			users = DefaultUsers
		}
		return pace.Closed{Users: users, Think: s.Think, Duration: duration, Calls: s.Calls}, nil
	}
	if duration == 0 {
		duration = math.MaxInt64
	}
	var open pace.Pace = pace.Rate{
		PerSecond: s.Rate, Duration: duration, Max: s.MaxInFlight, Poisson: s.Poisson, Seed: s.Seed,
	}
	if s.Stages != "" {
		stages, err := parseStages(s.Stages)
		if err != nil {
			return nil, err
		}
		open = pace.Stages{Stages: stages, Max: s.MaxInFlight, Poisson: s.Poisson, Seed: s.Seed}
	}
	if s.Calls > 0 {
		open = limitedPace{open, s.Calls, s.Poisson}
	}
	return open, nil
}

// limitedPace ends after a number of calls.
type limitedPace struct {
	pace.Pace
	calls   uint64
	poisson bool
}

func (f limitedPace) Next(n uint64, after time.Duration) (time.Duration, bool) {
	due, more := f.Pace.Next(n, after)
	return due, more && n < f.calls
}

// maxDraws is how many random calls Window adds up, in about 0.1 s.
const maxDraws = 5_000_000

// Window ends when the first call over the number would be due. 0, not known: that is too far away.
func (f limitedPace) Window() (due time.Duration) {
	n := uint64(0)
	if !f.poisson { // then the time does not depend on the calls before
		n = f.calls
	}
	for ; n <= f.calls; n++ {
		next, more := f.Pace.Next(n, due)
		switch {
		case next < 0, f.poisson && n == maxDraws: // more than 292 years overflow
			return 0
		case !more:
			return f.Pace.Window()
		}
		due = next
	}
	return due
}

// parseStages parses stages such as 10s:100,30s:1000: a ramp to 100 calls/s in 10 s, then to
// 1,000 calls/s in 30 s. A stage of 0s is a step.
func parseStages(text string) (all []pace.Stage, err error) {
	column := 1
	for part := range strings.SplitSeq(text, ",") {
		bad := func(what string, args ...any) error {
			return request.Invalidf("--stages %q, column %d: %s; use DURATION:RATE, such as 10s:100,30s:1000",
				text, column, fmt.Sprintf(what, args...))
		}
		duration, rate, ok := strings.Cut(strings.TrimSpace(part), ":")
		if !ok {
			return nil, bad("%q is not a stage", part)
		}
		stage := pace.Stage{}
		if stage.Duration, err = time.ParseDuration(duration); err != nil || stage.Duration < 0 {
			return nil, bad("%q is not a duration", duration)
		}
		if stage.Rate, err = strconv.ParseFloat(strings.TrimSuffix(rate, "/s"), 64); err != nil || stage.Rate != 0 && !(stage.Rate >= MinRate && stage.Rate <= MaxRate) {
			return nil, bad("%q is not a rate from %g to %d calls/s, or 0", rate, MinRate, MaxRate)
		}
		all = append(all, stage)
		column += len(part) + 1
	}
	if !slices.ContainsFunc(all, func(s pace.Stage) bool { return s.Rate > 0 }) {
		return nil, request.Invalidf("--stages %q have no calls: set a rate above 0, such as 10s:100", text)
	}
	if (pace.Stages{Stages: all}).Duration() == 0 {
		return nil, request.Invalidf("--stages %q have no duration: set the duration of a stage, such as 10s:100", text)
	}
	return all, nil
}

// DescribePace describes when calls are due in one clause. It returns an error for settings of the pace
// that contradict each other.
func (s Settings) DescribePace() (string, error) {
	if err := cmp.Or(s.checkPace(), s.checkNumbers()); err != nil {
		return "", err
	}
	plan, err := s.Pace()
	return s.describe(plan), err
}

// describe describes a pace in one clause.
func (s Settings) describe(plan pace.Pace) string {
	if s.Search != nil {
		return s.Search.String()
	}
	until := ""
	if s.Calls > 0 {
		until = ", " + experiment.Counted(s.Calls, "call") + " at most"
	}
	lasting := func(duration time.Duration) string {
		if duration == 0 || duration == math.MaxInt64 {
			return ""
		}
		return " for " + duration.String()
	}
	if f, ok := plan.(limitedPace); ok {
		plan = f.Pace
	}
	arrivals := ""
	if s.Poisson {
		arrivals = " at random moments"
	}
	switch plan := plan.(type) {
	case pace.Closed:
		think := ""
		if plan.Think > 0 {
			think = ", think time " + plan.Think.String()
		}
		return fmt.Sprintf("closed loop of %s%s%s%s", experiment.Counted(plan.Users, "user"), think, lasting(plan.Duration), until)
	case pace.Stages:
		return fmt.Sprintf("open loop in stages %s%s%s", s.Stages, arrivals, until)
	case pace.Rate:
		return fmt.Sprintf("open loop of %g calls/s%s%s%s", plan.PerSecond, arrivals, lasting(plan.Duration), until)
	}
	return "load"
}
