package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"rpclab/internal/cluster"
)

const (
	// summaryPause is the time between two requests to a kubelet, and summaryTimeout how long
	// all may take: kubelets measure containers every 10 to 15 s.
	summaryPause   = time.Second
	summaryTimeout = 45 * time.Second
)

// sample is what a container has used since it started, as last measured by a kubelet.
type sample struct {
	at   time.Time // by the node's clock
	used cluster.Usage
}

// samples are samples by pod.
type samples map[string]sample

// ContainerUsage is what the containers of a name in the pods of a namespace have used since
// they started, by pod: CPU time, and the present resident memory. Each sample is newer than
// the request, which takes some 10 s. running returns the nodes of the pods whose container runs now, by pod: ContainerUsage
// waits for a sample of each that keeps running. It needs permission to get nodes/proxy.
func (a *API) ContainerUsage(ctx context.Context, namespace, container string, running func() map[string]string) (map[string]cluster.Usage, error) {
	ctx, cancel := context.WithTimeout(ctx, summaryTimeout)
	defer cancel()
	expected := running()
	nodes := slices.Compact(slices.Sorted(maps.Values(expected)))
	old := samples{}
	tick := time.NewTicker(summaryPause)
	defer tick.Stop()
	for {
		now, err := a.summaries(ctx, namespace, container, nodes)
		if err != nil {
			return nil, err
		}
		used, waiting := map[string]cluster.Usage{}, []string(nil)
		for pod, last := range now {
			first, known := old[pod]
			if !known {
				first, old[pod] = last, last
			}
			// Both are times of the same clock, which may be wrong.
			if last.at.Equal(first.at) {
				waiting = append(waiting, pod)
			}
			used[pod] = last.used
		}
		for pod := range running() {
			_, measured := now[pod]
			if _, was := expected[pod]; was && !measured {
				waiting = append(waiting, pod)
			}
		}
		if len(waiting) == 0 {
			return used, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("the kubelets of %v did not measure containers %s of %v again: %w", nodes, container, slices.Sorted(slices.Values(waiting)), ctx.Err())
		}
	}
}

// summaries reads the last samples of the kubelets of nodes.
func (a *API) summaries(ctx context.Context, namespace, container string, nodes []string) (samples, error) {
	found := make([]samples, len(nodes))
	each, ctx := errgroup.WithContext(ctx)
	for i, node := range nodes {
		each.Go(func() error {
			answer := a.client.CoreV1().RESTClient().Get().Resource("nodes").Name(node).SubResource("proxy").
				Suffix("stats/summary").Param("only_cpu_and_memory", "true").Do(ctx)
			if err := answer.Error(); err != nil { // has the reason, unlike the error of Raw
				return fmt.Errorf("ask the kubelet of node %s: %w", node, explain(err, ""))
			}
			text, err := answer.Raw()
			if err != nil {
				return err
			}
			found[i], err = readSummary(text, namespace, container)
			return err
		})
	}
	if err := each.Wait(); err != nil {
		return nil, err
	}
	all := samples{}
	for _, some := range found {
		maps.Copy(all, some)
	}
	return all, nil
}

// readSummary finds containers in a kubelet's summary
// (https://kubernetes.io/docs/reference/instrumentation/node-metrics/).
func readSummary(text []byte, namespace, container string) (samples, error) {
	var summary struct {
		Pods []struct {
			PodRef     struct{ Name, Namespace string }
			Containers []struct {
				Name string
				CPU  struct {
					Time                 time.Time
					UsageCoreNanoSeconds uint64
				}
				Memory struct{ RSSBytes uint64 }
			}
		}
	}
	if err := json.Unmarshal(text, &summary); err != nil {
		return nil, fmt.Errorf("read a kubelet's summary: %w", err)
	}
	found := samples{}
	for _, pod := range summary.Pods {
		for _, measured := range pod.Containers {
			if pod.PodRef.Namespace == namespace && measured.Name == container && !measured.CPU.Time.IsZero() {
				used := cluster.Usage{CPU: time.Duration(measured.CPU.UsageCoreNanoSeconds), MaxRSS: measured.Memory.RSSBytes}
				found[pod.PodRef.Name] = sample{measured.CPU.Time, used}
			}
		}
	}
	return found, nil
}
