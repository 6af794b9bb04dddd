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
	if got := jvmPerCall(&measure.JVMTimes{Collecting: 10 * time.Millisecond, Compiling: time.Millisecond}, 4); !reflect.DeepEqual(got, &result.JVM{Collecting: 2500, Compiling: 250}) {
		t.Errorf("%+v", got)
	}
	if a, b := jvmPerCall(nil, 4), jvmPerCall(&measure.JVMTimes{}, 0); a != nil || b != nil {
		t.Errorf("%+v without machines, %+v without calls; want unknown", a, b)
	}
	if got := connectingPerCall(measure.Measurement{Calls: 4, Connecting: new(10 * time.Millisecond)}); got == nil || *got != 2.5 {
		t.Errorf("connecting takes %v ms, want 2.5", got)
	}
	if got := connectingPerCall(measure.Measurement{Calls: 4}); got != nil {
		t.Errorf("connecting takes %v ms, want unknown", *got)
	}
}

func TestWorkOfTrialsIsWeightedByCalls(t *testing.T) {
	of := func(calls uint64, kernel *result.Kernel, jvm *result.JVM, connecting *float64) (t result.Trial) {
		t.Calls, t.Kernel, t.JVM, t.ConnectingMS = calls, kernel, jvm, connecting
		return t
	}
	trials := []result.Trial{
		of(100, &result.Kernel{Segments: 4}, &result.JVM{Collecting: 8}, new(1.0)),
		of(300, &result.Kernel{Segments: 8, Switches: 4}, &result.JVM{Compiling: 12}, new(3.0)),
		{Failed: "it died"},
	}
	kernel, jvm, connecting := mergeWork(trials)
	if !reflect.DeepEqual(kernel, &result.Kernel{Segments: 7, Switches: 3}) || !reflect.DeepEqual(jvm, &result.JVM{Collecting: 2, Compiling: 9}) || connecting == nil || *connecting != 2.5 {
		t.Errorf("%+v, %+v, %v", kernel, jvm, connecting)
	}
	trials[0].Kernel, trials[1].JVM, trials[1].ConnectingMS = nil, nil, nil
	for _, unknown := range [][]result.Trial{trials, nil} {
		if kernel, jvm, connecting := mergeWork(unknown); kernel != nil || jvm != nil || connecting != nil {
			t.Errorf("%+v, %+v, %v of %d trials, want unknown", kernel, jvm, connecting, len(unknown))
		}
	}
}
