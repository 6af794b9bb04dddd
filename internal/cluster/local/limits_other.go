//go:build !linux

package local

import (
	"fmt"
	"runtime"

	"rpclab/internal/cluster"
)

// cgroups exist on Linux only.
type cgroups struct{}

func (*cgroups) close() {}

func removeStale() {}

func (limits) release() {}

// limitsOf fails: this system cannot enforce limits.
func (c *Cluster) limitsOf(_ string, spec cluster.Spec) (l limits, err error) {
	if limited(spec) {
		err = fmt.Errorf("rpclab enforces the limits server.cpus and server.memory on Linux only, not on %s: remove them (--set), or run with --on kubernetes", runtime.GOOS)
	}
	return l, err
}
