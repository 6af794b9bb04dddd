// Package conformance tests rpclab's engine against servers and proxies of other projects, and the
// programs in servers/ against their contract. Every response must belong to its call and name a known
// backend. test/conformance/servers/build.sh builds the servers of other projects.
package conformance

import (
	"testing"

	"rpclab/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }
