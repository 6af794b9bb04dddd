package lab

import (
	"time"

	"rpclab/internal/experiment"
	"rpclab/internal/language"
	"rpclab/internal/result"
)

// boundOf is what a config's users and threads allow (docs/decisions/0018); nil: its load is not
// one of users for a time, or its calls do not wait.
//
// A user who begins at s makes (D − s) ÷ (service + think) calls until D, and half a one more in
// the mean, since he begins with a call. Threads bind from when enough users have begun; what
// waits at the end is answered at the same rate.
func boundOf(c experiment.Config) *result.Bound {
	users, service := c.Load.Closed, meanWait(c.Workload)
	if users == nil || users.Duration == 0 || users.Calls > 0 || service == 0 || c.Gateway != nil {
		return nil
	}
	n, cycle := float64(users.Users), (service + users.Think).Seconds()
	ramp, length := users.Ramp.Seconds(), users.Duration.Seconds()
	calls := 0.0
	for u := range users.Users {
		calls += max(1, (length-ramp*float64(u)/n)/cycle+0.5)
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

// meanWait is how long a call of a workload waits in the mean, by what the workload says; 0: it
// does not wait, but works.
func meanWait(w experiment.Workload) time.Duration {
	switch {
	case w.Orders != nil:
		return w.Orders.Delay + w.Orders.Spread/2
	case w.Greet != nil:
		return w.Greet.Delay
	}
	return 0
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
	b.Reached = arm.Rate / b.Rate
	arm.Bound = &b
}
