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

// reaper is the name of the Deployment that watches the lease of a run in the cluster.
const reaper = "reaper"

// reaperObjects are the objects that delete the namespace of a run whose owner died, also when
// rpclab never runs again: a pod that may read the lease and delete this one namespace.
func reaperObjects(scope objectScope) []object {
	chosen := map[string]string{labelService: reaper}
	one, history, grace := int32(1), int32(0), int64(1)
	program := scope.ownContainer(mainContainer, []string{"reap", "--namespace", scope.namespace})
	program.VolumeMounts = []corev1.VolumeMount{tmpMount} // no agent, so no token of agents
	pod := podSpec(scope, reaper, grace, program)
	pod.Volumes = []corev1.Volume{tmpVolume}
	return append(account(scope.meta(reaper, nil),
		rbacv1.PolicyRule{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, ResourceNames: []string{leaseName}, Verbs: []string{"get"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, ResourceNames: []string{scope.namespace}, Verbs: []string{"get", "delete"}},
	), &appsv1.Deployment{
		ObjectMeta: scope.meta(reaper, chosen),
		Spec: appsv1.DeploymentSpec{
			Replicas: &one, RevisionHistoryLimit: &history,
			Selector: &metav1.LabelSelector{MatchLabels: chosen},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: scope.meta("", chosen).Labels},
				Spec:       pod,
			},
		},
	})
}

// Reap waits until the owner of a namespace has not renewed its lease for the lease duration,
// deletes the namespace, and returns. It keeps a namespace that lists cordoned nodes or scaled Deployments:
// `rpclab clean` restores them. Reap fails when the context ends.
func (a *API) Reap(ctx context.Context, namespace string) error {
	var monitor leaseMonitor
	tick := time.NewTicker(renewal)
	defer tick.Stop()
	for {
		lease, err := a.client.CoordinationV1().Leases(namespace).Get(ctx, leaseName, metav1.GetOptions{})
		if (err == nil || apierrors.IsNotFound(err)) && monitor.dead(lease) {
			ns, err := a.client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
			if err == nil && ns.Annotations[noteCordoned] == "" && ns.Annotations[noteScaled] == "" {
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

// leaseMonitor counts checks, one each renewal period, and uses no clock: while the API server
// does not answer, an owner cannot renew its lease either.
type leaseMonitor struct {
	seen   string // the version of the lease
	silent time.Duration
}

// dead says after another check whether the owner has missed its lease duration. A lease that
// is gone counts as not renewed.
func (m *leaseMonitor) dead(lease *coordinationv1.Lease) bool {
	ttl := leaseDuration
	if seconds := lease.Spec.LeaseDurationSeconds; seconds != nil {
		ttl = time.Duration(*seconds) * time.Second
	}
	if lease.ResourceVersion != m.seen {
		m.seen, m.silent = lease.ResourceVersion, 0
		return false
	}
	m.silent += renewal
	return m.silent >= ttl
}
