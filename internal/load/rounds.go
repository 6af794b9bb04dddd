package load

import (
	"context"
	"time"

	"rpclab/internal/measure"
	"rpclab/internal/result"
)

// round is one round of a load.
type round struct {
	measure.Measurement
	interrupted bool
	warnings    []result.MachineWarning
	machine     *result.Interference // nil: not known
}

// cancelled counts the calls that rpclab cancelled at an interrupt.
func (r round) cancelled() uint64 {
	if !r.interrupted {
		return 0
	}
	return r.Errors["CANCELLED"]
}

// makeRounds makes the load as often as the settings say, or until ctx ends.
func (l *Load) makeRounds(ctx context.Context, live *Progress) (all []round, err error) {
	for len(all) < l.settings.rounds() && (ctx.Err() == nil || len(all) == 0) {
		live.setRound(len(all)+1, l.settings.rounds())
		plan, err := l.settings.ofRound(len(all)).Pace()
		if err != nil {
			return nil, err // cannot happen: Open checked it
		}
		endMachine, endProcessors := l.watchMachine(), l.watchProcessors()
		measured, err := measureRun(func() (*measure.Recorder, time.Time, error) { return l.client.Run(ctx, plan, live) })
		machine, warnings := endProcessors(), endMachine()
		if err != nil {
			return nil, err
		}
		if measured.Calls+measured.Dropped == 0 && len(all) > 0 {
			break // interrupted before its first call
		}
		all = append(all, round{measured, ctx.Err() != nil, warnings, machine})
	}
	return all, nil
}

// ofRound returns the settings of a round (from 0). Each has other random arrivals, or the rounds would
// not be independent.
func (s Settings) ofRound(n int) Settings {
	s.Seed += uint64(n)
	return s
}
