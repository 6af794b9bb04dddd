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
	"k8s.io/apimachinery/pkg/types"
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

	object corev1.Namespace
	beat   string // the version of its lease
}

// Dead chooses the namespaces of runs whose owner died.
func Dead(l Left) bool { return l.Dead }

// Clean removes the namespaces of runs that are chosen, and returns them when they are
// gone.
func (a *API) Clean(ctx context.Context, choose func(Left) bool) ([]Left, error) {
	chosen, err := a.clear(ctx, choose)
	errs := []error{err}
	for _, left := range chosen {
		errs = append(errs, a.awaitRemoval(ctx, left.Namespace, func(string) {}))
	}
	return chosen, errors.Join(errs...)
}

// reap begins to remove the namespaces of runs whose owner died, and does not wait.
func (a *API) reap(ctx context.Context) error {
	_, err := a.clear(ctx, Dead)
	return err
}

// clear begins to remove the namespaces that are chosen, and returns those that will go.
func (a *API) clear(ctx context.Context, choose func(Left) bool) (going []Left, err error) {
	all, err := a.survey(ctx)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, left := range all {
		if !choose(left) {
			continue
		}
		if err := a.openFor(ctx, &left.object); err != nil { // only the namespace knows which nodes
			errs = append(errs, err)
			continue
		}
		if err := a.beginRemoval(ctx, left.Namespace, left.object.UID); err != nil {
			errs = append(errs, err)
			continue
		}
		going = append(going, left)
	}
	return going, errors.Join(errs...)
}

// survey is what runs left, and what belongs to those that go on. Clocks of two machines
// differ, so an owner is dead whose heartbeat is old by ours, and who does not beat either
// while we look.
func (a *API) survey(ctx context.Context) ([]Left, error) {
	list, err := a.client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{LabelSelector: mine("")})
	if err != nil {
		return nil, explain(err, "")
	}
	var all []Left
	suspects := false
	for _, ns := range list.Items {
		l := a.left(ctx, ns)
		all, suspects = append(all, l), suspects || l.Dead
	}
	if !suspects {
		return all, nil
	}
	select {
	case <-time.After(3 * heartbeat):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for i, l := range all {
		all[i].Dead = l.Dead && a.left(ctx, l.object).beat == l.beat
	}
	return all, nil
}

// left says whose a namespace is, and whether he seems dead. One whose lease cannot be read
// may live; one that is going has nothing left to be done for it.
func (a *API) left(ctx context.Context, ns corev1.Namespace) Left {
	l := Left{
		Namespace: ns.Name, Run: ns.Labels[labelRun], Owner: ns.Annotations[noteOwner], Began: ns.CreationTimestamp.Time, object: ns,
	}
	last := l.Began
	lease, err := a.client.CoordinationV1().Leases(ns.Name).Get(ctx, leaseName, metav1.GetOptions{})
	switch {
	case err == nil && lease.Spec.RenewTime != nil:
		last, l.beat = lease.Spec.RenewTime.Time, lease.ResourceVersion
	case err != nil && !apierrors.IsNotFound(err):
		return l
	}
	ttl, err := time.ParseDuration(ns.Annotations[noteLifetime])
	if err != nil {
		ttl = lifetime
	}
	l.Dead = ns.DeletionTimestamp == nil && time.Since(last) > ttl
	return l
}

// openFor lets pods on the nodes again that a run had closed.
func (a *API) openFor(ctx context.Context, ns *corev1.Namespace) error {
	var errs []error
	for node := range strings.SplitSeq(ns.Annotations[noteCordoned], ",") {
		if node != "" {
			errs = append(errs, a.open(ctx, node))
		}
	}
	return errors.Join(errs...)
}

// removeNamespace removes a namespace and returns when it is gone, also when the run was
// interrupted.
func (a *API) removeNamespace(name string, progress func(string)) error {
	ctx, cancel := context.WithTimeout(context.Background(), removal)
	defer cancel()
	if err := a.beginRemoval(ctx, name, ""); err != nil {
		return err
	}
	return a.awaitRemoval(ctx, name, progress)
}

// beginRemoval asks for a namespace to go, with its pods at once: nobody waits for their
// answers. With a uid it is that one, and no other that got its name meanwhile.
func (a *API) beginRemoval(ctx context.Context, name string, uid types.UID) error {
	var options metav1.DeleteOptions
	if uid != "" {
		options.Preconditions = &metav1.Preconditions{UID: &uid}
	}
	err := a.client.CoreV1().Namespaces().Delete(ctx, name, options)
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
