package local

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"

	"rpclab/internal/cluster/cut"
	"rpclab/internal/workload"
)

// Slow makes the n oldest ready backends slower. To end it, all backends are told.
func (d *deployment) Slow(_ context.Context, n int, by time.Duration, times float64) ([]string, error) {
	slow := func(a *workload.Ailment) { a.Slow, a.Times = by, times }
	if by == 0 && times == 0 {
		return nil, d.all(func(r *replica) error { return r.Ail(slow) })
	}
	return d.each(n, func(r *replica) error { return r.Ail(slow) })
}

// Fail makes the n oldest ready backends answer every call with a code.
func (d *deployment) Fail(_ context.Context, n int, name string) ([]string, error) {
	var code codes.Code
	if err := code.UnmarshalJSON([]byte(strconv.Quote(name))); err != nil || code == codes.OK {
		return nil, fmt.Errorf("fail with %q: no code of an error; there are UNAVAILABLE, INTERNAL, RESOURCE_EXHAUSTED, …", name)
	}
	return d.each(n, func(r *replica) error {
		return r.Ail(func(a *workload.Ailment) { a.Code = code })
	})
}

// Flap turns the health of the n oldest ready backends to and fro; the probe sees it.
func (d *deployment) Flap(_ context.Context, n int, every time.Duration) ([]string, error) {
	return d.each(n, func(r *replica) error {
		return r.Ail(func(a *workload.Ailment) { a.Flap = every })
	})
}

// Cut cuts what is between callers and the n oldest ready backends.
func (d *deployment) Cut(_ context.Context, n int, reset bool) ([]string, error) {
	probe := d.cluster.places.prober()
	if !reset && !probe.IsValid() {
		return nil, errors.New("packets can vanish only where each backend has an address of its own: not on this system, which has one for all")
	}
	return d.each(n, func(r *replica) error {
		if reset {
			return cut.Reset(r.addr, probe)
		}
		return cut.Vanish(d.spec.Name, r.addr.Addr(), probe)
	})
}

// MisleadDNS makes the name server slow, or lie.
func (d *deployment) MisleadDNS(delay time.Duration, lie bool) error {
	d.publisher.Mislead(delay, lie)
	return nil
}

// Recover ends everything that ails backends, and what is cut.
func (d *deployment) Recover(context.Context) error {
	d.publisher.Mislead(0, false)
	well := d.all(func(r *replica) error { return r.Ail(func(a *workload.Ailment) { *a = workload.Ailment{} }) })
	return errors.Join(cut.Heal(d.spec.Name), well)
}

// all does something to every backend that was not told to go.
func (d *deployment) all(do func(*replica) error) error {
	d.mu.Lock()
	active := d.active()
	d.mu.Unlock()
	var errs []error
	for _, r := range active {
		errs = append(errs, do(r))
	}
	return errors.Join(errs...)
}
