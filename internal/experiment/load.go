package experiment

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Load is exactly one of its fields.
type Load struct {
	Sequence int     `yaml:"sequence" doc:"N calls, each due when the previous call ends" min:"1" max:"100000000" alternative:"true" quick:"down"`
	Burst    int     `yaml:"burst" doc:"N calls, all due at once" min:"1" max:"1000000" alternative:"true" quick:"down"`
	Closed   *Closed `yaml:"closed" doc:"closed loop: virtual users, each with one call at a time" alternative:"true"`
	Open     *Open   `yaml:"open" doc:"open loop: calls due at a rate that does not depend on responses" alternative:"true"`
	Search   *Search `yaml:"search" doc:"search for the highest rate of an open loop at which a condition holds" alternative:"true"`
}

// Closed ends after Duration or Calls, whichever is set and comes first.
type Closed struct {
	Users    int           `yaml:"users" doc:"number of virtual users" min:"1" max:"1000000" required:"true"`
	Ramp     time.Duration `yaml:"ramp" doc:"time over which users start, evenly spaced (default: all at once)" max:"24h"`
	Think    time.Duration `yaml:"think" doc:"pause of a user between a response and the next call" max:"1h"`
	Duration time.Duration `yaml:"duration" doc:"time during which calls are due" max:"24h" quick:"up"`
	Calls    int           `yaml:"calls" doc:"maximum number of calls" min:"1" max:"1000000000" quick:"down"`
}

// defaultMaxInFlight is the default of max_in_flight in [Open] and [Search].
const defaultMaxInFlight = 10_000

// Open is an open loop.
type Open struct {
	Rate        float64       `yaml:"rate" doc:"calls due per second" min:"0.001" max:"10000000" required:"true"`
	Arrivals    string        `yaml:"arrivals" doc:"distribution of calls over time: constant or poisson" enum:"constant,poisson" default:"constant"`
	Duration    time.Duration `yaml:"duration" doc:"time during which calls are due" min:"1ms" max:"24h" required:"true" quick:"up"`
	MaxInFlight int           `yaml:"max_in_flight" doc:"maximum number of calls in flight; further calls count as dropped" min:"1" max:"1000000" default:"10000"`
}

// Search runs open loops one after another to find the highest rate at which SLO holds.
type Search struct {
	SLO         string        `yaml:"slo" doc:"the condition, as for --assert, such as p99 < 50ms and errors < 0.1%; dropped calls count as errors" required:"true"`
	From        float64       `yaml:"from" doc:"lowest rate in calls per second" min:"0.001" max:"10000000" required:"true"`
	To          float64       `yaml:"to" doc:"highest rate in calls per second" min:"0.001" max:"10000000" required:"true"`
	Precision   Percent       `yaml:"precision" doc:"largest distance between the highest rate that holds and the lowest that fails" min:"0.1%" max:"50%" default:"2%" quick:"coarse"`
	Duration    time.Duration `yaml:"duration" doc:"duration of the load at each rate; the first probes take a quarter of it" min:"1ms" max:"1h" required:"true" quick:"up"`
	Arrivals    string        `yaml:"arrivals" doc:"distribution of calls over time: constant or poisson" enum:"constant,poisson" default:"constant"`
	MaxInFlight int           `yaml:"max_in_flight" doc:"maximum number of calls in flight; further calls count as dropped" min:"1" max:"1000000" default:"10000"`
}

// Deadline returns the time that every call of a probe has at least: its timeout, or Duration if that is shorter, because
// the search then cancels the calls in flight. Without a search it is the timeout.
func (s *Search) Deadline(timeout time.Duration) time.Duration {
	if s == nil {
		return timeout
	}
	return min(timeout, s.Duration)
}

// String describes the load: burst of 2000; open loop, 1000/s for 45s.
func (l Load) String() string {
	switch {
	case l.Sequence > 0:
		return fmt.Sprintf("sequence of %d", l.Sequence)
	case l.Burst > 0:
		return fmt.Sprintf("burst of %d", l.Burst)
	case l.Closed != nil:
		return l.Closed.String()
	case l.Open != nil:
		return l.Open.String()
	case l.Search != nil:
		return l.Search.String()
	}
	return "no load"
}

// Counted is a number with its word: 1 call, 2 calls.
func Counted[N int | uint64](n N, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// String describes the closed loop: 20 users, 1s think time, for 50s.
func (c Closed) String() string {
	text := Counted(c.Users, "user")
	if c.Think > 0 {
		text += ", " + formatDuration(c.Think) + " think time"
	}
	var ends []string
	if c.Duration > 0 {
		ends = append(ends, formatDuration(c.Duration))
	}
	if c.Calls > 0 {
		ends = append(ends, Counted(c.Calls, "call"))
	}
	if len(ends) > 0 {
		text += ", for " + strings.Join(ends, " or ")
	}
	return text
}

// String describes the open loop: open loop, 1000/s for 45s.
func (o Open) String() string {
	return fmt.Sprintf("open loop, %s%s for %s", formatRate(o.Rate), arrivalsClause(o.Arrivals), formatDuration(o.Duration))
}

// String describes the search: search from 100/s to 5000/s, to 2%, for the highest
// rate at which p99 < 50ms.
func (s Search) String() string {
	return fmt.Sprintf("search from %s to %s%s, to %s, for the highest rate at which %s",
		formatRate(s.From), formatRate(s.To), arrivalsClause(s.Arrivals), s.Precision, s.SLO)
}

func formatRate(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) + "/s" }

func arrivalsClause(arrivals string) string {
	if arrivals == "poisson" {
		return " at random (Poisson)"
	}
	return ""
}

// Due returns how many calls are due, on average; 0: it depends on the responses.
func (l Load) Due() int {
	switch {
	case l.Open != nil:
		return int(l.Open.Rate * l.Open.Duration.Seconds())
	case l.Closed != nil && l.Closed.Duration == 0:
		return l.Closed.Calls
	}
	return l.Burst + l.Sequence
}

// FixedDuration is the time during which calls are due, whatever the responses; 0: there is none.
func (l Load) FixedDuration() time.Duration {
	if l.Closed != nil && l.Closed.Calls > 0 {
		return 0
	}
	return l.duration()
}

// duration is the time during which calls are due; 0 if it depends on the responses.
func (l Load) duration() time.Duration {
	switch {
	case l.Open != nil:
		return l.Open.Duration
	case l.Closed != nil:
		return l.Closed.Duration
	}
	return 0
}
