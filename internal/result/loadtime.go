package result

import "time"

// LoadTime says on what the duration of the load of an arm in a cell depends.
type LoadTime struct {
	Arm  string `json:"arm"`
	Cell string `json:"cell"` // its key
	// LeastMS is the time if calls cost nothing: the time during which they are due, or the delays of servers and users.
	LeastMS float64 `json:"least_ms"`
	// Calls is the size of the load, and Turns how much of it comes one after another. They are numbers of calls or,
	// of a load or probes with a fixed time, ms.
	Calls float64 `json:"calls"`
	Turns float64 `json:"turns"`
	// Trials is the number of trials with a measurement or, of a plan, in each round. MeanMS is their mean.
	Trials int     `json:"trials"`
	MeanMS float64 `json:"mean_ms"`
}

// Between returns the least and the most time in ms that a planned load probably takes, from a measured one. The
// costs of calls grow at least with the smaller, and at most with the larger of two numbers: those of all calls,
// and of calls one after another.
func (l LoadTime) Between(measured LoadTime) (low, high float64) {
	calls, turns := 1.0, 1.0
	if l.Calls > 0 && measured.Calls > 0 {
		calls, turns = l.Calls/measured.Calls, l.Turns/measured.Turns
	}
	cost := max(0, measured.MeanMS-measured.LeastMS)
	return l.LeastMS + cost*min(calls, turns), l.LeastMS + cost*max(calls, turns)
}

// LoadTimes returns the load time of each arm in each cell.
func LoadTimes(d Document) (all []LoadTime) {
	for _, a := range d.Arms {
		l := loadTime(a)
		for _, t := range a.Trials {
			if t.Failed == "" {
				l.MeanMS += t.loadMS()
				l.Trials++
			}
		}
		l.MeanMS /= float64(max(l.Trials, 1))
		all = append(all, l)
	}
	return all
}

// loadMS is how long the loads of a trial took: those of a search are its probes.
func (t Trial) loadMS() float64 {
	if t.Capacity == nil {
		return t.ElapsedMS
	}
	all := 0.0
	for _, p := range t.Capacity.Probes {
		all += p.DurationMS
	}
	return all
}

// WindowMS returns the time in milliseconds that the rate of a load is over, and the mean over its blocks if it has blocks.
func (t Trial) WindowMS() float64 { return t.RateMS() / float64(max(1, len(t.Blocks))) }

// loadTime reads the configuration of an arm.
func loadTime(a Arm) LoadTime {
	var c struct {
		Load struct {
			Burst    float64 `json:"burst"`
			Sequence float64 `json:"sequence"`
			Closed   *struct {
				Users    float64 `json:"users"`
				Calls    float64 `json:"calls"`
				Duration string  `json:"duration"`
				Think    string  `json:"think"`
			} `json:"closed"`
			Open   struct{ Duration string } `json:"open"`
			Search struct{ Duration string } `json:"search"`
		} `json:"load"`
		Workload struct {
			Greet  struct{ Delay string } `json:"greet"`
			Orders struct{ Delay string } `json:"orders"`
		} `json:"workload"`
	}
	a.readConfig(&c)
	l := LoadTime{Arm: a.Name, Cell: a.Cell.Key()}
	turn := inMS(c.Workload.Greet.Delay) + inMS(c.Workload.Orders.Delay)
	switch load := c.Load; {
	case load.Burst > 0:
		l.Calls, l.Turns = load.Burst, 1
	case load.Sequence > 0:
		l.Calls, l.Turns = load.Sequence, load.Sequence
	case load.Closed != nil && load.Closed.Calls > 0:
		l.Calls, l.Turns = load.Closed.Calls, load.Closed.Calls/max(load.Closed.Users, 1)
		turn += inMS(load.Closed.Think)
	case load.Closed != nil:
		l.LeastMS = inMS(load.Closed.Duration)
		l.Calls, l.Turns, turn = l.LeastMS, 1, 0
	case load.Search.Duration != "":
		l.LeastMS = inMS(load.Search.Duration) // of one probe
		l.Calls, l.Turns, turn = l.LeastMS, l.LeastMS, 0
	default: // its last calls may have to wait, and longer after more calls
		l.LeastMS = inMS(load.Open.Duration)
		l.Calls, l.Turns, turn = l.LeastMS, 1, 0
	}
	l.LeastMS += turn * l.Turns
	return l
}

// inMS returns a duration of a configuration; 0: it is not set.
func inMS(text string) float64 {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0
	}
	return Milliseconds(d)
}
