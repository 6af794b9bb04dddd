package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"rpclab/internal/analysis"
	"rpclab/internal/cluster"
	"rpclab/internal/measure"
	"rpclab/internal/process/running"
	"rpclab/internal/result"
)

// This file records the cluster and the machine during a load.

// recordMeshUsage starts to measure the usage of the proxies that a mesh injects into pods; nil: the
// trial has no mesh. The returned function returns their usage since then, or why it is not known:
// the trial is valid without it. Events may end pods, whose proxies take what they used with them. Without events
// it omits pods that have ended: those of a trial before.
func recordMeshUsage(ctx context.Context, c cluster.Cluster, mesh string, block, events bool) func() (cluster.Usage, string) {
	pods, able := c.(cluster.MeshProxies)
	if mesh == "" || !able {
		return nil
	}
	unknown := func(err error) (cluster.Usage, string) {
		return cluster.Usage{}, fmt.Sprintf("the usage of the proxies of %s is not known: %v", mesh, err)
	}
	if block {
		return func() (cluster.Usage, string) { return unknown(errShortBlock) }
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
			if u.CPU < before[pod].CPU {
				return unknown(fmt.Errorf("that of pod %s has started again", pod))
			}
			all.CPU += u.CPU - before[pod].CPU
			all.MaxRSS += max(u.MaxRSS, before[pod].MaxRSS)
		}
		for _, pod := range slices.Sorted(maps.Keys(before)) {
			if _, lives := after[pod]; events && !lives {
				return unknown(fmt.Errorf("pod %s has ended", pod))
			}
		}
		return all, ""
	}
}

// imageIDs returns the IDs of the images that servers have had, by name; nil: servers are processes.
func imageIDs(c cluster.Cluster) map[string][]string {
	if pods, able := c.(cluster.Images); able {
		return pods.ImageIDs()
	}
	return nil
}

// whyUsageUnknown says why a deployment does not know what its backends used; empty: it does, or there is nothing to
// say.
func whyUsageUnknown(servers cluster.Deployment) string {
	if able, ok := servers.(cluster.Unmeasured); ok {
		return able.WhyUsageUnknown()
	}
	return ""
}

// alsoUnknown adds something that is not known, and why. Both may be empty.
func alsoUnknown(unknown, more string) string {
	return strings.Join(slices.DeleteFunc([]string{unknown, more}, func(text string) bool { return text == "" }), "; ")
}

// errShortBlock says why blocks have no usage of a mesh's proxies. To wait for the next measurement of the kubelets
// would take a hundred times as long as the block.
var errShortBlock = errors.New("kubelets measure it every 10 s, and blocks are shorter; use --set design=isolated")

const (
	memoryInterval = time.Second // minimum time between two readings of the servers' memory
	maxReadings    = 600         // of a trial; when there are more, every second reading is dropped
)

