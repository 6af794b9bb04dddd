package route

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/route/slicewatch"
	"rpclab/internal/testkit"
)

// teller is what tells a proxy of the backends of nobody.
func teller(t *testing.T) *backends {
	t.Helper()
	b := &backends{table: slicewatch.Follow(cluster.Service{Name: "greeter", Namespace: "default", API: "http://127.0.0.1:9"}), deaf: 50 * time.Millisecond}
	b.ctx, b.cancel = context.WithCancel(t.Context())
	return b
}

func TestAProxyThatStaysDeafIsAnErrorOnceAndToldAgain(t *testing.T) {
	b := teller(t)
	var refusals atomic.Int32
	var heard atomic.Bool
	b.tell(func(context.Context, slicewatch.Set) error {
		if refusals.Add(1) <= 10 { // 200 ms at least
			return errors.New("not now")
		}
		heard.Store(true)
		return nil
	})
	testkit.Await(t, "it is told after all", heard.Load)
	const want = "a proxy could not be told of backends for 50ms: not now"
	if err := b.close(); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
