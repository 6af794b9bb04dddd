package wire

import (
	"rpclab/internal/measure"
	"rpclab/internal/wire/h2"
)

// beginFlow makes a call a flow, which has not made a call yet.
func (c *core) beginFlow(call *call) {
	if call.flow == nil {
		call.flow = &flow{backends: map[string]uint64{}}
	}
	call.flow.kind, call.flow.next, call.flow.steps = 0, false, call.flow.steps[:0]
	clear(call.flow.backends)
}

// nextOfFlow lets a flow make its next call after one that ended well. It returns false after the last, and if the call
// is no flow.
func (c *core) nextOfFlow(call *call, backend string) bool {
	if call.flow == nil || call.flow.kind == len(c.call.Mix.Kinds)-1 {
		return false
	}
	c.endOfFlow(call, backend, h2.Status{})
	call.flow.kind++
	call.attempts, call.refused, call.waits, call.connection = 0, false, false, nil
	if call.ownConnection != nil {
		call.ownConnection.call = nil // the connection may be lost before the next call uses it
	}
	call.flow.next = true
	c.retry.PushBack(call, &call.queued) // in the next turn: the connection is still handling its input
	return true
}

// endOfFlow adds the call that a flow made to what is recorded.
func (c *core) endOfFlow(call *call, backend string, status h2.Status) {
	step := measure.Step{Name: c.call.Mix.Kinds[call.flow.kind].Name, Code: measure.OK, Done: c.now - c.load.start}
	if status.Code != h2.OK {
		step.Code = status.Name()
	} else {
		call.flow.backends[backend]++
	}
	call.flow.steps = append(call.flow.steps, step)
}

// numberOf returns the number of a call in the functions of a [Call].
func (c *core) numberOf(call *call) uint64 {
	if call.flow == nil {
		return call.number
	}
	return call.number*uint64(len(c.call.Mix.Kinds)) + uint64(call.flow.kind)
}