// recordMemory starts to read the servers' memory. The returned function ends the recording and
// returns it; nil: the cluster does not know the memory.
func recordMemory(servers cluster.Deployment) (end func() *result.Memory) {
	limited, ok := servers.(cluster.ResourceLimits)
	if !ok || whyUsageUnknown(servers) != "" {
		return func() *result.Memory { return nil }
	}
	done, recorded := make(chan struct{}), make(chan *result.Memory, 1)
	go func() {
		line := &result.Memory{IntervalMS: memoryInterval.Milliseconds(), Servers: []uint64{limited.ResidentMemory()}}
		tick := time.NewTicker(memoryInterval)
		defer tick.Stop()
		for n := int64(1); ; n++ {
			select {
			case <-done:
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
		close(done)
		return <-recorded
	}
}

func everySecond(values []uint64) (kept []uint64) {
	for i := 0; i < len(values); i += 2 {
		kept = append(kept, values[i])
	}
	return kept
}

// endpointHistory records every published set of endpoints with its time.
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

// stop ends the recording and returns the sets. The first set is from before the load.
func (h *endpointHistory) stop() []cluster.Snapshot {
	h.cancel()
	h.done.Wait()
	return h.sets
}

// changedByOthers says which backends left and joined during a load that has no events; empty: none did. The first set is
// from before the load.
func changedByOthers(history []cluster.Snapshot) []string {
	var removed, added []string
	at := func(all []cluster.Endpoint, id string) int {
		return slices.IndexFunc(all, func(e cluster.Endpoint) bool { return e.ID == id })
	}
	before := history[0]
	for _, later := range history[1:] {
		for _, old := range before.Ready() {
			i := at(later.Endpoints, old.ID)
			if (i < 0 || later.Endpoints[i].Terminating) && !slices.Contains(removed, old.ID) {
				removed = append(removed, old.ID)
			}
		}
		for _, e := range later.Ready() {
			if at(before.Endpoints, e.ID) < 0 && !slices.Contains(added, e.ID) {
				added = append(added, e.ID)
			}
		}
	}
	if len(removed)+len(added) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("backends changed during the load, but the trial has no events (removed: %s; added: %s): somebody else, or an autoscaler, replaced or scaled them. Balance and latency contain that change: repeat the run without it, unless you measure it",
		cmp.Or(strings.Join(removed, ", "), "none"), cmp.Or(strings.Join(added, ", "), "none"))}
}

// recordProcessors reads the processors' counters and the CPU time of this process. The returned
// function returns how much both have increased.
func recordProcessors(read func() measure.ProcessorTimes) func() (processors measure.ProcessorTimes, own time.Duration) {
	before := read()
	ownBefore, _ := measure.CPU(os.Getpid()) // 0 if not known
	return func() (measure.ProcessorTimes, time.Duration) {
		own, _ := measure.CPU(os.Getpid())
		return read().Since(before), own - ownBefore
	}
}

// recordFound measures the CPU time of backends on this machine that rpclab did not start. The returned function returns
// their CPU time since then; false: it is not known.
func recordFound(all ...cluster.Deployment) (end func() (cpu time.Duration, known bool)) {
	var pids []int
	known := true
	for _, servers := range all {
		if found, ok := servers.(cluster.FoundProcesses); ok {
			here, knownHere := found.FoundProcesses()
			pids, known = append(pids, here...), known && knownHere
		}
	}
	if len(pids) == 0 {
		return func() (time.Duration, bool) { return 0, known }
	}
	before, err := measure.OthersCPU(pids...)
	return func() (time.Duration, bool) {
		now, errNow := measure.OthersCPU(pids...)
		if !known || err != nil || errNow != nil {
			return 0, false
		}
		return now - before, true
	}
}

// withOthers removes the share of other programs unless it is known.
func withOthers(i *result.Interference, known bool) *result.Interference {
	if i != nil && !known {
		i.Others = nil
	}
	return i
}

// machineWatch watches processes, the clock, and other runs on this machine during the loads of a trial.
type machineWatch struct {
	heartbeat *measure.Heartbeat
	otherRuns func() []running.Run // now
	runs      []running.Run        // so far
}

func newMachineWatch(otherRuns func() []running.Run, watched func() []measure.Watched) *machineWatch {
	return &machineWatch{heartbeat: measure.NewHeartbeat(watched), otherRuns: otherRuns}
}

// load watches during a load. The returned function ends that. Another run that starts and ends during the load is not
// noticed, but is part of the CPU time of others.
func (w *machineWatch) load() (end func()) {
	w.lookForRuns()
	endTurn := w.heartbeat.Turn()
	return func() {
		endTurn()
		w.lookForRuns()
	}
}

func (w *machineWatch) lookForRuns() {
	for _, run := range w.otherRuns() {
		if !slices.Contains(w.runs, run) {
			w.runs = append(w.runs, run)
		}
	}
}

// warnings returns those of all loads so far, which have ended.
func (w *machineWatch) warnings() []result.MachineWarning {
	return append(analysis.Shared(w.runs), analysis.Stalls(w.heartbeat.Stalls())...)
}

// watchMachine watches the machine during one load. The returned function ends that and returns the warnings.
func watchMachine(otherRuns func() []running.Run, watched func() []measure.Watched) (end func() []result.MachineWarning) {
	w := newMachineWatch(otherRuns, watched)
	endLoad := w.load()
	return func() []result.MachineWarning {
		endLoad()
		return w.warnings()
	}
}
