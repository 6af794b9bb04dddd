package local_test

import (
	"testing"

	"rpclab/internal/cluster"
	"rpclab/internal/testkit"
)

// The shell ends at SIGTERM and leaves the server, which is in a session of its own.
func TestAServerInASessionOfItsOwnIsPausedMeasuredAndEnded(t *testing.T) {
	testChildren(t, &cluster.Program{Command: []string{"sh", "-c", `setsid "$0" server --listen "$1" & wait`, testkit.Rpclab(t), "{{.Address}}"}})
}
