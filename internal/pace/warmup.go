package pace

import "time"

// maxWarmupUsers limits the calls in flight of the warm-up for a burst.
const maxWarmupUsers = 50

// Warmup returns a load like p that lasts for a duration and keeps one rate: that of an open loop,
// the highest of its stages, or what the users of a closed loop reach. For a burst, up to 50 users
// make one call after the other.
func Warmup(p Pace, duration time.Duration) Pace {
	switch p := p.(type) {
	case Rate:
		p.Duration = duration
		return p
	case Stages:
		highest := Rate{Duration: duration, Max: p.Max, Poisson: p.Poisson, Seed: p.Seed}
		for _, stage := range p.Stages {
			highest.PerSecond = max(highest.PerSecond, stage.Rate)
		}
		return highest
	case Closed:
		p.Duration, p.Calls = duration, 0
		return p
	}
	return Closed{Users: min(p.InFlight(), maxWarmupUsers), Duration: duration}
}
