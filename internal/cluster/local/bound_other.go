//go:build !linux

package local

import (
	"fmt"
	"runtime"

	"rpclab/internal/cluster"
)

// groups are there on Linux alone.
type groups struct{}

func (*groups) close() {}

func sweep() {}

func (bound) release() {}

// bound refuses limits, which this system has no means for.
func (c *Cluster) bound(_ string, spec cluster.Spec) (b bound, err error) {
	if limited(spec) {
		err = fmt.Errorf("the limits server.cpus and server.memory are kept on Linux alone, not on %s: leave them out (--set), or run with --on kubernetes", runtime.GOOS)
	}
	return b, err
}
