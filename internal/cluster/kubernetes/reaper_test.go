package kubernetes

import (
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
)

// lease is a lease of 10 s with a resource version.
func lease(version string) *coordinationv1.Lease {
	held := leaseObject(testScope)
	*held.Spec.LeaseDurationSeconds = 10
	held.ResourceVersion = version
	return held
}

func TestOwnerThatDoesNotRenewItsLeaseIsDead(t *testing.T) {
	var monitor leaseMonitor
	for i, check := range []struct { // every 5 s
		lease *coordinationv1.Lease
		dead  bool
	}{
		{lease("1"), false},
		{lease("1"), false},
		{lease("2"), false}, // renewed
		{lease("2"), false},
		{lease("2"), true}, // not renewed for 10 s
		{lease("3"), false},
	} {
		if dead := monitor.dead(check.lease); dead != check.dead {
			t.Errorf("check %d: the owner is dead: %t, want %t", i, dead, check.dead)
		}
	}
}

func TestOwnerWithoutALeaseIsDead(t *testing.T) {
	var monitor leaseMonitor
	monitor.dead(lease("1"))
	for range int(leaseDuration / renewal) {
		if monitor.dead(&coordinationv1.Lease{}) {
			t.Fatal("the owner is dead before the duration of a lease has passed")
		}
	}
	if !monitor.dead(&coordinationv1.Lease{}) {
		t.Error("the owner is alive, want dead")
	}
}
