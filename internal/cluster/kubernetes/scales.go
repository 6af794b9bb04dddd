package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// scales are the numbers of replicas that Deployments of the user had before the run scaled them. They are written to
// the namespace first, so that `rpclab clean` can restore them when the run is killed.
type scales struct {
	api       *API
	namespace string

	mu     sync.Mutex
	before map[string]int32 // by NAMESPACE/NAME
}

// remember stores the number of replicas of a Deployment, unless it is stored already. Another run may not have scaled it.
func (s *scales) remember(ctx context.Context, d *appsv1.Deployment) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	title := d.Namespace + "/" + d.Name
	if _, known := s.before[title]; known {
		return nil
	}
	if err := s.api.checkScaled(ctx, d, s.namespace); err != nil {
		return err
	}
	all := map[string]int32{title: replicasOf(d)}
	maps.Copy(all, s.before)
	if err := s.write(ctx, all); err != nil {
		return err
	}
	s.before = all
	return nil
}

// checkScaled returns an error if a run in a namespace other than own has scaled a Deployment: its number of replicas is
// then not the user's. A namespace is deleted after what its run scaled is restored.
func (a *API) checkScaled(ctx context.Context, d *appsv1.Deployment, own string) error {
	runs, err := a.client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{LabelSelector: selectRuns})
	if err != nil {
		return explain(err, "")
	}
	title := d.Namespace + "/" + d.Name
	for _, ns := range runs.Items {
		before := map[string]int32{}
		if ns.Name == own || ns.DeletionTimestamp != nil || json.Unmarshal([]byte(ns.Annotations[noteScaled]), &before) != nil {
			continue
		}
		if replicas, scaled := before[title]; scaled {
			return fmt.Errorf("the run in the namespace %s has scaled the Deployment %s, which had %d replicas: wait for its end, or restore it with `rpclab clean` if it was killed",
				ns.Name, title, replicas)
		}
	}
	return nil
}

// undo restores all numbers and forgets them. It says what it restored.
func (s *scales) undo(ctx context.Context) (restored []string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.before) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, undoTimeout)
	defer cancel()
	remaining, err := s.api.restore(ctx, s.before)
	for _, title := range slices.Sorted(maps.Keys(s.before)) {
		if _, failed := remaining[title]; !failed {
			restored = append(restored, fmt.Sprintf("Deployment %s: %d replicas again", title, s.before[title]))
		}
	}
	s.before = remaining
	return restored, errors.Join(err, ignoreNotFound(s.write(ctx, remaining)))
}

// any says whether a number is not restored.
func (s *scales) any() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.before) > 0
}

// write stores the numbers as an annotation of the namespace.
func (s *scales) write(ctx context.Context, all map[string]int32) error {
	text := []byte{}
	if len(all) > 0 {
		var err error
		if text, err = json.Marshal(all); err != nil {
			return err
		}
	}
	return s.api.annotate(ctx, s.namespace, noteScaled, string(text))
}

// restoreAll restores the numbers of replicas that a run has written to its namespace, and says what it restored.
func (a *API) restoreAll(ctx context.Context, namespace *corev1.Namespace) (restored []string, err error) {
	listed := scales{api: a, namespace: namespace.Name}
	if text := namespace.Annotations[noteScaled]; text != "" {
		if err := json.Unmarshal([]byte(text), &listed.before); err != nil {
			return nil, fmt.Errorf("namespace %s: annotation %s: %w", namespace.Name, noteScaled, err)
		}
	}
	return listed.undo(ctx)
}

// restore scales Deployments, if they still exist, and returns those that remain as they are.
func (a *API) restore(ctx context.Context, before map[string]int32) (remaining map[string]int32, err error) {
	remaining = map[string]int32{}
	for title, replicas := range before {
		namespace, name, _ := strings.Cut(title, "/")
		if failed := ignoreNotFound(a.setReplicas(ctx, namespace, name, int(replicas))); failed != nil {
			remaining[title] = replicas
			err = errors.Join(err, fmt.Errorf("the Deployment %s does not have its %d replicas again: %w\nRestore it with `kubectl scale deployment/%s -n %s --replicas=%d`",
				title, replicas, failed, name, namespace, replicas))
		}
	}
	return remaining, err
}
