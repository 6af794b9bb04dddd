//go:build !linux

package local

import (
	"fmt"
	"runtime"

	"rpclab/internal/cluster"
)

func (limits) release() {}

// limitsOf fails: this system cannot enforce limits.
func (c *Cluster) limitsOf(_ string, spec cluster.Spec) (l limits, err error) {
	if limited(spec) {
		err = fmt.Errorf("rpclab enforces the limits server.cpus and server.memory on Linux only, not on %s: remove them (--set), or run with --on kubernetes", runtime.GOOS)
	}
	return l, err
}
