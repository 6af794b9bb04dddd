package local

import (
	"fmt"

	"rpclab/internal/cluster"
	"rpclab/internal/measure"
)

// limits is how rpclab enforces the limits of a backend; the zero value enforces none.
type limits struct {
	mechanism  string         // cgroup v1, cgroup v2 or pinned; empty: there are no limits
	group      measure.Cgroup // zero: none
	env        []string       // makes its runtime limit itself if it is pinned
	processors []int          // to which it is pinned; none: all
	memory     uint64         // bytes; 0: no limit
}

// The mechanisms.
const (
	byCgroup = "cgroup " // and the version
	pinned   = "pinned"
)

// joinCgroups is a shell script that joins the control groups whose files are its first
// arguments, up to a "--", and then executes the rest.
const joinCgroups = `while [ "$1" != -- ]; do echo $$ >"$1" || exit 125; shift; done; shift; exec "$@"`

// command returns the command line that runs a program within the limits. The shell joins the control
// groups before it executes the program, so the limits hold from the program's first instruction.
func (l limits) command(program []string) []string {
	if l.group == (measure.Cgroup{}) {
		return program
	}
	command := []string{"sh", "-c", joinCgroups, "sh", l.group.CPU + "/cgroup.procs"}
	if l.group.Memory != l.group.CPU {
		command = append(command, l.group.Memory+"/cgroup.procs")
	}
	return append(append(command, "--"), program...)
}

// killed says that the kernel killed a process of a backend at its memory limit, after so many that are known;
// empty: it did not.
func (l limits) killed(id string, known uint64) string {
	if l.group == (measure.Cgroup{}) || l.group.Usage().OOMKills <= known {
		return ""
	}
	return fmt.Sprintf("server %s was OOMKilled: its memory limit is %s; raise server.memory (rpclab lab up: --memory)", id, size(l.memory))
}

// size formats bytes as server.memory does.
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
