package wire_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"testing"

	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/wire"
	"rpclab/internal/wire/wiretest"
	"rpclab/internal/workload"
)

// Calls succeed on servers that do everything the protocol allows. On servers that violate it,
// calls fail with an error that names the violation.
func TestCallsEndAsEveryScenarioExpects(t *testing.T) {
	t.Parallel()
	for _, s := range wiretest.Scenarios() {
		t.Run(s.Name, func(t *testing.T) { t.Parallel(); runScenario(t, s, nil) })
		t.Run(s.Name+" by goroutines", func(t *testing.T) { t.Parallel(); runScenario(t, s, dialByGoroutines) })
	}
}

// dialByGoroutines opens a connection that goroutines read and write, as they do with TLS and on
// systems other than Linux.
func dialByGoroutines(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return struct{ net.Conn }{conn}, nil
}

func runScenario(t *testing.T, s wiretest.Scenario, dial func(context.Context, string) (net.Conn, error)) {
	e := engine(t, wire.Config{
		Addresses: []string{wiretest.Serve(t, s)}, Dial: dial, Timeout: s.Timeout, MaxMessage: s.MaxMessage,
	}, scenarioCall(s))
	m := load(t, e, pace.Closed{Users: s.InFlight, Calls: uint64(s.Calls)})
	if m.Calls != uint64(s.Calls) {
		t.Errorf("%d calls ended, %d were made", m.Calls, s.Calls)
	}
	if answered := m.Backends[wiretest.Backend]; answered > 0 && !s.Want.Accepts(measure.OK, "") {
		t.Errorf("%d calls were answered; wanted %v (%s)", answered, s.Want.Codes, s.Source)
	}
	for code, n := range m.Errors {
		t.Logf("%d × %s: %s", n, code, m.Samples[code])
		if !s.Want.Accepts(code, m.Samples[code]) {
			t.Errorf("%d calls ended as %s: %q; wanted %v %q (%s)", n, code, m.Samples[code], s.Want.Codes, s.Want.Message, s.Source)
		}
	}
}

func scenarioCall(s wiretest.Scenario) wire.Call {
	want := s.Reply()
	return wire.Call{
		Method: wiretest.Method, Message: s.Request(), Backend: workload.BackendTrailer,
		Check: func(_ uint64, response []byte, backend string) error {
			if !bytes.Equal(response, want) || backend != wiretest.Backend {
				return fmt.Errorf("a wrong response of %d bytes by %q", len(response), backend)
			}
			return nil
		},
	}
}
