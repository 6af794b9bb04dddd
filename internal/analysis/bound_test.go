package analysis

import (
	"math"
	"testing"
	"time"

	"rpclab/internal/experiment"
	"rpclab/internal/pace"
	"rpclab/internal/result"
)

// ordersBy is a configuration of the workload orders.
func ordersBy(users int, ramp time.Duration) experiment.Config {
	return experiment.Config{
		Workload: experiment.Workload{Orders: &experiment.Orders{Delay: 200 * time.Millisecond, Spread: 299 * time.Millisecond}},
		Server:   experiment.Server{Replicas: 1},
		Load:     experiment.Load{Closed: &experiment.Closed{Users: users, Ramp: ramp, Think: time.Second, Duration: time.Minute}},
	}
}

func TestTheBoundDependsOnUsersAndThreads(t *testing.T) {
	for _, c := range []struct {
		config  experiment.Config
		threads int
		rate    float64
		binds   string
	}{
		{ordersBy(1000, 0), 0, 745.2, "users"}, // (59.6505/1.3495 + 0.5)·1000/60
		{ordersBy(1000, 10*time.Second), 0, 683.4, "users"},
		{ordersBy(1000, 10*time.Second), 200, 532.1, "threads"}, // 572.2 but for the first 8.1 s
		{ordersBy(7000, 10*time.Second), 200, 563.7, "threads"}, // 572.2 but for the first 1.5 s
		{ordersBy(100, 10*time.Second), 200, 68.4, "users"},
	} {
		b := Bound(c.config, c.threads)
		if b == nil || math.Abs(b.Rate-c.rate) > 0.2 || b.Binds != c.binds {
			t.Errorf("%v: the bound is %+v, want %.1f by %s", c.config.Load, b, c.rate, c.binds)
		}
	}
	workers := ordersBy(1000, 0)
	workers.Server.Replicas = 3
	if b := Bound(workers, 10); b.Threads != 30 || b.Binds != "threads" {
		t.Errorf("the bound of three servers with ten workers is %+v, want 30 threads", b)
	}
	for name, none := range map[string]func(*experiment.Config){
		"a burst":        func(c *experiment.Config) { c.Load = experiment.Load{Burst: 5} },
		"calls counted":  func(c *experiment.Config) { c.Load.Closed.Calls = 5 },
		"work, not wait": func(c *experiment.Config) { c.Workload = experiment.Workload{Increment: true} },
		"a gateway":      func(c *experiment.Config) { c.Gateway = &experiment.Gateway{} },
		"a long call":    func(c *experiment.Config) { c.Load.Closed.Duration = 100 * time.Millisecond },
	} {
		config := ordersBy(10, 0)
		if none(&config); Bound(config, 0) != nil {
			t.Errorf("%s has the bound %+v, want none", name, Bound(config, 0))
		}
	}
}

func TestFailedCallsDoNotCountTowardsABound(t *testing.T) {
	arm := result.Arm{Bound: &result.Bound{Rate: 500}, Measures: result.Measures{Rate: 400, Calls: 1000, Errors: map[string]uint64{"CANCELLED": 700, "UNAVAILABLE": 50}}}
	if setReached(&arm); math.Abs(arm.Bound.Reached-0.2) > 1e-9 {
		t.Errorf("100 of 500 calls/s are %.3f of the bound, want 0.2", arm.Bound.Reached)
	}
}

// Each answer takes exactly the wait of the workload.
func TestIdealUsersReachTheirBound(t *testing.T) {
	for _, length := range []time.Duration{2 * time.Second, 4 * time.Second, 17 * time.Second, time.Minute} {
		config := ordersBy(1000, length/5)
		config.Load.Closed.Duration = length
		users := pace.Closed{Users: 1000, Ramp: length / 5, Think: time.Second, Duration: length}
		calls := 0
		for u := range users.Users {
			answered := users.First(u)
			for n := uint64(0); ; n++ {
				due, more := users.Next(n, answered)
				if !more {
					break
				}
				answered = due + 200*time.Millisecond + time.Duration((uint64(u)*7919+n*104729)%300)*time.Millisecond
				if answered <= length {
					calls++
				}
			}
		}
		if reached := float64(calls) / length.Seconds() / Bound(config, 0).Rate; math.Abs(reached-1) > 0.03 {
			t.Errorf("over %s ideal users reach %.3f of the bound, want 1", length, reached)
		}
	}
}
