package wire

import (
	"testing"
	"time"
)

// The time of a read over TLS may be before a call that was started while the read waited for the core.
func TestACallIsNotSentBeforeItStarts(t *testing.T) {
	c := core{now: 5 * time.Millisecond}
	late := call{started: 8 * time.Millisecond, waits: true}
	if !c.admitted(&late) || late.sent != late.started || late.streaming.lastSent != late.started {
		t.Errorf("a call that started at %v was sent at %v, its last message at %v", late.started, late.sent, late.streaming.lastSent)
	}
}

// A flow that was cancelled between two of its calls leaves its state to the next flow.
func TestAReusedFlowHasNoNextCall(t *testing.T) {
	c := core{}
	reused := call{flow: &flow{kind: 1, next: true, backends: map[string]uint64{"b1": 1}}}
	if c.beginFlow(&reused); reused.flow.next || reused.flow.kind != 0 || len(reused.flow.backends) > 0 {
		t.Errorf("the flow begins as %+v", *reused.flow)
	}
}
