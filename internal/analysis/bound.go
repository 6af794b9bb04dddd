package analysis

import (
	"math"
	"time"

	"rpclab/internal/experiment"
	"rpclab/internal/result"
)

// Bound returns the highest rate that a configuration's users and server threads allow
// (docs/decisions/0018-ladder.md). threads is how many calls a server handles at a time; 0: no limit. Bound
// returns nil if the load is not one of users for a fixed time, if calls do not wait, or if none can end in that time.
//
// The limit of the users is the mean number of their calls that are answered during the load. Threads are the
// limit once enough users have begun.
func Bound(c experiment.Config, threads int) *result.Bound {
	users := c.Load.Closed
	service, spread := serviceTime(c.Workload)
	if users == nil || users.Duration <= service || users.Calls > 0 || service == 0 || c.Gateway != nil {
		return nil
	}
	n, cycle := float64(users.Users), (service + users.Think).Seconds()
	ramp, length := users.Ramp.Seconds(), users.Duration.Seconds()
	first := length - service.Seconds()         // calls that begin in this time are answered in the window
	calls, steps := 0.0, min(users.Users, 1000) // of the ramp
	for i := range steps {
		calls += callsAnswered(first-ramp*float64(i)/float64(steps), cycle, spread.Seconds()) * n / float64(steps)
	}
	b := &result.Bound{
		Rate: calls / length, Binds: "users", ServiceMS: result.Milliseconds(service),
		Users: n * (1 - ramp/2/length), Threads: threads * c.Server.Replicas,
	}
	if b.Threads > 0 {
		steady := float64(b.Threads) / service.Seconds()
		enough := min(length, ramp*steady*cycle/n) // time until enough users have begun to occupy all threads
		if most := steady * (first - enough/2) / length; most < b.Rate {
			b.Rate, b.Binds = most, "threads"
		}
	}
	if !(b.Rate > 0) { // the users begin too late
		return nil
	}
	return b
}

// callsAnswered returns the mean number of calls of a user that are answered in a window. seconds is the length
// of the window minus the mean wait of a call. A user makes the first call at once, and each further call one
// cycle after the previous call. Wait and cycle are uniform with a width of spread. The result is the sum over
// k of the probability that k cycles and a wait end in the window. Their sum counts as normally distributed.
func callsAnswered(seconds, cycle, spread float64) float64 {
	calls := 0.0
	for k := 0.0; ; k++ {
		left, deviation := seconds-k*cycle, spread*math.Sqrt((k+1)/12)
		switch {
		case left < -6*deviation:
			return calls
		case deviation == 0:
			calls++
		default:
			calls += math.Erfc(-left/deviation/math.Sqrt2) / 2
		}
	}
}

// serviceTime returns the mean wait of a workload's call and the width of its uniform distribution; 0: a call
// does not wait but computes.
func serviceTime(w experiment.Workload) (mean, spread time.Duration) {
	switch {
	case w.Orders != nil:
		return w.Orders.Delay + w.Orders.Spread/2, w.Orders.Spread
	case w.Greet != nil:
		return w.Greet.Delay, 0
	}
	return 0, 0
}

// setReached sets the share of its bound that an arm reached. It is not known of arms that took turns: the bound is of the whole
// load, and the end of each block cuts off calls that the end of the whole load does not.
func setReached(arm *result.Arm) {
	if arm.Bound == nil || !(arm.Bound.Rate > 0) || tookTurns(*arm) {
		return
	}
	b := *arm.Bound
	b.Reached = arm.Answered() / b.Rate
	arm.Bound = &b
}
