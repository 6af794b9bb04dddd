package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// deletionTimeout is how long the deletion of a namespace may take.
const deletionTimeout = 2 * time.Minute

// RunNamespace is the namespace of a run.
type RunNamespace struct {
	Namespace string
	Run       string
	Owner     string // who ran it, and where
	Began     time.Time
	Dead      bool // its owner no longer renews the lease
	Deleting  bool
	// Restored says what Clean restored of what the run had changed outside of its namespace.
	Restored []string
	Remains  bool // Clean could not restore all, or not delete the namespace

	object corev1.Namespace
	lease  string // its resource version
	unread error  // why the lease cannot be read, so that Dead is not known
}

// OwnerDead selects the namespaces of runs whose owner died.
func OwnerDead(ns RunNamespace) bool { return ns.Dead }

// Clean deletes the selected namespaces of runs, and returns them when they are gone. With an error, some remain. progress
// receives what it waits for.
func (a *API) Clean(ctx context.Context, selected func(RunNamespace) bool, progress func(string)) ([]RunNamespace, error) {
	cleaned, err := a.beginClean(ctx, selected)
	errs := make([]error, len(cleaned))
	var waits sync.WaitGroup
	for i, ns := range cleaned {
		if ns.Remains {
			continue
		}
		waits.Go(func() {
			errs[i] = a.awaitRemoval(ctx, ns.Namespace, progress)
			cleaned[i].Remains = errs[i] != nil
		})
	}
	waits.Wait()
	return cleaned, errors.Join(append(errs, err)...)
}

// beginClean restores what the runs of the selected namespaces have changed, and begins to delete these namespaces. A
// namespace remains while it lists something that could not be restored.
func (a *API) beginClean(ctx context.Context, selected func(RunNamespace) bool) (cleaned []RunNamespace, err error) {
	all, err := a.survey(ctx)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, found := range all {
		if !selected(found) {
			if found.Dead = true; found.unread != nil && selected(found) {
				errs = append(errs, fmt.Errorf("namespace %s remains, because rpclab cannot tell whether its run is alive: %w", found.Namespace, found.unread))
			}
			continue
		}
		nodes, uncordoned := a.uncordonAll(ctx, &found.object)
		scaled, restored := a.restoreAll(ctx, &found.object)
		found.Restored = append(nodes, scaled...)
		err := errors.Join(uncordoned, restored)
		if err == nil {
			err = a.beginRemoval(ctx, found.Namespace, found.object.UID)
		}
		found.Remains, errs = err != nil, append(errs, err)
		cleaned = append(cleaned, found)
	}
	return cleaned, errors.Join(errs...)
}

// survey lists the namespaces of runs. Clocks of two machines differ, so an owner counts as
// dead when its last renewal is old by our clock and it does not renew while we wait.
func (a *API) survey(ctx context.Context) ([]RunNamespace, error) {
	list, err := a.client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{LabelSelector: selectRuns})
	if err != nil {
		return nil, explain(err, "")
	}
	var all []RunNamespace
	suspects := false
	for _, ns := range list.Items {
		found := a.describe(ctx, ns)
		all, suspects = append(all, found), suspects || found.Dead
	}
	if !suspects {
		return all, nil
	}
	select {
	case <-time.After(3 * renewal):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for i, found := range all {
		all[i].Dead = found.Dead && a.describe(ctx, found.object).lease == found.lease
	}
	return all, nil
}

// describe describes a namespace. A run whose lease cannot be read may be alive. A namespace that
// is being deleted needs nothing more.
func (a *API) describe(ctx context.Context, ns corev1.Namespace) RunNamespace {
	found := RunNamespace{
		Namespace: ns.Name, Run: ns.Labels[labelRun], Owner: ns.Annotations[noteOwner], Began: ns.CreationTimestamp.Time, Deleting: ns.DeletionTimestamp != nil, object: ns,
	}
	renewed := found.Began
	lease, err := a.client.CoordinationV1().Leases(ns.Name).Get(ctx, leaseName, metav1.GetOptions{})
	switch {
	case err == nil && lease.Spec.RenewTime != nil:
		renewed, found.lease = lease.Spec.RenewTime.Time, lease.ResourceVersion
	case err != nil && !apierrors.IsNotFound(err):
		found.unread = explain(err, ns.Name)
		return found
	}
	ttl, err := time.ParseDuration(ns.Annotations[noteTTL])
	if err != nil {
		ttl = leaseDuration
	}
	found.Dead = !found.Deleting && time.Since(renewed) > ttl
	return found
}

// removeNamespace deletes a namespace and returns when it is gone, also when the run was
// interrupted.
func (a *API) removeNamespace(name string, progress func(string)) error {
	ctx, cancel := context.WithTimeout(context.Background(), deletionTimeout)
	defer cancel()
	if err := a.beginRemoval(ctx, name, ""); err != nil {
		return err
	}
	return a.awaitRemoval(ctx, name, progress)
}

// beginRemoval begins to delete a namespace, and its pods without their grace period. With a
// uid it deletes only that namespace, not a new one of the same name.
func (a *API) beginRemoval(ctx context.Context, name string, uid types.UID) error {
	var options metav1.DeleteOptions
	if uid != "" {
		options.Preconditions = &metav1.Preconditions{UID: &uid}
	}
	err := a.client.CoreV1().Namespaces().Delete(ctx, name, options)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil && !apierrors.IsConflict(err) { // it is being deleted already
		return fmt.Errorf("delete namespace %s: %w", name, explain(err, name))
	}
	grace := int64(1)
	_ = a.client.CoreV1().Pods(name).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &grace}, metav1.ListOptions{})
	return nil
}

// awaitRemoval returns when a namespace is gone.
func (a *API) awaitRemoval(ctx context.Context, name string, progress func(string)) error {
	ctx, cancel := context.WithTimeout(ctx, deletionTimeout)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		ns, err := a.client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err == nil {
			progress("deleting the namespace " + name + remains(ns))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return fmt.Errorf("wait until the namespace %s is deleted: %w", name, ctx.Err())
			}
			return fmt.Errorf("namespace %s still exists%s: see `kubectl get all -n %s`, or try `rpclab clean` again", name, remains(ns), name)
		}
	}
}

// remains is the cluster's message about what a namespace still has.
func remains(ns *corev1.Namespace) string {
	if ns == nil {
		return ""
	}
	i := slices.IndexFunc(ns.Status.Conditions, func(condition corev1.NamespaceCondition) bool {
		return condition.Type == corev1.NamespaceContentRemaining && condition.Status == corev1.ConditionTrue
	})
	if i < 0 {
		return ""
	}
	return ": " + ns.Status.Conditions[i].Message
}
