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
	rate := strconv.FormatFloat(o.Rate, 'f', -1, 64) + "/s"
	if o.Arrivals == "poisson" {
		rate += " at random (Poisson)"
	}
	return fmt.Sprintf("open loop, %s for %s", rate, short(o.Duration))
}

// String is the channel as a clause: per-call, shared, pool of 4.
func (c Channel) String() string {
	if c.Mode == "pool" {
		return fmt.Sprintf("pool of %d", c.Pool)
	}
	return c.Mode
}

// String is what is done, without the time: scale 10, kill 1.
func (e Event) String() string {
	switch {
	case e.Scale > 0:
		return fmt.Sprintf("scale %d", e.Scale)
	case e.Kill > 0:
		return fmt.Sprintf("kill %d", e.Kill)
	case e.Pause > 0:
		return fmt.Sprintf("pause %d", e.Pause)
	case e.Resume:
		return "resume"
	case e.Slow != nil:
		return fmt.Sprintf("slow %d by %s", e.Slow.Backends, short(e.Slow.By))
	}
	return "nothing"
}
