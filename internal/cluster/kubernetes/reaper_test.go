package kubernetes

import (
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
)

// lease is one of 10 s, as it was written for the nth time.
func lease(version string) *coordinationv1.Lease {
	l := leaseObject("rpclab-r1", "r1")
	*l.Spec.LeaseDurationSeconds = 10
	l.ResourceVersion = version
	return l
}

func TestAnOwnerIsDeadWhoWasSilentForTheTimeOfHisLease(t *testing.T) {
	var v leaseMonitor
	for i, look := range []struct {
		lease *coordinationv1.Lease
		dead  bool
	}{
		{lease("1"), false},
		{lease("1"), false}, // 5 s
		{lease("2"), false}, // he lives
		{lease("2"), false},
		{lease("2"), true}, // 10 s
		{lease("3"), false},
	} {
		if dead := v.dead(look.lease); dead != look.dead {
			t.Errorf("look %d: dead %t, want %t", i, dead, look.dead)
		}
	}
}

func TestAnOwnerIsDeadWhoseLeaseIsGone(t *testing.T) {
	var v leaseMonitor
	v.dead(lease("1"))
	for range int(leaseDuration / renewal) {
		if v.dead(&coordinationv1.Lease{}) {
			t.Fatal("he was given less than a lease's time")
		}
	}
	if !v.dead(&coordinationv1.Lease{}) {
		t.Error("he counts as alive")
	}
}
