package wire_test

import (
	"flag"
	"testing"
	"time"

	"rpclab/internal/pace"
	"rpclab/internal/wire"
)

var soak = flag.Bool("soak", false, "make as many calls as make soak does")

// TestSoakCallsToGRPCGo makes 110,000 calls with -soak and 12,000 otherwise. No response may be wrong.
func TestSoakCallsToGRPCGo(t *testing.T) {
	addr, _ := greeter(t, "b1", 0)
	for name, cfg := range map[string]wire.Config{
		"one connection":             {},
		"ten connections":            {Channels: 10},
		"ten, sticky, a few streams": {Channels: 10, Sticky: true, MaxStreams: 3},
		"two cores":                  {Channels: 4, Cores: 2},
		"connection per call":        {ConnectionPerCall: true},
	} {
		t.Run(name, func(t *testing.T) {
			cfg.Addresses, cfg.Timeout = []string{addr}, 20*time.Second
			e := engine(t, cfg, greet(t))
			if err := e.Connect(t.Context()); err != nil {
				t.Fatal(err)
			}
			calls := uint64(2500)
			switch {
			case cfg.ConnectionPerCall && *soak:
				calls = 500
			case cfg.ConnectionPerCall:
				calls = 100
			case *soak:
				calls = 25_000
			}
			for what, p := range map[string]pace.Pace{
				"closed": pace.Closed{Users: 50, Calls: calls},
				"burst":  pace.Burst{Calls: int(calls) / 10},
				"rate":   pace.Rate{PerSecond: 2000, Duration: 100 * time.Millisecond, Max: 1000},
			} {
				m := load(t, e, p)
				want := map[string]uint64{"closed": calls, "burst": calls / 10, "rate": 200}[what]
				if m.Calls != want || m.Backends["b1"] != want || len(m.Errors) > 0 || m.Dropped > 0 {
					t.Errorf("%s: %d calls of %d, backends %v, errors %v %v, %d dropped", what, m.Calls, want, m.Backends, m.Errors, m.Samples, m.Dropped)
				}
			}
		})
	}
}
