package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// scales are the Deployments of the user that the run has scaled. They are written to the namespace first, so that
// `rpclab clean` can restore them when the run is killed.
type scales struct {
	api       *API
	namespace string
	note      func(string) // receives what the user should know

	mu  sync.Mutex
	all map[string]scaled // by NAMESPACE/NAME
}

// scaled is the number of replicas that a Deployment had before the run scaled it, and those that the run has set since.
type scaled struct {
	Before int32   `json:"before"`
	Set    []int32 `json:"set"`
}

// remember stores the number of replicas of a Deployment, unless it is stored already, and the number that the run sets.
// Another run may not have scaled it.
func (s *scales) remember(ctx context.Context, d *appsv1.Deployment, replicas int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	title := d.Namespace + "/" + d.Name
	one, known := s.all[title]
	if !known {
		if err := s.api.checkScaled(ctx, d, s.namespace); err != nil {
			return err
		}
		one.Before = replicasOf(d)
	}
	if slices.Contains(one.Set, int32(replicas)) {
		return nil
	}
	one.Set = append(slices.Clone(one.Set), int32(replicas))
	all := map[string]scaled{}
	maps.Copy(all, s.all)
	all[title] = one
	if err := s.write(ctx, all); err != nil {
		return err
	}
	s.all = all
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
		all := map[string]scaled{}
		if ns.Name == own || ns.DeletionTimestamp != nil || json.Unmarshal([]byte(ns.Annotations[noteScaled]), &all) != nil {
			continue
		}
		if one, known := all[title]; known {
			return fmt.Errorf("the run in the namespace %s has scaled the Deployment %s, which had %d replicas: wait for its end, or restore it with `rpclab clean` if it was killed",
				ns.Name, title, one.Before)
		}
	}
	return nil
}

// undo restores all numbers and forgets them. It says what it restored, and what it left.
func (s *scales) undo(ctx context.Context) (restored []string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, undoTimeout)
	defer cancel()
	restored, left, remaining, err := s.api.restore(ctx, s.all)
	for _, text := range left {
		s.note(text)
	}
	s.all = remaining
	return append(restored, left...), errors.Join(err, ignoreNotFound(s.write(ctx, remaining)))
}

// any says whether a number is not restored.
func (s *scales) any() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all) > 0
}

// write stores the numbers as an annotation of the namespace.
func (s *scales) write(ctx context.Context, all map[string]scaled) error {
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
	listed := scales{api: a, namespace: namespace.Name, note: func(string) {}}
	if text := namespace.Annotations[noteScaled]; text != "" {
		if err := json.Unmarshal([]byte(text), &listed.all); err != nil {
			return nil, fmt.Errorf("namespace %s: annotation %s: %w", namespace.Name, noteScaled, err)
		}
	}
	return listed.undo(ctx)
}

// restore sets the numbers of replicas of Deployments, and returns those that remain to be restored. restored says which
// have their number again. left says which do not: they no longer exist, or have a number that rpclab did not set.
func (a *API) restore(ctx context.Context, all map[string]scaled) (restored, left []string, remaining map[string]scaled, err error) {
	remaining = map[string]scaled{}
	for _, title := range slices.Sorted(maps.Keys(all)) {
		namespace, name, _ := strings.Cut(title, "/")
		one := all[title]
		switch ours, failed := a.restoreReplicas(ctx, namespace, name, one); {
		case apierrors.IsNotFound(failed):
			left = append(left, fmt.Sprintf("Deployment %s: not restored, because it no longer exists (it had %d replicas)", title, one.Before))
		case failed != nil:
			remaining[title] = one
			err = errors.Join(err, fmt.Errorf("the Deployment %s does not have its %d replicas again: %w\nRestore it with `kubectl scale deployment/%s -n %s --replicas=%d`",
				title, one.Before, failed, name, namespace, one.Before))
		case ours:
			restored = append(restored, fmt.Sprintf("Deployment %s: %d replicas again", title, one.Before))
		default:
			left = append(left, fmt.Sprintf("Deployment %s: left as it is, because someone has scaled it since (it had %d replicas)", title, one.Before))
		}
	}
	return restored, left, remaining, err
}

// restoreReplicas sets the number that a Deployment had; false: it has another number, which the run did not set. Another
// clean-up may have set it already. The API server compares the numbers, so that no other change comes between.
func (a *API) restoreReplicas(ctx context.Context, namespace, name string, one scaled) (ours bool, err error) {
	for _, set := range slices.Backward(append([]int32{one.Before}, one.Set...)) {
		has := strconv.Itoa(int(set))
		if set == 0 {
			has = "null" // a Scale leaves 0 out
		}
		body := fmt.Appendf(nil, `[{"op":"test","path":"/spec/replicas","value":%s},{"op":"add","path":"/spec/replicas","value":%d}]`, has, one.Before)
		_, err := a.client.AppsV1().Deployments(namespace).Patch(ctx, name, types.JSONPatchType, body, metav1.PatchOptions{FieldManager: manager}, "scale")
		if !apierrors.IsInvalid(err) { // else it has another number
			return true, explain(err, namespace)
		}
	}
	return false, nil
}
