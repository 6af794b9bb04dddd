package analysis

import (
	"reflect"
	"testing"
	"time"

	"rpclab/internal/measure"
	"rpclab/internal/result"
)

func TestWorkPerCall(t *testing.T) {
	if got := kernelPerCall(&measure.KernelCounters{Connections: 5, Segments: 40, Bytes: 2000, Switches: 10}, 10); !reflect.DeepEqual(got, &result.Kernel{Connections: 0.5, Segments: 4, Bytes: 200, Switches: 1}) {
		t.Errorf("%+v", got)
	}
	for name, got := range map[string]*result.Kernel{"nothing was counted": kernelPerCall(nil, 10), "the system counts nothing": kernelPerCall(&measure.KernelCounters{}, 10), "no calls": kernelPerCall(&measure.KernelCounters{Segments: 1}, 0)} {
		if got != nil {
			t.Errorf("%s: %+v, want unknown", name, got)
		}
	}
	if got := connectingPerCall(measure.Measurement{Calls: 4, Connecting: new(10 * time.Millisecond)}); got == nil || *got != 2.5 {
		t.Errorf("connecting takes %v ms, want 2.5", got)
	}
	if got := connectingPerCall(measure.Measurement{Calls: 4}); got != nil {
		t.Errorf("connecting takes %v ms, want unknown", *got)
	}
}

func TestWorkOfTrialsIsWeightedByCalls(t *testing.T) {
	of := func(calls uint64, kernel *result.Kernel, connecting *float64) (t result.Trial) {
		t.Calls, t.Kernel, t.ConnectingMS = calls, kernel, connecting
		return t
	}
	trials := []result.Trial{of(100, &result.Kernel{Segments: 4}, new(1.0)), of(300, &result.Kernel{Segments: 8, Switches: 4}, new(3.0)), {Failed: "it died"}}
	kernel, connecting := mergeWork(trials)
	if !reflect.DeepEqual(kernel, &result.Kernel{Segments: 7, Switches: 3}) || connecting == nil || *connecting != 2.5 {
		t.Errorf("%+v, %v", kernel, connecting)
	}
	trials[0].Kernel, trials[1].ConnectingMS = nil, nil
	if kernel, connecting := mergeWork(trials); kernel != nil || connecting != nil {
		t.Errorf("%+v, %v, want unknown", kernel, connecting)
	}
	if kernel, connecting := mergeWork(nil); kernel != nil || connecting != nil {
		t.Errorf("%+v, %v of no trials", kernel, connecting)
	}
}
