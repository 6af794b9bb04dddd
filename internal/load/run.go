package load

import (
	"context"
	"fmt"

	"rpclab/internal/result"
)

// Run makes the calls of every round and returns the result. When ctx ends during the load, the result
// contains what was measured and is marked as partial; when ctx ends during the warm-up, Run returns an
// error. live may be nil. Run measures the generator's own limits after the load, unless ctx
// has ended.
func (l *Load) Run(ctx context.Context, live *Progress) (result.Document, error) {
	warmed, err := l.warmUp(ctx, live)
	if err != nil {
		return result.Document{}, err
	}
	if ctx.Err() != nil {
		return result.Document{}, fmt.Errorf("%w during the warm-up, before anything was measured", ctx.Err())
	}
	rounds, err := l.makeRounds(ctx, live)
	if err != nil {
		return result.Document{}, err
	}
	var selfTest *SelfTestResult
	if ctx.Err() == nil {
		live.setPhase("measuring the generator itself")
		selfTest, err = l.selfTest(ctx, l.probe())
		switch {
		case ctx.Err() != nil:
			selfTest = nil // leave out an incomplete self-test; the load itself is complete
		case err != nil:
			return result.Document{}, fmt.Errorf("measure the generator itself: %w", err)
		default:
			for _, round := range rounds {
				selfTest.exceededBy(round.Measurement)
			}
		}
	}
	document, err := l.document(rounds, selfTest)
	if err != nil {
		return result.Document{}, err
	}
	return addMachineWarnings(addWarmUp(document, warmed)), nil
}
