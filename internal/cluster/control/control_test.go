package control_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"rpclab/internal/cluster/control"
)

// exiting is a server that no longer reads commands. It reports 7 calls and exits after a while.
type exiting struct {
	done chan struct{}
	err  error
}

func (e *exiting) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }
func (e *exiting) Done() <-chan struct{}     { return e.done }
func (e *exiting) Err() error                { return e.err }

func TestTheCallCountOfAnExitingServerIsFinal(t *testing.T) {
	for _, c := range []struct {
		exit  error
		after time.Duration
		known bool
	}{
		{nil, 100 * time.Millisecond, true},
		{errors.New("killed"), 100 * time.Millisecond, false},
		{nil, time.Minute, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			server, counts := &exiting{done: make(chan struct{})}, control.NewCallCounts()
			go func() {
				<-time.After(c.after)
				fmt.Fprintln(counts, 7)
				server.err = c.exit
				close(server.done)
			}()
			calls, known := control.New("greeter-0", server, server, counts).CallCount()
			if known != c.known || known && calls != 7 {
				t.Errorf("exit with %v after %v: %d calls (known: %v), want 7 (known: %v)", c.exit, c.after, calls, known, c.known)
			}
			<-server.done
		})
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
