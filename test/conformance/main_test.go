// Package conformance makes calls with our own engine through servers that others
// wrote: every answer has to be the one to its own call, from a backend that exists.
package conformance

import (
	"testing"

	"rpclab/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }
