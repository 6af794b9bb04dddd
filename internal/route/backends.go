package route

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/route/endpointslice"
)

const (
	// retryUpdate is the pause after a failed update of a proxy, which may be restarting.
	retryUpdate = 20 * time.Millisecond
	// updateTimeout is how long updates of a proxy may fail before that is an error of the run.
	updateTimeout = 10 * time.Second
)

// backends follows the endpoints of a service for proxies that rpclab must update, as an
// ingress controller does.
type backends struct {
	watcher *endpointslice.Watcher
	ctx     context.Context // ends with close
	cancel  context.CancelFunc
	updates sync.WaitGroup
	timeout time.Duration // updateTimeout

	mu   sync.Mutex
	errs error
}

// followBackends returns when the service has a usable backend.
func followBackends(ctx context.Context, s cluster.Service) (*backends, error) {
	b := &backends{watcher: endpointslice.NewWatcher(s), timeout: updateTimeout}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	limit, cancel := context.WithTimeout(ctx, updateTimeout)
	defer cancel()
	_, err := b.watcher.Sync(limit)
	for err == nil {
		state, changed := b.watcher.Current()
		if len(state.Usable) > 0 {
			return b, nil
		}
		select {
		case <-changed:
		case <-limit.Done():
			err = limit.Err()
		}
	}
	return nil, errors.Join(fmt.Errorf("no endpoint of %s is ready: %w", s.Name, err), b.close())
}

func (b *backends) usable() endpointslice.Set {
	state, _ := b.watcher.Current()
	return state.Usable
}

// follow calls update with the usable backends after every change, and again after an
// error, until close. If updates fail for longer than the timeout, it records one error.
func (b *backends) follow(update func(context.Context, endpointslice.Set) error) {
	b.updates.Go(func() {
		var failing time.Time // since when; zero: the last update succeeded
		recorded := false
		for b.ctx.Err() == nil {
			state, changed := b.watcher.Current()
			var retry <-chan time.Time
			if err := update(b.ctx, state.Usable); err == nil {
				failing = time.Time{}
			} else {
				retry = time.After(retryUpdate)
				if failing.IsZero() {
					failing = time.Now()
				}
				if !recorded && time.Since(failing) > b.timeout {
					recorded = true
					b.fail(err)
				}
			}
			select {
			case <-changed:
			case <-retry:
			case <-b.ctx.Done():
			}
		}
	})
}

func (b *backends) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.errs = errors.Join(b.errs, fmt.Errorf("rpclab could not update the backends of a proxy for %s: %w", b.timeout, err))
}

// close ends all updates and returns the errors that follow recorded.
func (b *backends) close() error {
	if b == nil {
		return nil
	}
	b.cancel()
	b.updates.Wait()
	b.watcher.Close()
	return b.errs
}
