package conformance

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"rpclab/internal/language"
	"rpclab/internal/testkit"
)

// TestServersCountCallsAndDrainBeforeTheyStop sends SIGTERM during a call. The server must report NOT_SERVING, accept two
// more calls, answer all although the drain ends before, count them, and exit with 0.
func TestServersCountCallsAndDrainBeforeTheyStop(t *testing.T) {
	eachServer(t, func(t *testing.T, m language.Model, command []string) {
		// A busy machine may need longer than the drain until the second call begins. Such an attempt
		// shows nothing, and the next one has a longer drain.
		for _, drain := range []time.Duration{2500 * time.Millisecond, 10 * time.Second, 40 * time.Second} {
			err := drains(t, m, command, drain)
			if !errors.Is(err, errLate) {
				if err != nil {
					t.Error(err)
				}
				return
			}
			t.Log(err)
		}
		t.Error("a drain of 40 s is too short for this machine, or the server rejects calls while it drains")
	})
}

var errLate = errors.New("the drain ended before the server reported NOT_SERVING and the second call began")

// drains returns what was wrong with a server that drains, or errLate.
func drains(t *testing.T, m language.Model, command []string, drain time.Duration) error {
	t.Helper()
	addr, delay := free(t), drain+500*time.Millisecond
	p, c, out := supervisedOn(t, addr, m, append(command, "--delay", delay.String(), "--drain", drain.String(), "--workers", "4"))
	calls := countsCalls(t, p, c, out)
	other := contactTo(t, m, addr)
	ended := func() bool {
		select {
		case <-p.Done():
			return true
		default:
			return false
		}
	}
	asked := strings.Count(out.String(), "\n")
	// started reports whether the server has started so many more calls.
	started := func(more int) bool {
		asked++
		_, _ = fmt.Fprintln(p.Stdin, `{"count": true}`) // fails only if the server has ended
		return strings.HasSuffix("\n"+out.String(), fmt.Sprintf("\n%d\n", calls+more))
	}
	began := time.Now()
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { first <- greeted(t.Context(), t, c) }()
	testkit.Await(t, "the first call is in flight", func() bool { return started(1) })

	if err := p.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	terminated := time.Now()
	testkit.Await(t, "it says that it does not serve", func() bool {
		serving, err := other.serving(t.Context())
		return !serving && err == nil || ended()
	})
	go func() { second <- greeted(t.Context(), t, other) }()
	testkit.Await(t, "the second call is in flight", func() bool { return started(2) || len(second) > 0 || ended() })
	testkit.Await(t, "it has written every count", func() bool { return strings.Count(out.String(), "\n") == asked || ended() })
	_, _, third := increase(t.Context(), other, 1) // which only the count at the end includes
	late := time.Since(terminated) >= drain

	err := errors.Join(<-first, <-second, third)
	took := time.Since(began)
	<-p.Done()
	switch {
	case late:
		return errors.Join(errLate, err)
	case err != nil:
		return fmt.Errorf("a call before SIGTERM and two after it: %w", err)
	case took < delay:
		return fmt.Errorf("two answers in %v, want at least the delay of %v", took, delay)
	case p.Err() != nil:
		return fmt.Errorf("the server ended with %w, want status 0\n%s", p.Err(), p.Log())
	case !strings.HasSuffix(out.String(), fmt.Sprintf("\n%d\n", calls+3)):
		return fmt.Errorf("at its end the server wrote %q, want that it counted %d calls", out.String(), calls+3)
	}
	return nil
}
