package language_test

import (
	"slices"
	"testing"

	"rpclab/internal/language"
)

func TestJVMEnvBoundsHeapAndDirectMemory(t *testing.T) {
	for _, test := range []struct {
		heap, direct uint64
		want         []string
	}{
		{0, 0, nil},
		{64 << 20, 0, []string{"JDK_JAVA_OPTIONS=-Xmx67108864"}},
		{64 << 20, 10 << 20, []string{"JDK_JAVA_OPTIONS=-Xmx67108864 -XX:MaxDirectMemorySize=10485760"}},
	} {
		if got := language.JVMEnv(test.heap, test.direct); !slices.Equal(got, test.want) {
			t.Errorf("heap %d, direct memory %d: %q, want %q", test.heap, test.direct, got, test.want)
		}
	}
}
