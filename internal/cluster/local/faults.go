package local

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"

	"rpclab/internal/cluster/netfault"
	"rpclab/internal/workload"
)

// Slow delays the responses of the n oldest ready backends. With by and times 0 it ends the delays of all
// backends.
func (d *deployment) Slow(_ context.Context, n int, by time.Duration, times float64) ([]string, error) {
	slow := func(f *workload.Fault) { f.Slow, f.Factor = by, times }
	if by == 0 && times == 0 {
		return nil, d.setFaults(slow)
	}
	if err := d.needsFaultProxy("slow"); err != nil {
		return nil, err
	}
	return d.each(n, func(r *replica) error { return r.SetFault(slow) })
}

// Fail makes the n oldest ready backends answer a share of calls with a code.
func (d *deployment) Fail(_ context.Context, n int, name string, share float64) ([]string, error) {
	var code codes.Code
	if err := code.UnmarshalJSON([]byte(strconv.Quote(name))); err != nil || code == codes.OK {
		return nil, fmt.Errorf("fail with %q: this is not an error code; use one such as UNAVAILABLE, INTERNAL, RESOURCE_EXHAUSTED, …", name)
	}
	if err := d.needsFaultProxy("fail"); err != nil {
		return nil, err
	}
	return d.each(n, func(r *replica) error {
		return r.SetFault(func(f *workload.Fault) { f.Code, f.Share = code, share })
	})
}

// Flap alternates the health of the n oldest ready backends; the health check sees it.
func (d *deployment) Flap(_ context.Context, n int, every time.Duration) ([]string, error) {
	return d.each(n, func(r *replica) error {
		if health, ok := r.health.(*flapping); ok {
			health.flap(every)
			return nil
		}
		return r.SetFault(func(f *workload.Fault) { f.Flap = every })
	})
}

// Cut breaks the network between callers and the n oldest ready backends.
func (d *deployment) Cut(_ context.Context, n int, reset bool) ([]string, error) {
	probe := d.cluster.addresses.probeSource()
	if !reset && !probe.IsValid() {
		return nil, errors.New("packets can be dropped only where each backend has its own address, and on this system all share one")
	}
	return d.each(n, func(r *replica) error {
		if reset {
			return netfault.ResetConnections(r.addr, probe)
		}
		return netfault.DropPackets(d.spec.Name, r.addr.Addr(), probe)
	})
}

// SetDNSFault makes the name server slow, or return wrong addresses.
func (d *deployment) SetDNSFault(delay time.Duration, wrong bool) error {
	d.publisher.SetDNSFault(delay, wrong)
	return nil
}

// Recover ends all faults.
func (d *deployment) Recover(context.Context) error {
	d.publisher.SetDNSFault(0, false)
	err := d.setFaults(func(f *workload.Fault) { *f = workload.Fault{} })
	d.mu.Lock()
	for _, r := range d.active() {
		if health, ok := r.health.(*flapping); ok {
			health.flap(0)
		}
	}
	d.mu.Unlock()
	return errors.Join(netfault.StopDropping(d.spec.Name), err)
}

// setFaults changes the fault of every backend that is not stopping and can have one.
func (d *deployment) setFaults(change func(*workload.Fault)) error {
	d.mu.Lock()
	active := d.active()
	d.mu.Unlock()
	var errs []error
	for _, r := range active {
		if r.Controller != nil {
			errs = append(errs, r.SetFault(change))
		}
	}
	return errors.Join(errs...)
}

// needsFaultProxy is the error of a fault of a program without a fault proxy.
func (d *deployment) needsFaultProxy(fault string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.spec.Program == nil || d.spec.FaultProxy {
		return nil
	}
	return fmt.Errorf("%s %s: only rpclab's own server can do that without a fault proxy, and server.command is another program", fault, d.spec.Name)
}
