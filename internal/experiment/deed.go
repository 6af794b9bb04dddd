package experiment

import (
	"fmt"
	"strconv"
)

// String is what is done, without the time: scale 10, kill 1, cut 1 by reset.
func (e Event) String() string {
	word, backends := e.hits()
	switch {
	case e.Scale > 0:
		return fmt.Sprintf("scale %d", e.Scale)
	case e.Resume:
		return "resume"
	case e.Roll:
		return "roll"
	case e.DNS != nil:
		return e.DNS.String()
	case e.Recover:
		return "recover"
	case e.KillProxy:
		return "kill proxy"
	case e.KillControl:
		return "kill control"
	case word == "":
		return "nothing"
	}
	return fmt.Sprintf("%s %d%s", word, backends, e.how())
}

// hits is the word of an event that is done to some backends, and to how many; none: "".
func (e Event) hits() (word string, backends int) {
	switch {
	case e.Stop > 0:
		return "stop", e.Stop
	case e.Kill > 0:
		return "kill", e.Kill
	case e.Pause > 0:
		return "pause", e.Pause
	case e.Slow != nil:
		return "slow", e.Slow.Backends
	case e.Fail != nil:
		return "fail", e.Fail.Backends
	case e.Flap != nil:
		return "flap", e.Flap.Backends
	case e.Cut != nil:
		return "cut", e.Cut.Backends
	case e.Drain > 0: // as many nodes, with a backend each at the least
		return "drain", e.Drain
	case e.Cordon > 0:
		return "cordon", e.Cordon
	}
	return "", 0
}

// how is the rest of the clause, after the number of backends.
func (e Event) how() string {
	switch {
	case e.Slow != nil && e.Slow.Times > 0:
		return " times " + strconv.FormatFloat(e.Slow.Times, 'f', -1, 64)
	case e.Slow != nil:
		return " by " + short(e.Slow.By)
	case e.Fail != nil:
		return " with " + e.Fail.Code
	case e.Flap != nil:
		return " every " + short(e.Flap.Every)
	case e.Cut != nil:
		return " by " + e.Cut.How
	}
	return ""
}

// String is what the name server does: dns 2s late, lies.
func (d DNS) String() string {
	switch {
	case d.Delay > 0 && d.Lie:
		return "dns " + short(d.Delay) + " late, lies"
	case d.Delay > 0:
		return "dns " + short(d.Delay) + " late"
	case d.Lie:
		return "dns lies"
	}
	return "dns recovers"
}
