// Package calculate loads one calculator as study 4's client did, by its flags, and sums up
// what it saw in its words.
package calculate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"rpclab/internal/caller"
	"rpclab/internal/caller/grpcgo"
	"rpclab/internal/measure"
	"rpclab/internal/security"
	"rpclab/internal/workload"
)

// Settings are the study's flags.
type Settings struct {
	Target       string        // HOST:PORT
	Style        string        // one of [caller.Styles]
	Workers      int           // who send; of two-way streams each has its own
	Interval     time.Duration // that a worker sleeps after each message
	Transactions int           // in all
	Client       string        // identity
	Calculation  workload.Calculate
	JWT          string        // [caller.Once] or [caller.Every]
	LatencyOver  time.Duration // calls over it are listed; 0: none is
	Timeout      time.Duration // of a call
	Keys         string        // file that the server wrote; empty: it asks for nothing
	Metadata     int           // further keys and values with every call
}

// check says what cannot be.
func (s Settings) check() error {
	switch {
	case !slices.Contains(caller.Styles, s.Style):
		return fmt.Errorf("--style %s: take one of %v", s.Style, caller.Styles)
	case s.Workers < 1 || s.Workers > 10_000:
		return fmt.Errorf("--workers %d: take 1 to 10000", s.Workers)
	case s.Transactions < 1 || s.Transactions > 10_000_000:
		return fmt.Errorf("--transactions %d: take 1 to 10000000", s.Transactions)
	case s.Interval < 0 || s.LatencyOver < 0 || s.Timeout <= 0 || s.Metadata < 0 || s.Metadata > 100:
		return errors.New("--interval and --latency-gt are at least 0, --timeout is more, and --extra-metadata is 0 to 100")
	case s.JWT != caller.Once && s.JWT != caller.Every:
		return fmt.Errorf("--jwt-gen %s: take %s or %s", s.JWT, caller.Once, caller.Every)
	case s.Client == "":
		return errors.New("--client-id: a client has to have a name")
	}
	return s.Calculation.Check()
}

// ErrRequest marks an error of the settings.
var ErrRequest = errors.New("wrong settings")

// Call is one that ended. Its times count from the start.
type Call struct {
	Number     int
	Sent, Done time.Duration
	Code       string // OK, or an error's
	Message    string // of the error
}

// Run makes the calls, in the order in which they ended. When ctx ends, it makes no more.
func Run(ctx context.Context, s Settings) ([]Call, error) {
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRequest, err)
	}
	job, err := s.job()
	if err != nil {
		return nil, err
	}
	session, err := grpcgo.OpenCalculations(job, caller.Target{URI: "passthrough:///" + s.Target})
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var calls []Call
	var next atomic.Int64
	var workers, answers sync.WaitGroup
	start := time.Now()
	for worker := range s.Workers {
		workers.Go(func() {
			for ctx.Err() == nil {
				n := int(next.Add(1)) - 1
				if n >= s.Transactions {
					return
				}
				call := Call{Number: n, Sent: time.Since(start)}
				end := session.Begin(ctx, uint64(worker)) // on the worker's own stream
				answers.Go(func() {
					_, call.Code, call.Message = end()
					call.Done = time.Since(start)
					mu.Lock()
					defer mu.Unlock()
					calls = append(calls, call)
				})
				sleep(ctx, s.Interval)
			}
		})
	}
	workers.Wait()
	answers.Wait()
	return calls, session.Close()
}

// job says the same in the words of a caller.
func (s Settings) job() (caller.Job, error) {
	party := security.Party{Keys: security.Keys{Name: s.Client}}
	how := caller.Calculations{Style: s.Style, Metadata: s.Metadata, Streams: s.Workers, Ahead: caller.Taken}
	if s.Keys != "" {
		authority, policy, err := security.Load(s.Keys)
		if err != nil {
			return caller.Job{}, fmt.Errorf("%w: --keys: %w", ErrRequest, err)
		}
		keys, err := authority.Client(s.Client, security.Life)
		if err != nil {
			return caller.Job{}, err
		}
		party = security.Party{Policy: policy, Keys: keys}
		if policy.Tokens {
			how.JWT = s.JWT
		}
	}
	how.Party = party
	return caller.Job{
		Channels: caller.Channels{Mode: caller.Shared}, Timeout: s.Timeout, Late: measure.Late, Calculations: &how,
		Workload: workload.Spec{Calculate: &s.Calculation},
	}, nil
}

// sleep returns after d, or when ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	if d == 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// Over are the calls that took longer than a limit, the slowest first.
func Over(calls []Call, limit time.Duration) []Call {
	over := slices.DeleteFunc(slices.Clone(calls), func(c Call) bool { return c.Done-c.Sent <= limit })
	slices.SortStableFunc(over, func(a, b Call) int { return cmp.Compare(b.Done-b.Sent, a.Done-a.Sent) })
	return over
}
