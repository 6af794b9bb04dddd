// Package conformance tests rpclab's engine against servers and proxies of others, and the programs in
// servers/ against their contract. Every answer must belong to its call and come from a known backend.
// test/conformance/servers/build.sh builds the servers of others.
package conformance

import (
	"testing"

	"rpclab/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }
