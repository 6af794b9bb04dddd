package analysis

import (
	"fmt"
	"math"

	"rpclab/internal/result"
)

// cutOff is by how much the mean logarithms of the rates of two arms can be too small; the zero cutOff is none.
type cutOff [2]float64

// cutOff returns that of the windows of two arms. Calls in flight at the end of a window do not count, so the open loop whose
// calls take longer has a lower rate although its servers keep up: in turns, where each block has a window, by 20 % for 20 ms in
// 0.1 s. One call more or less may end in a window, too. What is under a hundredth in all does not count.
func (m metric) cutOff(a, b result.Arm) (cut cutOff) {
	switch {
	case m.name != "rate":
	case isOpen(a) && isOpen(b):
		inA, oneA := endOfWindow(a)
		inB, oneB := endOfWindow(b)
		cut = cutOff{max(0, inA-inB) + oneA, max(0, inB-inA) + oneB}
	default:
		cut = cutOff{endOfClosedLoad(a), endOfClosedLoad(b)}
	}
	if max(cut[0], cut[1]) <= mostLateOfWindow {
		return cutOff{}
	}
	return cut
}

// endOfWindow returns how many of the calls of a window are in flight at its end if the servers keep up, as a logarithm of the
// rate, and the share that one call is: the means of the trials of an arm. Calls that take more than twice as long as the
// quickest can be those of servers that fall behind.
func endOfWindow(arm result.Arm) (inFlight, one float64) {
	const most = 0.99 // of the calls
	trials := 0.0
	for _, t := range arm.Trials {
		length := t.WindowMS()
		if t.Failed != "" || t.Calls == 0 || !(length > 0) {
			continue
		}
		trials++
		answers := t.Answers()
		inFlight -= math.Log1p(-min(answers.Mean/length, 2*answers.Min/length, most))
		one += float64(max(1, len(t.Blocks))) / float64(t.Calls)
	}
	return inFlight / max(trials, 1), one / max(trials, 1)
}

// endOfClosedLoad returns what the last call of each user of a closed loop is worth at most, as a logarithm of the rate: the mean of
// the trials. All users begin a load or block at the same moment, unless they think or start one after another, so a latency
// that is slightly longer can cost each user one of five calls.
func endOfClosedLoad(arm result.Arm) (inFlight float64) {
	const most = 0.99 // of the calls
	apart := arm.Scheduled() || arm.SettingsByPath()["load.closed.ramp"] != nil
	trials := 0.0
	for _, t := range arm.Trials {
		if t.Failed != "" || t.Calls == 0 || t.Window == nil || len(t.Blocks) == 0 && apart {
			continue
		}
		trials++
		inFlight -= math.Log1p(-min(t.Answers().Mean/t.WindowMS(), most))
	}
	return inFlight / max(trials, 1)
}

// note says that the interval allows for calls in flight at the end of the windows of an arm.
func (c cutOff) note(arm result.Arm, i int) string {
	return fmt.Sprintf("calls in flight when the time of a load or block ends do not count: that can have lowered the rate of %s by %.2g %%, for which the interval allows",
		arm.Name, -100*math.Expm1(-c[i]))
}
