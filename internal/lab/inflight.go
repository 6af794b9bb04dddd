package lab

import (
	"math"

	"rpclab/internal/experiment"
)

// maxInFlight returns the largest number of calls, or of requests to a gateway, in flight.
func maxInFlight(l experiment.Load) int {
	switch {
	case l.Burst > 0:
		return l.Burst
	case l.Closed != nil:
		return l.Closed.Users
	case l.Open != nil:
		all := l.Open.Rate * l.Open.Duration.Seconds()
		all += 5 * math.Sqrt(all) // random arrivals may exceed the mean
		return int(min(math.Ceil(all), float64(l.Open.MaxInFlight)))
	case l.Search != nil:
		return l.Search.MaxInFlight
	}
	return 1
}
