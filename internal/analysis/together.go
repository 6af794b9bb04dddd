package analysis

import (
	"rpclab/internal/experiment"
	"rpclab/internal/result"
	"rpclab/internal/verdict"
)

// docs/decisions/0031-designs.md has the reasons for these limits.
const (
	// mostBusyTogether is the share of all CPU time that may be in use while two arms run at the same time. From
	// warnBusyTogether on calls wait for CPUs often, and it is a warning.
	mostBusyTogether, warnBusyTogether = 0.8, 0.5
)

// busyTogether returns the share of all CPU time that was in use in the median trial of an arm and of the one that runs at
// the same time; 0: none does, or it is not known.
func busyTogether(d result.Document, arm result.Arm) float64 {
	if d.Design != experiment.SideBySide {
		return 0
	}
	cell := arm.Key().Cell
	var shares []float64
	for _, other := range d.Arms {
		if other.Key().Cell != cell {
			continue
		}
		for _, t := range other.Trials {
			if t.Machine != nil && t.Machine.Busy != nil {
				shares = append(shares, *t.Machine.Busy)
			}
		}
	}
	return verdict.Median(shares)
}
