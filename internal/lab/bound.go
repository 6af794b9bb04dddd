package lab

import (
	"math"
	"time"

	"rpclab/internal/experiment"
	"rpclab/internal/language"
	"rpclab/internal/result"
)

// boundOf is what a config's users and threads allow (docs/decisions/0018); nil: its load is not
// one of users for a time, or its calls do not wait.
//
// Users make the calls that they begin until D in the mean. Threads bind from when enough users
// have begun; what waits at the end is answered at the same rate.
func boundOf(c experiment.Config) *result.Bound {
	users := c.Load.Closed
	service, spread := waitOf(c.Workload)
	if users == nil || users.Duration == 0 || users.Calls > 0 || service == 0 || c.Gateway != nil {
		return nil
	}
	n, cycle := float64(users.Users), (service + users.Think).Seconds()
	ramp, length := users.Ramp.Seconds(), users.Duration.Seconds()
	calls, steps := 0.0, min(users.Users, 1000) // of the ramp
	for i := range steps {
		calls += begun(length-ramp*float64(i)/float64(steps), cycle, spread.Seconds()) * n / float64(steps)
	}
	b := &result.Bound{
		Rate: calls / (length + service.Seconds()), Binds: "users", ServiceMS: ms(service),
		Users: n * (1 - ramp/2/length), Threads: threadsOf(c),
	}
	if b.Threads > 0 {
		steady := float64(b.Threads) / service.Seconds()
		enough := min(length, ramp*steady*cycle/n) // when as many users as they can serve have begun
		if most := steady * (1 - enough/2/length); most < b.Rate {
			b.Rate, b.Binds = most, "threads"
		}
	}
	return b
}

// begun is how many calls a user begins in so many seconds in the mean, the first at once and
// each of the others a cycle after the one before, which differs evenly by up to spread: the sum
// over k of the probability that k cycles are over by then, each sum of cycles taken as normal.
func begun(seconds, cycle, spread float64) float64 {
	calls := 1.0
	for k := 1.0; ; k++ {
		left, deviation := seconds-k*cycle, spread*math.Sqrt(k/12)
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

// waitOf is how long a call of a workload waits in the mean, and by how much that differs from
// call to call, by what the workload says; 0: it does not wait, but works.
func waitOf(w experiment.Workload) (mean, spread time.Duration) {
	switch {
	case w.Orders != nil:
		return w.Orders.Delay + w.Orders.Spread/2, w.Orders.Spread
	case w.Greet != nil:
		return w.Greet.Delay, 0
	}
	return 0, 0
}

// threadsOf is how many calls all servers of a config work on at once; 0: nothing bounds them.
func threadsOf(c experiment.Config) int {
	each := c.Server.Workers
	if g := c.Workload.Greet; g != nil && each == 0 {
		each = g.Workers
	}
	if l, err := language.Lookup(c.Server.Language); err == nil && each == 0 {
		m, _ := l.Model(c.Server.Model) // a name that was checked
		each = m.Threads
	}
	return each * c.Server.Replicas
}

// reach says how much of its bound an arm reached.
func reach(arm *result.Arm) {
	if arm.Bound == nil {
		return
	}
	b := *arm.Bound
	b.Reached = arm.Answered() / b.Rate
	arm.Bound = &b
}
