package experiment

import (
	"fmt"
	"strconv"
	"strings"
)

// String is the load as a clause: burst of 2000; open loop, 1000/s for 45s.
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

// String is the closed loop as a clause: 20 users, 1s think time, for 50s.
func (c Closed) String() string {
	users := "users"
	if c.Users == 1 {
		users = "user"
	}
	text := fmt.Sprintf("%d %s", c.Users, users)
	if c.Think > 0 {
		text += ", " + short(c.Think) + " think time"
	}
	var ends []string
	if c.Duration > 0 {
		ends = append(ends, short(c.Duration))
	}
	if c.Calls > 0 {
		ends = append(ends, fmt.Sprintf("%d calls", c.Calls))
	}
	if len(ends) > 0 {
		text += ", for " + strings.Join(ends, " or ")
	}
	return text
}

// String is the open loop as a clause: open loop, 1000/s for 45s.
func (o Open) String() string {
	return fmt.Sprintf("open loop, %s%s for %s", rate(o.Rate), atRandom(o.Arrivals), short(o.Duration))
}

// String is the search as a clause: search from 100/s to 5000/s, to 2%, for the highest
// rate at which p99 < 50ms.
func (s Search) String() string {
	return fmt.Sprintf("search from %s to %s%s, to %s, for the highest rate at which %s",
		rate(s.From), rate(s.To), atRandom(s.Arrivals), s.Precision, s.SLO)
}

func rate(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) + "/s" }

func atRandom(arrivals string) string {
	if arrivals == "poisson" {
		return " at random (Poisson)"
	}
	return ""
}

// String is the share as the document writes it: 2%.
func (p Percent) String() string { return strconv.FormatFloat(float64(p), 'f', -1, 64) + "%" }

// String is the channel as a clause: per-call, shared, pool of 4.
func (c Channel) String() string {
	if c.Mode == "pool" {
		return fmt.Sprintf("pool of %d", c.Pool)
	}
	return c.Mode
}
