// Package conformance tests rpclab's engine against servers and proxies of other projects, and the
// programs in servers/ against their contract. Every response must belong to its call and name a known
// backend. test/conformance/servers/build.sh builds the servers of other projects.
package conformance

import (
	"os"
	"testing"

	"rpclab/internal/testkit"
)

func TestMain(m *testing.M) {
	// The second compiler of a JVM takes more CPU time than the few calls of a test save.
	_ = os.Setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1") // the name is valid
	testkit.Main(m)
}
