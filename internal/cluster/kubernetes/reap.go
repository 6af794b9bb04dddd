package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// removal is how long a namespace may take to go.
const removal = 2 * time.Minute

// Left is the namespace of a run.
type Left struct {
	Namespace string
	Run       string
	Owner     string // who ran it, and where
	Began     time.Time
	Dead      bool // its owner's heartbeat has stopped
}

// Dead chooses the namespaces of runs whose owner died.
func Dead(l Left) bool { return l.Dead }

// Clean removes the namespaces of runs that are chosen, and returns them when they are
// gone.
func (a *API) Clean(ctx context.Context, choose func(Left) bool) ([]Left, error) {
	all, err := a.client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{LabelSelector: mine("")})
	if err != nil {
		return nil, explain(err, "")
	}
	var chosen []Left
	var errs []error
	for _, ns := range all.Items {
		left := a.left(ctx, ns)
		if !choose(left) {
			continue
		}
		chosen = append(chosen, left)
		a.uncordonFor(ctx, &ns)
		errs = append(errs, a.beginRemoval(ctx, ns.Name))
	}
	for _, left := range chosen {
		errs = append(errs, a.awaitRemoval(ctx, left.Namespace, func(string) {}))
	}
	return chosen, errors.Join(errs...)
}

// left says whose a namespace is, and whether he lives. One whose lease cannot be read is
// as old as itself.
func (a *API) left(ctx context.Context, ns corev1.Namespace) Left {
	l := Left{Namespace: ns.Name, Run: ns.Labels[labelRun], Owner: ns.Annotations[noteOwner], Began: ns.CreationTimestamp.Time}
	last := l.Began
	lease, err := a.client.CoordinationV1().Leases(ns.Name).Get(ctx, leaseName, metav1.GetOptions{})
	switch {
	case err == nil && lease.Spec.RenewTime != nil:
		last = lease.Spec.RenewTime.Time
	case err != nil && !apierrors.IsNotFound(err):
		return l // it may live
	}
	ttl, err := time.ParseDuration(ns.Annotations[noteLifetime])
	if err != nil {
		ttl = lifetime
	}
	l.Dead = time.Since(last) > ttl
	return l
}

// uncordonFor lets pods on the nodes again that a run had cordoned.
func (a *API) uncordonFor(ctx context.Context, ns *corev1.Namespace) {
	for node := range strings.SplitSeq(ns.Annotations[noteCordoned], ",") {
		if node != "" {
			_ = a.cordon(ctx, node, false) // the namespace goes all the same
		}
	}
}

// removeNamespace removes a namespace and returns when it is gone, also when the run was
// interrupted.
func (a *API) removeNamespace(name string, progress func(string)) error {
	ctx, cancel := context.WithTimeout(context.Background(), removal)
	defer cancel()
	if err := a.beginRemoval(ctx, name); err != nil {
		return err
	}
	return a.awaitRemoval(ctx, name, progress)
}

// beginRemoval asks for a namespace to go, with its pods at once: nobody waits for their
// answers.
func (a *API) beginRemoval(ctx context.Context, name string) error {
	err := a.client.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil && !apierrors.IsConflict(err) { // it is going already
		return fmt.Errorf("remove namespace %s: %w", name, explain(err, name))
	}
	soon := int64(1)
	_ = a.client.CoreV1().Pods(name).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &soon}, metav1.ListOptions{})
	return nil
}

func (a *API) awaitRemoval(ctx context.Context, name string, progress func(string)) error {
	ctx, cancel := context.WithTimeout(ctx, removal)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		ns, err := a.client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err == nil {
			progress("removing the namespace " + name + remains(ns))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("namespace %s is not gone%s: see `kubectl get all -n %s`, or try again by `rpclab clean`", name, remains(ns), name)
		}
	}
}

// remains says what of a namespace is still there, in the cluster's own words.
func remains(ns *corev1.Namespace) string {
	if ns == nil {
		return ""
	}
	at := slices.IndexFunc(ns.Status.Conditions, func(c corev1.NamespaceCondition) bool {
		return c.Type == corev1.NamespaceContentRemaining && c.Status == corev1.ConditionTrue
	})
	if at < 0 {
		return ""
	}
	return ": " + ns.Status.Conditions[at].Message
}
