package kubernetes

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// leaseDuration is how long a run counts as alive after its last renewal. It is long
	// compared with the difference between the clocks of two machines.
	leaseDuration = time.Minute
	// renewal is the time between two renewals.
	renewal = 5 * time.Second
)

// leaseObject is the lease of a run, renewed now.
func leaseObject(scope objectScope) *coordinationv1.Lease {
	holder, seconds, now := owner(), int32(leaseDuration/time.Second), metav1.NowMicro()
	return &coordinationv1.Lease{
		ObjectMeta: scope.meta(leaseName, nil),
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &now},
	}
}

// owner identifies this process: ann@desk/4711.
func owner() string {
	name, host := "?", "?"
	if current, err := user.Current(); err == nil {
		name = current.Username
	}
	if hostname, err := os.Hostname(); err == nil {
		host = hostname
	}
	return fmt.Sprintf("%s@%s/%d", name, host, os.Getpid())
}

// renewLease renews the lease of a run until the context ends. A failed renewal does not matter:
// a run counts as dead only after several.
func (a *API) renewLease(ctx context.Context, scope objectScope) {
	tick := time.NewTicker(renewal)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			limit, cancel := context.WithTimeout(ctx, renewal)
			_ = a.apply(limit, leaseObject(scope))
			cancel()
		case <-ctx.Done():
			return
		}
	}
}
