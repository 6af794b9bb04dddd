package workload

import (
	"math/rand/v2"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
)

// Fault is injected into a server; the zero value is none.
type Fault struct {
	Slow   time.Duration `json:"slow,omitempty"`  // added to every answer
	Factor float64       `json:"times,omitempty"` // multiplies the duration of an answer; below 1: no effect
	Code   codes.Code    `json:"code,omitempty"`  // the server answers calls with this code at once; 0: none
	Share  float64       `json:"share,omitempty"` // the probability that a call receives Code; 0: it always does
	Flap   time.Duration `json:"flap,omitempty"`  // interval at which health changes, NOT_SERVING first; 0: never
	Drop   bool          `json:"drop,omitempty"`  // drops the packets of clients; only fault proxies and servers in pods can
}

// Delay returns how long to delay a response that took a time to compute.
func (f Fault) Delay(took time.Duration) time.Duration {
	return f.Slow + time.Duration(max(f.Factor-1, 0)*float64(took))
}

// Fails decides, for one call, whether the server answers it with Code.
func (f Fault) Fails() bool {
	return f.Code != codes.OK && (f.Share == 0 || rand.Float64() < f.Share)
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
