package faultproxy

import (
	"context"
	"errors"
	"net"
	"net/http"
	"syscall"
	"time"
)

// stopPoll is how often a proxy whose pod stops connects to the backend, to see whether it still listens.
const stopPoll = 100 * time.Millisecond

// ServeInPod is Serve before a backend in another container of the same pod. Kubernetes may restart that container,
// so the proxy accepts connections meanwhile and resets them. Kubernetes stops both containers at once, so after the
// end of ctx the proxy accepts connections until the backend no longer does.
func (p *Proxy) ServeInPod(ctx context.Context, listener *net.TCPListener) {
	p.restarts = true
	stopped, stop := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer stop()
		<-ctx.Done()
		for p.listens() {
			time.Sleep(stopPoll)
		}
	}()
	p.Serve(stopped, listener)
}

// listens reports whether the backend accepts connections, as far as that can be known.
func (p *Proxy) listens() bool {
	conn, err := net.DialTimeout("tcp", p.backend, time.Second)
	if err == nil {
		_ = conn.Close()
	}
	return !errors.Is(err, syscall.ECONNREFUSED)
}

// Readiness answers the readiness checks of a pod: 503 while Fault.Flap says NOT_SERVING, else 200.
func (p *Proxy) Readiness() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		every := p.fault.Load().Flap
		if every > 0 && time.Since(*p.flapping.Load())/every%2 == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
}
