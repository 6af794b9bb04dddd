package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"rpclab/internal/cluster"
)

// Disruption is what a run may do, with the user's permission, to a Service that it did not start.
type Disruption struct {
	Service string   // NAMESPACE/NAME
	Actions []string // kill, roll or scale
	Events  string   // as the user reads them: kill 1, scale 5
}

// The pods of a Deployment may take as long without progress as it says (progressDeadlineSeconds), within these bounds, until
// they are as before a run.
const (
	leastPatience = 2 * time.Minute
	mostPatience  = 10 * time.Minute
)

// prepare checks the permissions for a disruption, and says which objects it changes and how.
func (d Disruption) prepare(ctx context.Context, a *API) (string, error) {
	service, err := a.findService(ctx, d.Service)
	if err != nil {
		return "", err
	}
	var missing []string
	for action, needed := range map[string][][2]string{
		"kill":  {{"pods", "delete"}},
		"roll":  {{"deployments", "patch"}},
		"scale": {{"deployments/scale", "patch"}, {"horizontalpodautoscalers", "list"}},
		"":      {{"pods", "list"}, {"deployments", "list"}, {"deployments", "get"}},
	} {
		if action != "" && !slices.Contains(d.Actions, action) {
			continue
		}
		for _, permission := range needed {
			group := map[string]string{"deployments": "apps", "deployments/scale": "apps", "horizontalpodautoscalers": "autoscaling"}[permission[0]]
			able, err := a.may(ctx, service.Namespace, group, permission[0], permission[1])
			if err != nil {
				return "", fmt.Errorf("check permissions: %w", err)
			}
			if !able {
				missing = append(missing, permission[1]+" "+permission[0])
			}
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return "", fmt.Errorf("--allow-disruption: this user may not %s in the namespace %s, which the events on %s need: ask its administrator, or remove the events",
			strings.Join(slices.Compact(missing), ", "), service.Namespace, d.Service)
	}
	owner, err := a.deploymentOf(ctx, service)
	if err != nil {
		return "", err
	}
	if slices.Contains(d.Actions, "roll") && owner.Spec.Paused {
		return "", fmt.Errorf("--allow-disruption: the Deployment %[1]s/%[2]s is paused, so it would not roll: `kubectl rollout resume deployment/%[2]s -n %[1]s`, or remove the event roll",
			owner.Namespace, owner.Name)
	}
	if slices.Contains(d.Actions, "scale") {
		if err := a.checkAutoscalers(ctx, owner); err != nil {
			return "", fmt.Errorf("--allow-disruption: %w", err)
		}
		if err := a.checkScaled(ctx, owner, ""); err != nil {
			return "", fmt.Errorf("--allow-disruption: %w", err)
		}
	}
	return fmt.Sprintf("--allow-disruption: this run changes the Deployment %s/%s and its pods, which serve %s: %s. Afterwards it sets its replicas to %d again.",
		owner.Namespace, owner.Name, d.Service, d.Events, replicasOf(owner)), nil
}

// checkAutoscalers returns an error if an autoscaler sets the replicas of a Deployment: it would undo scale events, and
// the number to which the run returns would not be its number.
func (a *API) checkAutoscalers(ctx context.Context, d *appsv1.Deployment) error {
	found, err := a.client.AutoscalingV2().HorizontalPodAutoscalers(d.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return explain(err, d.Namespace)
	}
	for _, autoscaler := range found.Items {
		if target := autoscaler.Spec.ScaleTargetRef; target.Kind == "Deployment" && target.Name == d.Name {
			return fmt.Errorf("the HorizontalPodAutoscaler %[1]s/%[2]s sets the replicas of the Deployment %[1]s/%[3]s, so it would undo the events scale: "+
				"delete it for the time of the run (`kubectl delete hpa %[2]s -n %[1]s`), remove these events, or set server.deployment: %[1]s/%[3]s to scale copies of its pods",
				d.Namespace, autoscaler.Name, d.Name)
		}
	}
	return nil
}

// disturbed is an existing Service that events may disturb.
type disturbed struct {
	*existing

	mu   sync.Mutex
	name string // of the Deployment that an event has changed; empty: none
}

// Scale sets the number of the Deployment's pods, after it has stored the number to which the run returns.
func (d *disturbed) Scale(ctx context.Context, replicas int) ([]string, error) {
	owner, err := d.disturb(ctx)
	if err != nil {
		return nil, err
	}
	if err := d.run.api.checkAutoscalers(ctx, owner); err != nil {
		return nil, err
	}
	if err := d.run.scales.remember(ctx, owner, replicas); err != nil {
		return nil, err
	}
	if err := d.run.api.setReplicas(ctx, owner.Namespace, owner.Name, replicas); err != nil {
		return nil, fmt.Errorf("scale the Deployment %s/%s to %d: %w", owner.Namespace, owner.Name, replicas, err)
	}
	return nil, nil
}

// Kill deletes the n oldest ready pods of the Deployment without a grace period.
func (d *disturbed) Kill(ctx context.Context, n int) ([]string, error) {
	owner, err := d.disturb(ctx)
	if err != nil {
		return nil, err
	}
	oldest, err := d.readyPods(ctx, owner)
	if err != nil {
		return nil, err
	}
	if len(oldest) < n {
		return nil, fmt.Errorf("%d pods of the Deployment %s/%s are ready, %d are needed", len(oldest), owner.Namespace, owner.Name, n)
	}
	now := int64(0)
	var errs []error
	for _, pod := range oldest[:n] {
		err := d.run.api.client.CoreV1().Pods(d.origin.Namespace).Delete(ctx, pod, metav1.DeleteOptions{GracePeriodSeconds: &now})
		errs = append(errs, explain(ignoreNotFound(err), d.origin.Namespace))
	}
	return oldest[:n], errors.Join(errs...)
}

// Rollout restarts the Deployment, as `kubectl rollout restart` does.
func (d *disturbed) Rollout(ctx context.Context, next *cluster.Program) ([]string, error) {
	if next != nil {
		return d.AsItIs.Rollout(ctx, next)
	}
	owner, err := d.disturb(ctx)
	if err != nil {
		return nil, err
	}
	old, err := d.readyPods(ctx, owner)
	if err != nil {
		return nil, err
	}
	_, err = d.run.api.restart(ctx, owner.Namespace, owner.Name, nil)
	return old, err
}

// disturb returns the Deployment behind the Service, and remembers it.
func (d *disturbed) disturb(ctx context.Context) (*appsv1.Deployment, error) {
	owner, err := d.run.api.deploymentOf(ctx, d.origin)
	if err == nil {
		d.mu.Lock()
		d.name = owner.Name
		d.mu.Unlock()
	}
	return owner, err
}

// readyPods are the names of the ready pods of a Deployment that the Service selects, the oldest first.
func (d *disturbed) readyPods(ctx context.Context, owner *appsv1.Deployment) (names []string, err error) {
	selector, err := metav1.LabelSelectorAsSelector(owner.Spec.Selector)
	if err != nil {
		return nil, fmt.Errorf("the selector of the Deployment %s/%s: %w", owner.Namespace, owner.Name, err)
	}
	found, err := d.run.api.client.CoreV1().Pods(owner.Namespace).List(ctx, metav1.ListOptions{LabelSelector: labels.SelectorFromSet(d.origin.Spec.Selector).String()})
	if err != nil {
		return nil, explain(err, owner.Namespace)
	}
	pods := slices.DeleteFunc(found.Items, func(pod corev1.Pod) bool {
		return !ready(&pod) || !selector.Matches(labels.Set(pod.Labels)) || !owns(owner, &pod)
	})
	slices.SortStableFunc(pods, func(x, y corev1.Pod) int { return x.CreationTimestamp.Compare(y.CreationTimestamp.Time) })
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	return names, nil
}

// owns says whether a Deployment made a pod. Labels do not tell: pods of other owners may have the same.
func owns(d *appsv1.Deployment, pod *corev1.Pod) bool {
	by := metav1.GetControllerOf(pod)
	return by != nil && by.Kind == "ReplicaSet" && by.Name == d.Name+"-"+pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
}

// Remove restores what events have changed, and removes the copies.
func (d *disturbed) Remove() error {
	_, err := d.run.scales.undo(context.Background())
	return errors.Join(err, d.awaitSteady(), d.existing.Remove())
}

// awaitSteady returns when the pods of a disturbed Deployment are all there and ready.
func (d *disturbed) awaitSteady() error {
	d.mu.Lock()
	name := d.name
	d.mu.Unlock()
	if name == "" {
		return nil
	}
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	waits := rolloutWait{since: time.Now(), patience: leastPatience}
	for {
		ctx, cancel := context.WithTimeout(context.Background(), leastPatience)
		now, err := d.run.api.client.AppsV1().Deployments(d.origin.Namespace).Get(ctx, name, metav1.GetOptions{})
		cancel()
		if err == nil {
			wanted, s := replicasOf(now), now.Status
			if s.ObservedGeneration >= now.Generation && s.Replicas == wanted && s.UpdatedReplicas == wanted && s.ReadyReplicas == wanted {
				return nil
			}
			waits.saw(now, time.Now())
		} else if apierrors.IsNotFound(err) {
			return fmt.Errorf("the Deployment %s/%s no longer exists", d.origin.Namespace, name)
		}
		if waits.over(time.Now()) {
			return fmt.Errorf("the Deployment %s/%s has made no progress for %s: see `kubectl rollout status deployment/%s -n %s`", d.origin.Namespace, name, waits.patience, name, d.origin.Namespace)
		}
		d.run.progress(fmt.Sprintf("waiting until the Deployment %s/%s is as before", d.origin.Namespace, name))
		<-tick.C
	}
}

// rolloutWait is the wait for the pods of a Deployment.
type rolloutWait struct {
	seen     [4]int32 // counts of its pods
	since    time.Time
	patience time.Duration // without progress
}

// saw notes progress.
func (w *rolloutWait) saw(d *appsv1.Deployment, at time.Time) {
	if s := d.Spec.ProgressDeadlineSeconds; s != nil {
		w.patience = min(max(time.Duration(*s)*time.Second, leastPatience), mostPatience)
	}
	if seen := [4]int32{d.Status.Replicas, d.Status.UpdatedReplicas, d.Status.ReadyReplicas, d.Status.AvailableReplicas}; seen != w.seen {
		w.seen, w.since = seen, at
	}
}

func (w *rolloutWait) over(at time.Time) bool { return at.Sub(w.since) > w.patience }
