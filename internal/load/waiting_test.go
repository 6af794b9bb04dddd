package load

import (
	"strings"
	"testing"
)

func TestAWaitForAStreamIsAWarning(t *testing.T) {
	settings := validSettings()
	settings.Target, settings.Concurrency, settings.Calls, settings.Streams = greeter(t), 4, 40, 1
	if warnings := strings.Join(run(t, settings).Warnings, "\n"); !strings.Contains(warnings, "of 40 calls (") ||
		!strings.Contains(warnings, "waited in rpclab for a stream, because --streams limits the calls on a connection to 1: raise it or use more --connections") {
		t.Errorf("the warnings are %q, want one of --streams", warnings)
	}
	settings.Streams = 0
	if warnings := strings.Join(run(t, settings).Warnings, "\n"); strings.Contains(warnings, "for a stream") {
		t.Errorf("without a limit the warnings are %q, want none about streams", warnings)
	}
}
