package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"

	"rpclab/internal/workload"
)

// ErrCannot says that something can be done on one machine only.
var ErrCannot = errors.New("a Kubernetes cannot be asked for that")

// Slow makes the n oldest ready backends slower. To end it, all backends are told.
func (d *deployment) Slow(_ context.Context, n int, by time.Duration, times float64) ([]string, error) {
	slow := func(a *workload.Ailment) { a.Slow, a.Times = by, times }
	if by == 0 && times == 0 {
		return nil, d.all(slow)
	}
	return d.each(n, func(r *replica) error { return r.ail(slow) })
}

// Fail makes the n oldest ready backends answer every call with a code.
func (d *deployment) Fail(_ context.Context, n int, name string) ([]string, error) {
	var code codes.Code
	if err := code.UnmarshalJSON([]byte(strconv.Quote(name))); err != nil || code == codes.OK {
		return nil, fmt.Errorf("fail with %q: no code of an error; there are UNAVAILABLE, INTERNAL, RESOURCE_EXHAUSTED, …", name)
	}
	return d.each(n, func(r *replica) error { return r.ail(func(a *workload.Ailment) { a.Code = code }) })
}

// Flap turns the health of the n oldest ready backends to and fro; their readiness probe
// sees it.
func (d *deployment) Flap(_ context.Context, n int, every time.Duration) ([]string, error) {
	return d.each(n, func(r *replica) error { return r.ail(func(a *workload.Ailment) { a.Flap = every }) })
}

// Cut is refused: packets are the nodes' own.
func (d *deployment) Cut(context.Context, int, bool) ([]string, error) {
	return nil, fmt.Errorf("cut: %w", ErrCannot)
}

// MisleadDNS is refused: the name server serves others too.
func (d *deployment) MisleadDNS(time.Duration, bool) error { return fmt.Errorf("dns: %w", ErrCannot) }

// Recover ends everything that ails backends.
func (d *deployment) Recover(context.Context) error {
	return d.all(func(a *workload.Ailment) { *a = workload.Ailment{} })
}

// all changes what ails every backend that was not told to go.
func (d *deployment) all(change func(*workload.Ailment)) error {
	return together(d.active(), func(r *replica) error { return r.ail(change) })
}

// ail changes what is wrong with the backend; one that has not begun is well.
func (r *replica) ail(change func(*workload.Ailment)) error {
	r.mu.Lock()
	told := r.orders
	r.mu.Unlock()
	if told == nil {
		return nil
	}
	return told.Ail(change)
}
