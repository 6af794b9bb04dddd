package analysis

import (
	"rpclab/internal/measure"
	"rpclab/internal/result"
)

// kernelPerCall divides counts of the kernel by the calls; nil: not known.
func kernelPerCall(counted *measure.KernelCounters, calls uint64) *result.Kernel {
	if counted == nil || *counted == (measure.KernelCounters{}) || calls == 0 {
		return nil
	}
	n := float64(calls)
	return &result.Kernel{
		Connections: float64(counted.Connections) / n, Segments: float64(counted.Segments) / n,
		Bytes: float64(counted.Bytes) / n, Switches: float64(counted.Switches) / n,
	}
}

// connectingPerCall is how long connections took to set up, per call in milliseconds; nil: not known.
func connectingPerCall(seen measure.Measurement) *float64 {
	if seen.Connecting == nil || seen.Calls == 0 {
		return nil
	}
	return new(result.Milliseconds(*seen.Connecting) / float64(seen.Calls))
}

// jvmPerCall divides the times of Java virtual machines by the calls; nil: not known.
func jvmPerCall(spent *measure.JVMTimes, calls uint64) *result.JVM {
	if spent == nil || calls == 0 {
		return nil
	}
	n := float64(calls)
	return &result.JVM{Collecting: spent.Collecting.Seconds() * 1e6 / n, Compiling: spent.Compiling.Seconds() * 1e6 / n}
}

// mergeWork returns the means per call over trials; nil: not known in one of them.
func mergeWork(trials []result.Trial) (kernel *result.Kernel, jvm *result.JVM, connecting *float64) {
	if m := meanPerCall(trials, func(t result.Trial) []float64 {
		if k := t.Kernel; k != nil {
			return []float64{k.Connections, k.Segments, k.Bytes, k.Switches}
		}
		return nil
	}); m != nil {
		kernel = &result.Kernel{Connections: m[0], Segments: m[1], Bytes: m[2], Switches: m[3]}
	}
	if m := meanPerCall(trials, func(t result.Trial) []float64 {
		if t.JVM != nil {
			return []float64{t.JVM.Collecting, t.JVM.Compiling}
		}
		return nil
	}); m != nil {
		jvm = &result.JVM{Collecting: m[0], Compiling: m[1]}
	}
	if m := meanPerCall(trials, func(t result.Trial) []float64 {
		if t.ConnectingMS != nil {
			return []float64{*t.ConnectingMS}
		}
		return nil
	}); m != nil {
		connecting = &m[0]
	}
	return kernel, jvm, connecting
}

// meanPerCall returns the means of figures per call over trials, weighted by their calls; nil: not known in one of them.
func meanPerCall(trials []result.Trial, figures func(result.Trial) []float64) (means []float64) {
	var calls float64
	for _, t := range trials {
		if t.Failed != "" || t.Calls == 0 {
			continue
		}
		all := figures(t)
		if all == nil {
			return nil
		}
		if means == nil {
			means = make([]float64, len(all))
		}
		for i, figure := range all {
			means[i] += float64(t.Calls) * figure
		}
		calls += float64(t.Calls)
	}
	for i := range means {
		means[i] /= calls
	}
	return means
}
