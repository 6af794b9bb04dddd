package lab

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/measure"
	"rpclab/internal/result"
)

// This file records, beside the calls of a load, what the cluster and the machine do.

// recordMeshUsage begins to measure what the proxies use that a mesh adds to pods; nil: the
// trial has none. The function returned says what they used since then, or why that is not
// known, which is no reason to lose the trial. Proxies of pods that have ended are left out.
func recordMeshUsage(ctx context.Context, c cluster.Cluster, mesh string) func() (cluster.Usage, string) {
	pods, able := c.(cluster.MeshProxies)
	if mesh == "" || !able {
		return nil
	}
	unknown := func(err error) (cluster.Usage, string) {
		return cluster.Usage{}, fmt.Sprintf("what the proxies of %s used is not known: %v", mesh, err)
	}
	before, err := pods.ProxyUsage(ctx, mesh)
	if err != nil {
		return func() (cluster.Usage, string) { return unknown(err) }
	}
	return func() (all cluster.Usage, _ string) {
		after, err := pods.ProxyUsage(ctx, mesh)
		if err != nil {
			return unknown(err)
		}
		for pod, u := range after {
			all.CPU += max(u.CPU-before[pod].CPU, 0) // one that was restarted counts from 0
			all.MaxRSS += max(u.MaxRSS, before[pod].MaxRSS)
		}
		return all, ""
	}
}

const (
	memoryInterval = time.Second // between two readings of the servers' memory, at least
	maxReadings    = 600         // that are kept of a trial; beyond them, every second one
)

// recordMemory reads the servers' memory from now on. The function returned ends that and
// says what was read; nil: the cluster cannot say.
func recordMemory(servers cluster.Deployment) (end func() *result.Memory) {
	limited, ok := servers.(cluster.ResourceLimits)
	if !ok {
		return func() *result.Memory { return nil }
	}
	over, recorded := make(chan struct{}), make(chan *result.Memory, 1)
	go func() {
		line := &result.Memory{IntervalMS: memoryInterval.Milliseconds(), Servers: []uint64{limited.ResidentMemory()}}
		tick := time.NewTicker(memoryInterval)
		defer tick.Stop()
		for n := int64(1); ; n++ {
			select {
			case <-over:
				recorded <- line
				return
			case <-tick.C:
			}
			if n*memoryInterval.Milliseconds()%line.IntervalMS != 0 {
				continue
			}
			if line.Servers = append(line.Servers, limited.ResidentMemory()); len(line.Servers) > maxReadings {
				line.Servers, line.IntervalMS = everySecond(line.Servers), 2*line.IntervalMS
			}
		}
	}()
	return func() *result.Memory {
		close(over)
		return <-recorded
	}
}

func everySecond(values []uint64) (kept []uint64) {
	for i := 0; i < len(values); i += 2 {
		kept = append(kept, values[i])
	}
	return kept
}

// endpointHistory is every published set of endpoints, with the time when it was published.
type endpointHistory struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
	sets   []cluster.Snapshot
}

func recordEndpoints(endpoints *cluster.Endpoints) *endpointHistory {
	ctx, cancel := context.WithCancel(context.Background())
	h := &endpointHistory{cancel: cancel}
	now, _ := endpoints.Current()
	h.sets = append(h.sets, now)
	h.done.Go(func() {
		endpoints.Watch(ctx, func(s cluster.Snapshot) {
			if s.Version > h.sets[len(h.sets)-1].Version {
				h.sets = append(h.sets, s)
			}
		})
	})
	return h
}

// stop ends the watch and returns the sets, the first one from before the load.
func (h *endpointHistory) stop() []cluster.Snapshot {
	h.cancel()
	h.done.Wait()
	return h.sets
}

// recordProcessors reads the processors' counters and the CPU time of this process. The
// function returned says how much was added to each.
func recordProcessors(read func() measure.ProcessorTimes) func() (processors measure.ProcessorTimes, own time.Duration) {
	before := read()
	ownBefore, _ := measure.CPU(os.Getpid()) // 0 where it is not known
	return func() (measure.ProcessorTimes, time.Duration) {
		own, _ := measure.CPU(os.Getpid())
		return read().Since(before), own - ownBefore
	}
}
