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
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	// prefix of every namespace of a run.
	prefix = "rpclab-"
	// leaseDuration is how long a run counts as alive after its last renewal. It is long
	// compared with the difference between the clocks of two machines.
	leaseDuration = time.Minute
	// renewal is the time between two renewals.
	renewal = 5 * time.Second

	labelManager = "app.kubernetes.io/managed-by"
	labelRun     = "rpclab/run"
	noteOwner    = "rpclab/owner" // who runs it, and where
	noteTTL      = "rpclab/ttl"   // after the last renewal of the Lease owner
	noteCordoned = "rpclab/cordoned"
	leaseName    = "owner"
)

const (
	secretName     = "agents"  // has the token of the agents
	watcherAccount = "watcher" // the service account that may watch endpoints
	noPermissions  = "nothing" // the service account without permissions
	labelRole      = "rpclab/role"
	roleBackend    = "backend"
	roleCaller     = "caller"

	// servicePort is the port of every backend.
	servicePort = 50051
)

// runLabels are the labels on every object of a run.
func runLabels(run string) map[string]string {
	return map[string]string{labelManager: manager, labelRun: run}
}

// selectRun is the label selector of a run's objects; empty: of all runs.
func selectRun(run string) string {
	if run == "" {
		return labelManager + "=" + manager + "," + labelRun
	}
	return labelManager + "=" + manager + "," + labelRun + "=" + run
}

// namespaceObject enforces the restricted Pod Security Standard.
func namespaceObject(name, run string) *corev1.Namespace {
	l := runLabels(run)
	for _, mode := range []string{"enforce", "warn"} {
		l["pod-security.kubernetes.io/"+mode] = "restricted"
	}
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: l, Annotations: map[string]string{noteOwner: owner(), noteTTL: leaseDuration.String()},
	}}
}

func leaseObject(namespace, run string) *coordinationv1.Lease {
	holder, seconds, now := owner(), int32(leaseDuration/time.Second), metav1.NowMicro()
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: leaseName, Namespace: namespace, Labels: runLabels(run)},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &now},
	}
}

// owner identifies this process: ann@desk/4711.
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

// keepAlive renews the lease until the cluster is closed. A failed renewal does not matter:
// others wait for several.
func (c *Cluster) keepAlive() {
	tick := time.NewTicker(renewal)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			ctx, cancel := context.WithTimeout(c.ctx, renewal)
			_ = c.api.apply(ctx, leaseObject(c.namespace, c.ID))
			cancel()
		case <-c.ctx.Done():
			return
		}
	}
}

// newToken is a random token for the agents of the run.
func newToken() string { return rand.Text() }

// sharedObjects are the objects that every pod of the namespace needs.
func sharedObjects(namespace, run, token string) []object {
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: runLabels(run)}
	}
	watchSlices := rbacv1.PolicyRule{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: []string{"get", "list", "watch"}}
	return append(account(meta(watcherAccount), watchSlices),
		&corev1.Secret{ObjectMeta: meta(secretName), StringData: map[string]string{"token": token}},
		&corev1.ServiceAccount{ObjectMeta: meta(noPermissions), AutomountServiceAccountToken: new(bool)},
		within(meta("within")),
	)
}

// account is a service account with permissions in its namespace. Pods mount its token only
// if their spec says so.
func account(meta metav1.ObjectMeta, rules ...rbacv1.PolicyRule) []object {
	return []object{
		&corev1.ServiceAccount{ObjectMeta: meta, AutomountServiceAccountToken: new(bool)},
		&rbacv1.Role{ObjectMeta: meta, Rules: rules},
		&rbacv1.RoleBinding{ObjectMeta: meta,
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: meta.Name, Namespace: meta.Namespace}}},
	}
}

// within allows ingress only between pods of the namespace. rpclab reaches agents through the
// kubelet, which needs no rule.
func within(meta metav1.ObjectMeta) *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{ObjectMeta: meta, Spec: networkingv1.NetworkPolicySpec{
		PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
		Ingress:     []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}}},
	}}
}

// served allows calls from outside to the port of backends, by way of nodes, whose addresses
// are not known. The kubelet of a node may always reach its pods.
func served(meta metav1.ObjectMeta, chosen map[string]string) *networkingv1.NetworkPolicy {
	port, tcp := intstr.FromInt32(servicePort), corev1.ProtocolTCP
	return &networkingv1.NetworkPolicy{ObjectMeta: meta, Spec: networkingv1.NetworkPolicySpec{
		PodSelector: metav1.LabelSelector{MatchLabels: chosen},
		PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
		Ingress:     []networkingv1.NetworkPolicyIngressRule{{Ports: []networkingv1.NetworkPolicyPort{{Protocol: &tcp, Port: &port}}}},
	}}
}
