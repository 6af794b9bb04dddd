package local

import (
	"fmt"

	"rpclab/internal/cluster"
	"rpclab/internal/measure"
)

// bound is how a backend is kept to its limits; the zero bound has none.
type bound struct {
	how        string        // cgroup v1, cgroup v2 or pinned; empty: there are no limits
	group      measure.Group // that its process is in; zero: none
	env        []string      // by which its runtime keeps to what nothing else enforces
	processors []int         // on which it may run; none: all
	memory     uint64        // bytes; 0: all there is
}

// Ways in which backends are kept to their limits.
const (
	byGroups = "cgroup " // and the version
	pinned   = "pinned"
)

// joins is a shell script that becomes the program of its arguments in the control groups
// whose files come first, up to a "--".
const joins = `while [ "$1" != -- ]; do echo $$ >"$1" || exit 125; shift; done; shift; exec "$@"`

// command is what runs a program within the bound: a child is in a group from its first
// instruction on if what starts it was.
func (b bound) command(program []string) []string {
	if b.group == (measure.Group{}) {
		return program
	}
	command := []string{"sh", "-c", joins, "sh", b.group.CPU + "/cgroup.procs"}
	if b.group.Memory != b.group.CPU {
		command = append(command, b.group.Memory+"/cgroup.procs")
	}
	return append(append(command, "--"), program...)
}

// killed says that the kernel ended a backend's process at its memory limit; empty: it did not.
func (b bound) killed(id string) string {
	if b.group == (measure.Group{}) || b.group.Look().OOMKills == 0 {
		return ""
	}
	return fmt.Sprintf("server %s was OOMKilled: its memory limit is %s; raise server.memory", id, size(b.memory))
}

// size is a number of bytes as server.memory has it.
func size(bytes uint64) string {
	for _, unit := range []string{"", "Ki", "Mi"} {
		if bytes%1024 != 0 {
			return fmt.Sprintf("%d%s", bytes, unit)
		}
		bytes /= 1024
	}
	return fmt.Sprintf("%dGi", bytes)
}

// limited says whether a deployment has limits.
func limited(spec cluster.Spec) bool { return spec.CPUs > 0 || spec.Memory > 0 }

// Bounds implements [cluster.Bounded].
func (d *deployment) Bounds() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.how
}
