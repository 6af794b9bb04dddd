package wire_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"rpclab/internal/pace"
	"rpclab/internal/wire"
)

// callbacks counts what the functions of a call received, on the one thread of their engine.
type callbacks struct {
	busy     map[int]bool // workers with a call in flight
	worker   map[uint64]int
	most     int
	shared   int
	messages int
}

func (h *callbacks) call(addr string) wire.Call {
	h.busy, h.worker = map[int]bool{}, map[uint64]int{}
	return wire.Call{
		Method: "/test.Test/Answer", Authority: addr,
		AppendMessage: func(n uint64, worker int, to []byte) ([]byte, error) {
			h.messages++
			if h.busy[worker] {
				h.shared++
			}
			h.busy[worker], h.worker[n] = true, worker
			h.most = max(h.most, worker)
			if n%10 == 3 {
				h.busy[worker] = false
				return to, errors.New("not a three")
			}
			return append(to, "request"...), nil
		},
		Check: func(n uint64, _ []byte, _ string) error {
			h.busy[h.worker[n]] = false
			if n%10 == 4 {
				return fmt.Errorf("not a four")
			}
			return nil
		},
	}
}

// The callbacks run for every call, including those that fail and those without a message.
// No two calls in flight have the same worker, in closed and in open loops.
func TestCallbacksRunForEveryCall(t *testing.T) {
	for what, c := range map[string]struct {
		pace    pace.Pace
		highest int // worker; an open loop has at most as many as were in flight
	}{
		"closed": {pace.Closed{Users: 7, Calls: 1000}, 6},
		"burst":  {pace.Burst{Calls: 1000}, 999},
		"open":   {pace.Rate{PerSecond: 5000, Duration: 200 * time.Millisecond, Max: 1000}, 999},
	} {
		t.Run(what, func(t *testing.T) {
			addr := answerer(t)
			var seen callbacks
			m := load(t, engine(t, wire.Config{Addresses: []string{addr}, Channels: 2}, seen.call(addr)), c.pace)
			if seen.messages != 1000 || m.Calls != 1000 || m.Backends[""] != 800 || m.Errors["INTERNAL"] != 100 || m.Errors["DATA_LOSS"] != 100 {
				t.Errorf("%d messages, %d calls, %d right, errors %v", seen.messages, m.Calls, m.Backends[""], m.Errors)
			}
			if m.Samples["INTERNAL"] != "create the message: not a three" {
				t.Errorf("samples %v", m.Samples)
			}
			if seen.shared > 0 || seen.most > c.highest {
				t.Errorf("%d calls shared a worker with another in flight; the highest was %d", seen.shared, seen.most)
			}
		})
	}
}
