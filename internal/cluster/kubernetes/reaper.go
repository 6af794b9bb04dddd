package kubernetes

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// reaper is the name of what watches the lease of a run from within the cluster.
const reaper = "reaper"

// reaping are the objects that remove the namespace of a run whose owner died, also when
// nobody ever comes back: a pod that may look at the run's lease and delete this one
// namespace.
func reaping(p place) []object {
	chosen := map[string]string{labelService: reaper}
	one, history, grace := int32(1), int32(0), int64(1)
	program := container(mainContainer, p.image, []string{"reap", "--namespace", p.namespace})
	return append(account(p.meta(reaper, nil),
		rbacv1.PolicyRule{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, ResourceNames: []string{leaseName}, Verbs: []string{"get"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, ResourceNames: []string{p.namespace}, Verbs: []string{"get", "delete"}},
	), &appsv1.Deployment{
		ObjectMeta: p.meta(reaper, chosen),
		Spec: appsv1.DeploymentSpec{
			Replicas: &one, RevisionHistoryLimit: &history,
			Selector: &metav1.LabelSelector{MatchLabels: chosen},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: p.meta("", chosen).Labels},
				Spec:       podSpec(reaper, grace, program),
			},
		},
	})
}

// Reap waits until the owner of a namespace has not renewed its lease for as long as the
// lease says, deletes the namespace, and returns. A namespace that knows of nodes that the
// run closed stays, for it alone knows which: `rpclab clean` opens them. Reap fails when the
// context ends.
func (a *API) Reap(ctx context.Context, namespace string) error {
	var v vigil
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for {
		lease, err := a.client.CoordinationV1().Leases(namespace).Get(ctx, leaseName, metav1.GetOptions{})
		if (err == nil || apierrors.IsNotFound(err)) && v.dead(lease) {
			ns, err := a.client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
			if err == nil && ns.Annotations[noteCordoned] == "" {
				err = a.client.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{})
			}
			if err == nil {
				return nil
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("watch the lease of %s: %w", namespace, ctx.Err())
		}
	}
}

// vigil counts looks, one each heartbeat, and trusts no clock: while the API server does
// not answer, an owner cannot renew anything either.
type vigil struct {
	seen   string // the version of the lease
	silent time.Duration
}

// dead says after another look whether the owner has been silent for the time of his lease;
// a lease that is gone is as one not renewed.
func (v *vigil) dead(lease *coordinationv1.Lease) bool {
	ttl := lifetime
	if s := lease.Spec.LeaseDurationSeconds; s != nil {
		ttl = time.Duration(*s) * time.Second
	}
	if lease.ResourceVersion != v.seen {
		v.seen, v.silent = lease.ResourceVersion, 0
		return false
	}
	v.silent += heartbeat
	return v.silent >= ttl
}
