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
	// glance is the time between two questions to a kubelet, and glances how long all of
	// them may take: kubelets look at containers every 10 to 15 s.
	glance  = time.Second
	glances = 45 * time.Second
)

// sample is what a container used in its life, by a kubelet's last look at it.
type sample struct {
	looked time.Time // by the node's clock
	used   cluster.Usage
}

// samples are those of containers, by pod.
type samples map[string]sample

// Used is what the containers of this name in the pods of a namespace used in their lives,
// by pod, as the kubelets of these nodes see it: CPU time, and the resident memory of the
// moment. Each is of a look that was taken after the question, so it takes some 10 s. It
// needs leave to get nodes/proxy.
func (a *API) Used(ctx context.Context, namespace, container string, nodes []string) (map[string]cluster.Usage, error) {
	ctx, cancel := context.WithTimeout(ctx, glances)
	defer cancel()
	old := samples{}
	tick := time.NewTicker(glance)
	defer tick.Stop()
	for {
		now, err := a.look(ctx, namespace, container, nodes)
		if err != nil {
			return nil, err
		}
		used, fresh := map[string]cluster.Usage{}, true
		for pod, s := range now {
			first, known := old[pod]
			if !known {
				first, old[pod] = s, s
			}
			// The same clock told both, so it may be wrong.
			fresh = fresh && !s.looked.Equal(first.looked)
			used[pod] = s.used
		}
		if fresh {
			return used, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("the kubelets of %v did not look at containers %s again: %w", nodes, container, ctx.Err())
		}
	}
}

// look asks the kubelets of nodes for their last looks.
func (a *API) look(ctx context.Context, namespace, container string, nodes []string) (samples, error) {
	found := make([]samples, len(nodes))
	each, ctx := errgroup.WithContext(ctx)
	for i, node := range nodes {
		each.Go(func() error {
			answer := a.client.CoreV1().RESTClient().Get().Resource("nodes").Name(node).SubResource("proxy").
				Suffix("stats/summary").Param("only_cpu_and_memory", "true").Do(ctx)
			if err := answer.Error(); err != nil { // with the reason, unlike that of Raw
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
		for _, c := range pod.Containers {
			if pod.PodRef.Namespace == namespace && c.Name == container && !c.CPU.Time.IsZero() {
				found[pod.PodRef.Name] = sample{c.CPU.Time, cluster.Usage{CPU: time.Duration(c.CPU.UsageCoreNanoSeconds), MaxRSS: c.Memory.RSSBytes}}
			}
		}
	}
	return found, nil
}

// Proxies is what the proxies that a mesh put into pods of the run used in their lives, by
// pod.
func (c *Cluster) Proxies(ctx context.Context, mesh string) (map[string]cluster.Usage, error) {
	nodes := map[string]bool{}
	for _, pod := range c.look.all() {
		if pod.Spec.NodeName != "" && proxyOf(pod, mesh) != nil {
			nodes[pod.Spec.NodeName] = true
		}
	}
	return c.api.Used(ctx, c.namespace, meshes[mesh].proxy, slices.Sorted(maps.Keys(nodes)))
}
