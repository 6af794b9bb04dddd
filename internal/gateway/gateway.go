// Package gateway is an HTTP server that makes gRPC calls over a route for each request, and reports which
// backends answered them. Its HTTP interface is that of two published studies, on load balancing and on
// channels (docs/studies.md).
package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	grpcprom "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"rpclab/internal/caller"
	"rpclab/internal/caller/grpcgo"
	"rpclab/internal/route"
	"rpclab/internal/workload"
)

// Models of a gateway.
const (
	OneThread = "one-thread" // one request at a time; others wait
	Threads   = "threads"    // concurrent requests over one channel
	Async     = "async"      // concurrent requests, each over its own channel, as published
)

// PerRequest opens a channel for each request.
const PerRequest = "per-request"

// OwnConnection opens a channel for each request, with a connection of its own. In Go, every channel has its own; the
// channels of gRPC Core share one per address.
const OwnConnection = "own-connection"

// DefaultChannel returns the published channel mode of a model.
func DefaultChannel(model string) string {
	if model == Async {
		return PerRequest
	}
	return caller.Shared
}

// Models lists every model.
var Models = []string{OneThread, Threads, Async}

// MaxRequests is how many requests the models threads and async handle at once, in every language; others wait. The model
// one-thread handles one.
const MaxRequests = 256

const (
	maxIterations  = 10_000           // calls of a request, as published
	maxOutputBytes = 32 << 20         // bytes of values in a response
	requestTimeout = 15 * time.Minute // of a request, including its wait for other requests
	callTimeout    = 30 * time.Second // of one call
	writeTimeout   = 30 * time.Second // of sending the response
)

// maxBurst is the largest number of calls of one request to /experiment/client.
const maxBurst = 10_000

// Options configure a gateway.
type Options struct {
	Target caller.Target // for all paths except /experiment/client; the caller of New closes it
	Model  string        // one of [Models]
	// Channel is caller.Shared, [PerRequest] or [OwnConnection]; empty: [DefaultChannel].
	Channel string
	Mode    string // value of the label mode of grpc_requests_total
	// ClusterIP and KubeResolver open these routes for /experiment/client.
	ClusterIP    func() (caller.Target, error)
	KubeResolver func(route.UpdateFunc) (caller.Target, error)
	// Token is the bearer token that requests must send; empty: none.
	Token string
	// Seed is the seed of random numbers. Two gateways with the same seed request the same numbers, in the
	// same order.
	Seed uint64
}

// Gateway answers requests by making calls.
type Gateway struct {
	options  Options
	numbers  *workload.Numbers
	counters atomic.Pointer[callCounters]
	client   *grpcprom.ClientMetrics
	standard grpc.UnaryClientInterceptor // of client
	slots    chan struct{}               // for requests in progress
	bursts   *semaphore.Weighted         // for calls of /experiment/client
	shared   *grpc.ClientConn            // nil: a channel per request

	randomLock sync.Mutex
	random     *rand.Rand

	mu                      sync.Mutex
	clusterIP, kubeResolver openRoute // of /experiment/client
	watched                 watched   // by kubeResolver
}

// openRoute is a route for /experiment/client; its channel is nil until the first use.
type openRoute struct {
	target  caller.Target
	channel *grpc.ClientConn
}

// New returns a gateway. Its channels connect at their first call.
func New(o Options) (*Gateway, error) {
	g := &Gateway{
		options: o, numbers: workload.NewNumbers(0, workload.LargestFibonacci),
		slots: make(chan struct{}, MaxRequests), bursts: semaphore.NewWeighted(maxBurst),
		random: rand.New(rand.NewPCG(o.Seed, 0)),
	}
	g.client = newClientMetrics()
	g.standard = g.client.UnaryClientInterceptor()
	g.Reset()
	switch o.Model {
	case OneThread:
		g.slots = make(chan struct{}, 1)
	case Threads, Async:
	default:
		return nil, fmt.Errorf("unknown model %q: use one of %v", o.Model, Models)
	}
	switch cmp.Or(o.Channel, DefaultChannel(o.Model)) {
	case PerRequest, OwnConnection:
		return g, nil
	case caller.Shared:
		var err error
		g.shared, err = g.dial(o.Target)
		return g, err
	}
	return nil, fmt.Errorf("unknown channel mode %q: use %s, %s or %s", o.Channel, caller.Shared, PerRequest, OwnConnection)
}

// Close closes the channels. Requests in progress fail.
func (g *Gateway) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	var errs []error
	if g.shared != nil {
		errs = append(errs, g.shared.Close())
	}
	for _, o := range []openRoute{g.clusterIP, g.kubeResolver} {
		if o.channel != nil {
			errs = append(errs, o.channel.Close())
			o.target.Close()
		}
	}
	return errors.Join(errs...)
}

// dial opens a channel whose calls are counted.
func (g *Gateway) dial(t caller.Target) (*grpc.ClientConn, error) {
	return grpc.NewClient(t.URI, append(grpcgo.DialOptions(t), grpc.WithUnaryInterceptor(g.count))...)
}

// Reset sets grpc_requests_total to 0. It keeps known series, at 0, because Prometheus' rate() ignores the
// first value of a new series. The metrics of the client, whose series cannot be kept at 0, continue to grow.
func (g *Gateway) Reset() {
	next := newCallCounters(g.options.Mode, g.client)
	if last := g.counters.Load(); last != nil {
		last.copySeries(next.requests)
	}
	g.counters.Store(next)
}

// count makes a call and counts it in the counters that were current when it began, and in the metrics of the client.
func (g *Gateway) count(ctx context.Context, method string, request, reply any, channel *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	m := g.counters.Load()
	var trailer metadata.MD
	err := g.standard(ctx, method, request, reply, channel, invoke, append(options, grpc.Trailer(&trailer))...)
	if err == nil {
		method = method[strings.LastIndex(method, ".")+1:] // Fibonacci/Compute
		m.requests.WithLabelValues(method, strings.Join(trailer[workload.BackendTrailer], "")).Inc()
	}
	return err
}

// channel returns the channel for a request's calls; call done when they have ended.
func (g *Gateway) channel() (channel *grpc.ClientConn, done func(), err error) {
	if g.shared != nil {
		return g.shared, func() {}, nil
	}
	channel, err = g.dial(g.options.Target)
	if err != nil {
		return nil, nil, err
	}
	return channel, func() { _ = channel.Close() }, nil
}

// draw returns a random number from 0 to n-1.
func (g *Gateway) draw(n int) int {
	g.randomLock.Lock()
	defer g.randomLock.Unlock()
	return g.random.IntN(n)
}

// admit waits until a request may run. Call done when the request has ended.
func (g *Gateway) admit(ctx context.Context) (done func(), err error) {
	select {
	case g.slots <- struct{}{}:
		return func() { <-g.slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
