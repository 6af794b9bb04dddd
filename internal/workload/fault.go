package workload

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"rpclab/internal/process/stdio"
	"rpclab/internal/security"
)

// Fault is injected into a server; the zero value is none.
type Fault struct {
	Slow   time.Duration `json:"slow,omitempty"`  // added to every answer
	Factor float64       `json:"times,omitempty"` // multiplies the duration of an answer; below 1: no effect
	Code   codes.Code    `json:"code,omitempty"`  // the server answers every call with this code at once; 0: none
	Flap   time.Duration `json:"flap,omitempty"`  // interval at which health changes, NOT_SERVING first; 0: never
}

// extraDelay returns how long to delay an answer that took a time to compute.
func (f Fault) extraDelay(took time.Duration) time.Duration {
	return f.Slow + time.Duration(max(f.Factor-1, 0)*float64(took))
}

// Command is a line of JSON on the standard input of a supervised server; one field is set.
type Command struct {
	Fault *Fault `json:"ail,omitempty"` // what is wrong from now on, in place of what was
	// Count requests a line with the number of calls begun.
	Count bool `json:"count,omitempty"`
	// Security is what a server with security waits for before it serves.
	Security *security.Config `json:"secure,omitempty"`
}

// ServeCommands executes commands and returns at the end of input. It sends the first security
// configuration to secure, which needs room for it; nil: the server needs none.
func (s *Server) ServeCommands(commands io.Reader, answers io.Writer, secure chan<- security.Config) {
	_, _ = io.Copy(stdio.NewLines(func(line string) {
		var command Command
		switch err := json.Unmarshal([]byte(line), &command); {
		case err != nil:
			s.Log.Error("unknown command", "error", err) // not the line, which may contain keys
		case command.Fault != nil:
			s.SetFault(*command.Fault)
		case command.Count:
			s.WriteCount(answers)
		case command.Security != nil && secure != nil:
			secure <- *command.Security
			secure = nil
		}
	}), commands)
}

// WriteCount writes a line with the number of calls begun, without health and reflection.
func (s *Server) WriteCount(to io.Writer) { fmt.Fprintln(to, s.begun.Load()) }

// SetFault injects a fault into all calls that begin from now on. It replaces the last fault.
func (s *Server) SetFault(fault Fault) {
	s.setUp()
	s.fault.Store(&fault)
	s.flapper.begin(s.health, fault.Flap)
}

// healthFlapper alternates a server's health status in its own goroutine.
type healthFlapper struct {
	mu    sync.Mutex
	every time.Duration
	stop  chan struct{} // nil: not flapping
	done  sync.WaitGroup
}

// begin alternates the health status at an interval; 0: SERVING from now on. It changes nothing
// if the interval stays the same.
func (f *healthFlapper) begin(server *health.Server, every time.Duration) {
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

func (f *healthFlapper) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.halt()
}

// halt ends the goroutine. Callers hold f.mu.
func (f *healthFlapper) halt() {
	if f.stop != nil {
		close(f.stop)
		f.stop = nil
		f.done.Wait()
	}
}
