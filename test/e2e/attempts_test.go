package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

const failing = `experiment: failing
question: One of two backends fails every call; which calls succeed?
defaults:
  workload: {greet: {}}
  server: {replicas: 2}
  route: endpointslice
  load: {open: {rate: 200, duration: 2s}}
arms:
  plain: {}
  retry: {caller: {retry: {attempts: 5, backoff: 1ms}}}
  service-config:
    caller:
      service_config: {"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 5, "initialBackoff": "0.001s",
        "maxBackoff": "0.01s", "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE"]}}]}
  hedge: {caller: {hedge: {attempts: 5, delay: 1s}}}
  clusterip: {route: clusterip, caller: {retry: {}}}
rounds: 1
events: [{at: 500ms, fail: {backends: 1}}]
`

func TestRetriesAndHedgesAvoidAFailingBackend(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "failing.yaml")
	if err := os.WriteFile(path, []byte(failing), 0o644); err != nil {
		t.Fatal(err)
	}
	undisturbed(t, func(_ int, wrong func(format string, args ...any)) {
		d, _ := document(t, path)
		failed := func(name string) uint64 { return arm(t, d, name).Errors["UNAVAILABLE"] }
		plain := failed("plain") // of 300 calls after the event, half
		if plain < 100 {
			wrong("plain: %d calls failed, want about 150", plain)
		}
		for _, name := range []string{"retry", "service-config", "hedge"} {
			if n := failed(name); n > plain/4 {
				wrong("%s: %d calls failed, want at most a quarter of the %d that fail without it", name, n, plain)
			}
		}
		// The one connection leads to one backend: the failing one or the other one.
		if n := failed("clusterip"); n != 0 && n < 200 {
			wrong("clusterip: %d calls failed, want none or all of about 300", n)
		}
	})
}
