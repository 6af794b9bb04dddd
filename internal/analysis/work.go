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

// mergeWork returns the means per call over trials; nil: not known in one of them.
func mergeWork(trials []result.Trial) (kernel *result.Kernel, connecting *float64) {
	var calls float64
	kernel, connecting = new(result.Kernel), new(float64)
	for _, t := range trials {
		if t.Failed != "" || t.Calls == 0 {
			continue
		}
		n := float64(t.Calls)
		calls += n
		if t.Kernel == nil {
			kernel = nil
		}
		if kernel != nil {
			kernel.Connections += n * t.Kernel.Connections
			kernel.Segments += n * t.Kernel.Segments
			kernel.Bytes += n * t.Kernel.Bytes
			kernel.Switches += n * t.Kernel.Switches
		}
		if t.ConnectingMS == nil {
			connecting = nil
		}
		if connecting != nil {
			*connecting += n * *t.ConnectingMS
		}
	}
	if calls == 0 {
		return nil, nil
	}
	if kernel != nil {
		*kernel = result.Kernel{Connections: kernel.Connections / calls, Segments: kernel.Segments / calls, Bytes: kernel.Bytes / calls, Switches: kernel.Switches / calls}
	}
	if connecting != nil {
		*connecting /= calls
	}
	return kernel, connecting
}
