package main

import (
	"fmt"
	"slices"
	"time"
)

// page is the data of docs/findings/peers.md.
type page struct {
	Peers         []generator
	Costs         []cost
	Late          []time.Duration // of each round
	Agreements    []agreement
	Stalls        []stall
	Rounds        int
	Machine, Date string
	Took          time.Duration
}

// costsOf are the costs of a generator in one setting.
func (p page) costsOf(name string, target int, s shape) (found []cost) {
	for _, c := range p.Costs {
		if c.Generator == name && c.Target == target && c.Shape == s {
			found = append(found, c)
		}
	}
	return found
}

func perCall(c cost) float64 { return c.PerCall.Seconds() * 1e6 }
func server(c cost) float64  { return c.Server.Seconds() * 1e6 }

func sorted(costs []cost, value func(cost) float64) []float64 {
	values := make([]float64, len(costs))
	for i, c := range costs {
		values[i] = value(c)
	}
	slices.Sort(values)
	return values
}

func median(costs []cost, value func(cost) float64) float64 {
	values := sorted(costs, value)
	n := len(values)
	if n == 0 {
		return 0
	}
	return (values[(n-1)/2] + values[n/2]) / 2
}

func spread(costs []cost, value func(cost) float64) (low, high float64) {
	values := sorted(costs, value)
	if len(values) == 0 {
		return 0, 0
	}
	return values[0], values[len(values)-1]
}

// digits formats a number with three significant digits.
func digits(x float64) string {
	switch {
	case x < 10:
		return fmt.Sprintf("%.2f", x)
	case x < 100:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

func short(d time.Duration) string {
	if d < time.Second {
		return digits(d.Seconds()*1000) + " ms"
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}
