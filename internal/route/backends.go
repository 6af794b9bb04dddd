package route

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/route/slicewatch"
)

const (
	// tellAgain is the pause after a proxy could not be told of backends: it was killed,
	// say, and is not back yet.
	tellAgain = 20 * time.Millisecond
	// deaf is how long a proxy may refuse to be told before that is an error of the lab's.
	deaf = 10 * time.Second
)

// backends follows the endpoints of a service for proxies that have to be told of them,
// as an ingress controller does.
type backends struct {
	table  *slicewatch.Table
	ctx    context.Context // ends with close
	cancel context.CancelFunc
	tells  sync.WaitGroup
	deaf   time.Duration // see the constant

	mu   sync.Mutex
	errs error
}

// followBackends returns when there is a backend that calls can go to.
func followBackends(ctx context.Context, s cluster.Service) (*backends, error) {
	b := &backends{table: slicewatch.Follow(s), deaf: deaf}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	limit, cancel := context.WithTimeout(ctx, deaf)
	defer cancel()
	_, err := b.table.Sync(limit)
	for err == nil {
		state, changed := b.table.Now()
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

// now is who calls can go to.
func (b *backends) now() slicewatch.Set {
	state, _ := b.table.Now()
	return state.Usable
}

// tell calls with the backends there are, after every change and again after an error,
// until close. One that is deaf for too long is an error, said once, and told again.
func (b *backends) tell(tell func(context.Context, slicewatch.Set) error) {
	b.tells.Go(func() {
		var refused time.Time // the first error in a row; zero: it was told
		said := false
		for b.ctx.Err() == nil {
			state, changed := b.table.Now()
			var again <-chan time.Time
			if err := tell(b.ctx, state.Usable); err == nil {
				refused = time.Time{}
			} else {
				again = time.After(tellAgain)
				if refused.IsZero() {
					refused = time.Now()
				}
				if !said && time.Since(refused) > b.deaf {
					said = true
					b.fail(err)
				}
			}
			select {
			case <-changed:
			case <-again:
			case <-b.ctx.Done():
			}
		}
	})
}

func (b *backends) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.errs = errors.Join(b.errs, fmt.Errorf("a proxy could not be told of backends for %s: %w", b.deaf, err))
}

// close ends all that and says what went wrong. None is none to close.
func (b *backends) close() error {
	if b == nil {
		return nil
	}
	b.cancel()
	b.tells.Wait()
	b.table.Close()
	return b.errs
}
