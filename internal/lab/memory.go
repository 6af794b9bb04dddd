package lab

import (
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/result"
)

const (
	memoryLook = time.Second // between two looks at the servers' memory, at the least
	mostLooks  = 600         // looks that are kept of a trial; beyond them, every second one
)

// watchMemory looks at what servers have in memory from now on, until the function returned is
// called, which says what was seen; nil: the cluster cannot say.
func watchMemory(servers cluster.Deployment) (end func() *result.Memory) {
	bounded, ok := servers.(cluster.Bounded)
	if !ok {
		return func() *result.Memory { return nil }
	}
	over, seen := make(chan struct{}), make(chan *result.Memory, 1)
	go func() {
		line := &result.Memory{IntervalMS: memoryLook.Milliseconds(), Servers: []uint64{bounded.Memory()}}
		tick := time.NewTicker(memoryLook)
		defer tick.Stop()
		for n := int64(1); ; n++ {
			select {
			case <-over:
				seen <- line
				return
			case <-tick.C:
			}
			if n*memoryLook.Milliseconds()%line.IntervalMS != 0 {
				continue
			}
			if line.Servers = append(line.Servers, bounded.Memory()); len(line.Servers) > mostLooks {
				line.Servers, line.IntervalMS = everySecond(line.Servers), 2*line.IntervalMS
			}
		}
	}()
	return func() *result.Memory {
		close(over)
		return <-seen
	}
}

func everySecond(values []uint64) (kept []uint64) {
	for i := 0; i < len(values); i += 2 {
		kept = append(kept, values[i])
	}
	return kept
}
