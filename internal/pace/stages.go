package pace

import (
	"math"
	"time"
)

// Stage is a part of a load in which the rate changes linearly to Rate calls/s. It starts at the
// rate of the previous stage, the first stage at 0. A stage without a duration is a step.
type Stage struct {
	Duration time.Duration `json:"duration"`
	Rate     float64       `json:"rate"`
}

// Stages is an open loop whose rate changes. A call that is due while Max are in flight is dropped
// and counted as dropped.
//
// Call n is due when the area under the rate exceeds n, so a stage at rate 0 has no calls. With
// Poisson, the area between two calls is drawn from Seed as an exponential variate of mean 1: a
// Poisson process whose rate follows the stages.
type Stages struct {
	Stages  []Stage `json:"stages"`
	Max     int     `json:"max"`
	Poisson bool    `json:"poisson,omitempty"`
	Seed    uint64  `json:"seed,omitempty"`
}

func (s Stages) Next(n uint64, before time.Duration) (time.Duration, bool) {
	area := float64(n)
	if s.Poisson {
		area = s.Area(before) + exponential(s.Seed, n)
	}
	var start time.Duration
	rate := 0.0
	for _, stage := range s.Stages {
		size := under(rate, stage)
		if area < size {
			return start + min(crossing(rate, stage, area), stage.Duration), true
		}
		area -= size
		start += stage.Duration
		rate = stage.Rate
	}
	return 0, false
}

func (s Stages) InFlight() int { return s.Max }
func (s Stages) Open() bool    { return true }

func (s Stages) First(int) time.Duration { return 0 }

func (s Stages) Window() time.Duration { return s.Duration() }

// Duration is the sum of the durations of the stages.
func (s Stages) Duration() (total time.Duration) {
	for _, stage := range s.Stages {
		total += stage.Duration
	}
	return total
}

// Area is the number of calls due before a time: the area under the rate.
func (s Stages) Area(until time.Duration) (area float64) {
	rate := 0.0
	for _, stage := range s.Stages {
		if until <= stage.Duration {
			if until > 0 {
				end := rate + (stage.Rate-rate)*float64(until)/float64(stage.Duration)
				area += under(rate, Stage{Duration: until, Rate: end})
			}
			return area
		}
		area += under(rate, stage)
		until -= stage.Duration
		rate = stage.Rate
	}
	return area
}

// under returns the number of calls of a stage that starts at a rate: the area under the rate.
func under(from float64, s Stage) float64 { return (from + s.Rate) / 2 * s.Duration.Seconds() }

// crossing is the time from the start of a stage until the area reaches a size. It is the root of
// from·t + slope·t²/2 = area, in the form without cancellation at a slope near 0.
func crossing(from float64, s Stage, area float64) time.Duration {
	slope := (s.Rate - from) / s.Duration.Seconds()
	divisor := from + math.Sqrt(max(0, from*from+2*slope*area))
	if divisor == 0 {
		return 0 // the first call of a ramp from 0
	}
	return time.Duration(2 * area / divisor * float64(time.Second))
}
