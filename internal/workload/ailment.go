package workload

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"rpclab/internal/security"
)

// Ailment is what is wrong with a server, on purpose; the zero value: nothing.
type Ailment struct {
	Slow  time.Duration `json:"slow,omitempty"`  // added to every answer
	Times float64       `json:"times,omitempty"` // an answer takes this many times as long; under 1: as long as ever
	Code  codes.Code    `json:"code,omitempty"`  // every call is answered with at once
	Flap  time.Duration `json:"flap,omitempty"`  // its health turns every so often, NOT_SERVING first
}

// more is how long an answer that took so long has to wait yet.
func (a Ailment) more(took time.Duration) time.Duration {
	return a.Slow + time.Duration(max(a.Times-1, 0)*float64(took))
}

// Order is a line of JSON that a supervisor writes to a server: one field is set.
type Order struct {
	Ail *Ailment `json:"ail,omitempty"` // what is wrong from now on, in place of what was
	// Count asks for a line with the number of calls begun.
	Count bool `json:"count,omitempty"`
	// Secure is what a server waits for before it serves that was told to.
	Secure *security.Party `json:"secure,omitempty"`
}

// Obey does what a supervisor writes, and returns when it is gone. The first party it names
// goes to secure, which has room for it; nil: nobody waits for one.
func (s *Server) Obey(orders io.Reader, answers io.Writer, secure chan<- security.Party) {
	lines := bufio.NewScanner(orders)
	for lines.Scan() {
		var order Order
		switch err := json.Unmarshal(lines.Bytes(), &order); {
		case err != nil:
			s.Log.Error("an order that no server knows", "error", err) // and which may hold keys
		case order.Ail != nil:
			s.Suffer(*order.Ail)
		case order.Count:
			s.Count(answers)
		case order.Secure != nil && secure != nil:
			secure <- *order.Secure
			secure = nil
		}
	}
}

// Count writes a line with the number of calls begun, health and reflection not counted.
func (s *Server) Count(to io.Writer) { fmt.Fprintln(to, s.served.Load()) }

// Suffer makes the server ail so from now on, calls under way not.
func (s *Server) Suffer(a Ailment) {
	s.ready()
	s.ails.Store(&a)
	s.flaps.begin(s.health, a.Flap)
}

// flapping turns a server's health to and fro, in a goroutine of its own.
type flapping struct {
	mu    sync.Mutex
	every time.Duration
	stop  chan struct{} // nil: it does not flap
	done  sync.WaitGroup
}

// begin turns the health every so often; 0: it serves from now on. One that flaps so
// already goes on as it does.
func (f *flapping) begin(server *health.Server, every time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if every == f.every {
		return
	}
	f.halt()
	f.every = every
	if every == 0 {
		server.SetServingStatus("", healthv1.HealthCheckResponse_SERVING)
		return
	}
	stop := make(chan struct{})
	f.stop = stop
	f.done.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		turns := [...]healthv1.HealthCheckResponse_ServingStatus{healthv1.HealthCheckResponse_NOT_SERVING, healthv1.HealthCheckResponse_SERVING}
		for i := 0; ; i++ {
			server.SetServingStatus("", turns[i%len(turns)])
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	})
}

func (f *flapping) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.halt()
}

// halt ends the goroutine; call it with f.mu held.
func (f *flapping) halt() {
	if f.stop != nil {
		close(f.stop)
		f.stop = nil
		f.done.Wait()
	}
}
