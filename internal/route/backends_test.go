package route

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/route/endpointslice"
	"rpclab/internal/testkit"
)

func TestFollowRetriesFailedUpdatesAndNotesOneError(t *testing.T) {
	nobody := cluster.Service{Name: "greeter", Namespace: "default", API: "http://127.0.0.1:9"}
	b := &backends{watcher: endpointslice.NewWatcher(nobody), timeout: 50 * time.Millisecond}
	b.ctx, b.cancel = context.WithCancel(t.Context())
	var failures atomic.Int32
	var updated atomic.Bool
	b.follow(func(context.Context, endpointslice.Set) error {
		if failures.Add(1) <= 10 { // 200 ms at least
			return errors.New("not now")
		}
		updated.Store(true)
		return nil
	})
	testkit.Await(t, "an update succeeds", updated.Load)
	const want = "rpclab could not update the backends of a proxy for 50ms: not now"
	if err := b.close(); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
