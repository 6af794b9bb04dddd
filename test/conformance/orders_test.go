package conformance

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"rpclab/internal/language"
	"rpclab/internal/process"
	"rpclab/internal/testkit"
)

// said is the standard output of a server.
type said struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// supervisedOn starts a server that reads commands from standard input.
func supervisedOn(t *testing.T, addr string, m language.Model, command []string) (*process.Process, contact, *said) {
	t.Helper()
	out := &said{}
	p, err := process.Start(process.Spec{Args: append(command[:len(command):len(command)], "--listen", addr, "--id", "b", "--supervised"), Stdout: out})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("its last lines:\n%s", p.Log())
		}
	})
	c := contactTo(t, m, addr)
	testkit.AwaitFor(t, startWithin, "it serves", func() bool {
		select {
		case <-p.Done():
			t.Fatalf("the server ended before it was ready: %v\n%s", p.Err(), p.Log())
		default:
		}
		serving, err := c.serving(t.Context())
		return serving && err == nil
	})
	return p, c, out
}

func order(t *testing.T, p *process.Process, line string) {
	t.Helper()
	if _, err := fmt.Fprintln(p.Stdin, line); err != nil {
		t.Fatal(err)
	}
}

// countsCalls returns the number of calls that it made.
func countsCalls(t *testing.T, p *process.Process, c contact, out *said) (calls int) {
	t.Helper()
	for n := range uint32(7) {
		if _, _, err := increase(t.Context(), c, n); err != nil {
			t.Fatal(err)
		}
	}
	order(t, p, `{"count": true}`)
	testkit.Await(t, "it counted 7 calls", func() bool { return out.String() == "7\n" })
	order(t, p, `{"sing": true}`)
	order(t, p, `no order`)
	order(t, p, `{"count": true}`)
	testkit.Await(t, "it answers after an order that it does not know", func() bool { return out.String() == "7\n7\n" })
	return 7
}

func exitsWithItsSupervisor(t *testing.T, p *process.Process) {
	t.Helper()
	if err := p.Stdin.(io.Closer).Close(); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	if p.Err() == nil || !strings.Contains(p.Err().Error(), "3") {
		t.Errorf("the process ended with %v, want exit status 3", p.Err())
	}
}

func obeysFaultCommands(t *testing.T, p *process.Process, c contact, out *said) {
	t.Helper()
	counts := strings.Count(out.String(), "\n")
	// The answer to count shows that the server has read the command before it.
	heard := func(line string) {
		order(t, p, line)
		order(t, p, `{"count": true}`)
		counts++
		testkit.Await(t, "it hears "+line, func() bool { return strings.Count(out.String(), "\n") == counts })
	}
	heard(`{"fault": {"code": 14}}`)
	if _, id, err := increase(t.Context(), c, 1); status.Code(err) != codes.Unavailable || id != "b" {
		t.Errorf("after the command to fail: error %v of %q", err, id)
	}
	if serving, err := c.serving(t.Context()); !serving || err != nil {
		t.Errorf("after the command to fail the health check reports serving %t, error %v; want true", serving, err)
	}
	heard(`{"fault": {"slow": 300000000}}`)
	began := time.Now()
	if after, _, err := increase(t.Context(), c, 1); after != 2 || err != nil || time.Since(began) < 300*time.Millisecond {
		t.Errorf("after the command to be slow by 300 ms: answer %d, error %v, after %v", after, err, time.Since(began))
	}
	heard(`{"fault": {"flap": 100000000}}`)
	for _, want := range []bool{false, true, false} {
		testkit.Await(t, fmt.Sprintf("its health turns to %t", want), func() bool {
			serving, err := c.serving(t.Context())
			return err == nil && serving == want
		})
	}
	heard(`{"fault": {}}`)
	testkit.Await(t, "it is healed", func() bool { serving, err := c.serving(t.Context()); return serving && err == nil })
	if after, _, err := increase(t.Context(), c, 1); after != 2 || err != nil {
		t.Errorf("after recovery: answer %d, error %v", after, err)
	}
}
