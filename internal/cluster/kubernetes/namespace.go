package kubernetes

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/user"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// prefix is what every namespace of a run begins with.
	prefix = "rpclab-"
	// lifetime is how long a run counts as alive after its last heartbeat. It is long
	// against the clocks of two machines that are not quite alike.
	lifetime = time.Minute
	// heartbeat is the time between two.
	heartbeat = 5 * time.Second

	labelManager = "app.kubernetes.io/managed-by"
	labelRun     = "rpclab/run"
	noteOwner    = "rpclab/owner" // who runs it, and where
	noteLifetime = "rpclab/ttl"   // after the last heartbeat, of the Lease owner
	noteCordoned = "rpclab/cordoned"
	leaseName    = "owner"
)

// marks are the labels on every object.
func marks(run string) map[string]string {
	return map[string]string{labelManager: manager, labelRun: run}
}

// mine selects what a run made; every run's, if it is empty.
func mine(run string) string {
	if run == "" {
		return labelManager + "=" + manager + "," + labelRun
	}
	return labelManager + "=" + manager + "," + labelRun + "=" + run
}

// namespaceObject admits only pods that obey the restricted standard of pod security.
func namespaceObject(name, run string) *corev1.Namespace {
	l := marks(run)
	for _, mode := range []string{"enforce", "warn"} {
		l["pod-security.kubernetes.io/"+mode] = "restricted"
	}
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: l, Annotations: map[string]string{noteOwner: owner(), noteLifetime: lifetime.String()},
	}}
}

func leaseObject(namespace, run string) *coordinationv1.Lease {
	holder, seconds, now := owner(), int32(lifetime/time.Second), metav1.NowMicro()
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: leaseName, Namespace: namespace, Labels: marks(run)},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &now},
	}
}

// owner is this process, for people: ann@desk/4711.
func owner() string {
	name, host := "?", "?"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	return fmt.Sprintf("%s@%s/%d", name, host, os.Getpid())
}

// keepAlive renews the lease until the cluster is closed. One beat that is lost is no
// matter; whoever comes later waits for many.
func (c *Cluster) keepAlive() {
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			ctx, cancel := context.WithTimeout(c.ctx, heartbeat)
			_ = c.api.apply(ctx, leaseObject(c.namespace, c.ID))
			cancel()
		case <-c.ctx.Done():
			return
		}
	}
}

// newToken is what agents of the run ask for.
func newToken() string { return rand.Text() }
