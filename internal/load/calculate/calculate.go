// Package calculate loads one calculator server with fixed numbers of workers and messages
// (`rpclab load --style`), and prints the summary of the published client.
package calculate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"rpclab/internal/caller"
	"rpclab/internal/caller/grpcgo"
	"rpclab/internal/measure"
	"rpclab/internal/security"
	"rpclab/internal/workload"
)

// Settings are the flags of the published client.
type Settings struct {
	Target       string        // HOST:PORT
	Style        string        // one of [caller.Styles]
	Workers      int           // senders; with bidirectional streams each has its own
	Interval     time.Duration // a worker sleeps after each message
	Transactions int           // total
	Client       string        // identity
	Calculation  workload.Calculate
	JWT          string        // [caller.TokenOnce] or [caller.TokenPerCall]
	LatencyOver  time.Duration // calls that take longer are listed; 0: none
	Timeout      time.Duration // of a call
	Keys         string        // file written by the server; empty: no security
	Metadata     int           // further metadata entries of each call
}

// check returns an error for settings that cannot be used.
func (s Settings) check() error {
	switch {
	case !slices.Contains(caller.Styles, s.Style):
		return fmt.Errorf("--style %s: use one of %v", s.Style, caller.Styles)
	case s.Workers < 1 || s.Workers > 10_000:
		return fmt.Errorf("--workers %d: must be 1 to 10000", s.Workers)
	case s.Transactions < 1 || s.Transactions > 10_000_000:
		return fmt.Errorf("--transactions %d: must be 1 to 10000000", s.Transactions)
	case s.Interval < 0:
		return fmt.Errorf("--interval %v: must be at least 0", s.Interval)
	case s.LatencyOver < 0:
		return fmt.Errorf("--latency-gt %v: must be at least 0", s.LatencyOver)
	case s.Timeout <= 0:
		return fmt.Errorf("--timeout %v: must be more than 0", s.Timeout)
	case s.Metadata < 0 || s.Metadata > 100:
		return fmt.Errorf("--extra-metadata %d: must be 0 to 100", s.Metadata)
	case s.JWT != caller.TokenOnce && s.JWT != caller.TokenPerCall:
		return fmt.Errorf("--jwt-gen %s: use %s or %s", s.JWT, caller.TokenOnce, caller.TokenPerCall)
	case s.Client == "":
		return errors.New("--client-id: must not be empty: it is the client's identity")
	}
	return errors.Join(s.checkTarget(), s.Calculation.Check())
}

// checkTarget returns an error for a target that can never be dialed.
func (s Settings) checkTarget() error {
	if strings.HasPrefix(s.Target, "unix:") {
		return nil
	}
	host, port, err := net.SplitHostPort(s.Target)
	if err != nil || host == "" || port == "" {
		return fmt.Errorf("%q is not an address: use HOST:PORT, such as 127.0.0.1:50051", s.Target)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return fmt.Errorf("%q: %s is not a port: use 1 to 65535", s.Target, port)
	}
	return nil
}

// ErrInvalid marks an error of the settings.
var ErrInvalid = errors.New("invalid settings")

// Call is a finished call. Its times count from the start of the load.
type Call struct {
	Number     int
	Sent, Done time.Duration
	Code       string // OK or an error code
	Message    string // error message
	// Interrupted is true if the call was cancelled because the load was interrupted.
	Interrupted bool
}

// Run makes the calls and returns them in the order in which they ended. When ctx ends, it
// starts no more.
func Run(ctx context.Context, settings Settings) ([]Call, error) {
	if err := settings.check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	job, err := settings.job()
	if err != nil {
		return nil, err
	}
	session, err := grpcgo.OpenCalculator(job, caller.Target{URI: "passthrough:///" + settings.Target})
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var calls []Call
	var next atomic.Int64
	var workers, answers sync.WaitGroup
	start := time.Now()
	for worker := range settings.Workers {
		workers.Go(func() {
			for ctx.Err() == nil {
				n := int(next.Add(1)) - 1
				if n >= settings.Transactions {
					return
				}
				call := Call{Number: n, Sent: time.Since(start)}
				end := session.Begin(ctx, uint64(worker)) // on the worker's own stream
				answers.Go(func() {
					outcome := end()
					call.Code, call.Message = outcome.Code, outcome.Message
					call.Done, call.Interrupted = time.Since(start), outcome.Code == "CANCELLED" && ctx.Err() != nil
					mu.Lock()
					defer mu.Unlock()
					calls = append(calls, call)
				})
				sleep(ctx, settings.Interval)
			}
		})
	}
	workers.Wait()
	answers.Wait()
	return calls, session.Close()
}

// job translates the settings for a caller.
func (s Settings) job() (caller.Job, error) {
	party := security.Config{Keys: security.Keys{Name: s.Client}}
	options := caller.CalculatorOptions{Style: s.Style, Metadata: s.Metadata, Streams: s.Workers, Ahead: caller.WhenReceived}
	if s.Keys != "" {
		authority, policy, err := security.Load(s.Keys)
		if err != nil {
			return caller.Job{}, fmt.Errorf("%w: --keys: %w", ErrInvalid, err)
		}
		keys, err := authority.Client(s.Client, security.Lifetime)
		if err != nil {
			return caller.Job{}, err
		}
		party = security.Config{Policy: policy, Keys: keys}
		if policy.Tokens {
			options.JWT = s.JWT
		}
	}
	options.Security = party
	return caller.Job{
		Channels: caller.Channels{Mode: caller.Shared}, Timeout: s.Timeout, Late: measure.DefaultLateAfter, Calculator: &options,
		Workload: workload.Spec{Calculate: &s.Calculation},
	}, nil
}

// sleep returns after d, or when ctx ends.
func sleep(ctx context.Context, interval time.Duration) {
	if interval == 0 {
		return
	}
	timer := time.NewTimer(interval)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// SlowerThan returns the calls that took longer than a limit, slowest first.
func SlowerThan(calls []Call, limit time.Duration) []Call {
	over := slices.DeleteFunc(slices.Clone(calls), func(c Call) bool { return c.Done-c.Sent <= limit })
	slices.SortStableFunc(over, func(a, b Call) int { return cmp.Compare(b.Done-b.Sent, a.Done-a.Sent) })
	return over
}
