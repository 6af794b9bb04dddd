package measure_test

import (
	"testing"
	"time"

	"rpclab/internal/measure"
)

// TestTheCallsOfAFlowAddUpToIt: the first is due with the flow, and each other when the one before it ends.
func TestTheCallsOfAFlowAddUpToIt(t *testing.T) {
	r := measure.NewRecorder(0)
	done := good("", 10*ms, 12*ms, 20*ms)
	done.Backends = map[string]uint64{"a": 2}
	done.Steps = []measure.Step{{Name: "login", Code: measure.OK, Done: 15 * ms}, {Name: "get", Code: measure.OK, Done: 20 * ms}}
	r.Record(done)
	r.Record(measure.Call{Due: 10 * ms, Sent: 10 * ms, Done: 40 * ms, Code: "NO", Steps: []measure.Step{{Name: "login", Code: "NO", Done: 40 * ms}}})
	r.Drop(20*ms, "login")
	m := measured(t, r)
	login, get := m.ByName["login"], m.ByName["get"]
	if login.Calls != 2 || login.Dropped != 1 || login.Errors["NO"] != 1 || get.Calls != 1 || m.Calls != 2 || m.Backends["a"] != 2 {
		t.Errorf("login %+v, get %+v of %d flows, backends %v", login, get, m.Calls, m.Backends)
	}
	for name := range m.ByName {
		if took := time.Duration(decode(t, m.ByName[name].Latency).Max()).Round(ms); took != 5*ms {
			t.Errorf("%s took %v, want %v", name, took, 5*ms)
		}
	}
}
