package wire_test

import (
	"testing"
	"time"

	"rpclab/internal/pace"
	"rpclab/internal/wire"
)

// Over 100,000 calls in all, and no wrong answer.
func TestCallsToGRPCGoAreAllAnsweredRight(t *testing.T) {
	addr, _ := greeter(t, "b1", 0)
	for name, cfg := range map[string]wire.Config{
		"one connection":             {},
		"ten connections":            {Channels: 10},
		"ten, sticky, a few streams": {Channels: 10, Sticky: true, Streams: 3},
		"two cores":                  {Channels: 4, Cores: 2},
		"per call":                   {PerCall: true},
	} {
		t.Run(name, func(t *testing.T) {
			cfg.Addresses, cfg.Timeout = []string{addr}, 20*time.Second
			e := engine(t, cfg, greet(t))
			if err := e.Connect(t.Context()); err != nil {
				t.Fatal(err)
			}
			calls := uint64(25_000)
			if cfg.PerCall {
				calls = 500
			}
			for what, p := range map[string]pace.Pace{
				"closed": pace.Closed{Users: 50, Calls: calls},
				"burst":  pace.Burst{Calls: int(calls) / 10},
				"rate":   pace.Rate{PerSecond: 2000, Duration: 200 * time.Millisecond, Max: 1000},
			} {
				m := run(t, e, p)
				want := map[string]uint64{"closed": calls, "burst": calls / 10, "rate": 400}[what]
				if m.Calls != want || m.Backends["b1"] != want || len(m.Errors) > 0 || m.Dropped > 0 {
					t.Errorf("%s: %d calls of %d, backends %v, errors %v %v, %d dropped", what, m.Calls, want, m.Backends, m.Errors, m.Samples, m.Dropped)
				}
			}
		})
	}
}
