package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"

	"rpclab/internal/cluster"
	"rpclab/internal/workload"
)

// ErrUnsupported means that Kubernetes does not support a fault.
var ErrUnsupported = errors.New("not supported on Kubernetes: run with --on local")

// Slow makes the n oldest ready backends slower, or with neither argument none.
func (d *deployment) Slow(_ context.Context, n int, by time.Duration, times float64) ([]string, error) {
	slow := func(fault *workload.Fault) { fault.Slow, fault.Factor = by, times }
	if by == 0 && times == 0 {
		return nil, d.setFaults(slow)
	}
	return d.forOldest(n, func(backend *replica) error { return backend.setFault(slow) })
}

// Fail makes the n oldest ready backends answer a share of calls with a code.
func (d *deployment) Fail(_ context.Context, n int, name string, share float64) ([]string, error) {
	var code codes.Code
	if err := code.UnmarshalJSON([]byte(strconv.Quote(name))); err != nil || code == codes.OK {
		return nil, fmt.Errorf("fail with %q: this is not an error code; use one such as UNAVAILABLE, INTERNAL, RESOURCE_EXHAUSTED, …", name)
	}
	return d.forOldest(n, func(backend *replica) error {
		return backend.setFault(func(fault *workload.Fault) { fault.Code, fault.Share = code, share })
	})
}

// Flap alternates the health of the n oldest ready backends; readiness probes see it.
func (d *deployment) Flap(_ context.Context, n int, every time.Duration) ([]string, error) {
	return d.forOldest(n, func(backend *replica) error {
		return backend.setFault(func(fault *workload.Fault) { fault.Flap = every })
	})
}

// Cut makes the n oldest ready backends, or their fault proxies, reset their connections, or drop the packets of
// clients.
func (d *deployment) Cut(_ context.Context, n int, reset bool) ([]string, error) {
	if !canCut(d.spec) && !hasFaultProxy(d.spec) {
		return nil, fmt.Errorf("cut: %w", ErrUnsupported)
	}
	if reset {
		return d.forOldest(n, (*replica).resetConnections)
	}
	return d.forOldest(n, func(backend *replica) error {
		return backend.setFault(func(fault *workload.Fault) { fault.Drop = true })
	})
}

// SetDNSFault is not supported: the name server serves other pods too.
func (d *deployment) SetDNSFault(time.Duration, bool) error {
	return fmt.Errorf("dns: %w", ErrUnsupported)
}

// Recover ends all faults.
func (d *deployment) Recover(context.Context) error {
	return d.setFaults(func(fault *workload.Fault) { *fault = workload.Fault{} })
}

// setFaults changes the fault of every backend, also of those that are stopping, because they still answer calls.
func (d *deployment) setFaults(change func(*workload.Fault)) error {
	return inParallel(d.present(), func(backend *replica) error {
		if err := backend.setFault(change); err != nil && !backend.hasEnded() {
			return err
		}
		return nil
	})
}

// FaultProxies implements [cluster.FaultProxies].
func (d *deployment) FaultProxies() (all []cluster.FaultProxy) {
	if !hasFaultProxy(d.spec) {
		return nil
	}
	for _, backend := range d.active() {
		if ip, ok := backend.ip(); ok {
			all = append(all, cluster.FaultProxy{
				Addr: netip.AddrPortFrom(ip, uint16(proxyPort(d.spec))), Backend: netip.AddrPortFrom(ip, uint16(portOf(d.spec))), CPU: func() (time.Duration, error) {
					used, err := backend.processUsage()
					return used.CPU, err
				},
			})
		}
	}
	return all
}

// FaultProxyCPU implements [cluster.FaultProxies]. The proxies use processors of nodes.
func (d *deployment) FaultProxyCPU() time.Duration { return 0 }
