package house

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"rpclab/internal/testkit"
)

// Every command starts with the initialization of all packages, which must leave time to answer within 0.1 s. The test
// limits what they allocate, because times depend on the machine: 6 MB and 50,000 allocations take 20 to 25 ms.
const (
	maxInitBytes  = 8 << 20
	maxInitAllocs = 65_000
	// Of one package. The largest, of a JSON Schema validator that kin-openapi imports, allocates 1.7 MB.
	maxPackageBytes = 2 << 20
	// Of one package of rpclab.
	maxOwnBytes = 256 << 10
)

func TestCommandsStartQuickly(t *testing.T) {
	version := exec.Command(testkit.Rpclab(t), "version")
	version.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace strings.Builder
	version.Stderr = &trace
	if err := version.Run(); err != nil {
		t.Fatalf("%v:\n%s", err, trace.String())
	}
	found := regexp.MustCompile(`(?m)^init (\S+) @.* clock, (\d+) bytes, (\d+) allocs$`).FindAllStringSubmatch(trace.String(), -1)
	if len(found) < 100 {
		t.Fatalf("only %d packages are initialized:\n%s", len(found), trace.String())
	}
	bytes, allocs := 0, 0
	for _, one := range found {
		name, b, a := one[1], number(t, one[2]), number(t, one[3])
		bytes, allocs = bytes+b, allocs+a
		limit := maxPackageBytes
		if strings.HasPrefix(name, "rpclab/") || name == "main" {
			limit = maxOwnBytes
		}
		if b > limit {
			t.Errorf("the initialization of %s allocates %d bytes, want at most %d: compute it when it is used (sync.OnceValue)", name, b, limit)
		}
	}
	t.Logf("%d packages allocate %d bytes in %d allocations", len(found), bytes, allocs)
	if bytes > maxInitBytes || allocs > maxInitAllocs {
		t.Errorf("the initialization of %d packages allocates %d bytes in %d allocations, want at most %d and %d: GODEBUG=inittrace=1 rpclab version shows each",
			len(found), bytes, allocs, maxInitBytes, maxInitAllocs)
	}
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
