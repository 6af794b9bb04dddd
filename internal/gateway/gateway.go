// Package gateway is the HTTP interface of studies 1 and 2: a request makes gRPC calls
// along a route, and says who answered them.
package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"

	"rpclab/internal/caller"
	"rpclab/internal/caller/grpcgo"
	"rpclab/internal/workload"
)

// The models of study 1.
const (
	OneThread = "one-thread" // one request at a time; the others wait for their turn
	Threads   = "threads"    // as many as come, over one channel
	Async     = "async"      // as many as come, each over a channel of its own, as published
)

// PerRequest is a channel for each request.
const PerRequest = "per-request"

// ChannelOf is how requests to a gateway of a model have their channels unless told
// otherwise: as the study did.
func ChannelOf(model string) string {
	if model == Async {
		return PerRequest
	}
	return caller.Shared
}

// Models are all models.
var Models = []string{OneThread, Threads, Async}

// MostAtOnce is how many requests a gateway works on; the others are told to come again.
const MostAtOnce = 256

const (
	mostIterations = 10_000           // calls of a request; study 1 made as many
	mostOutput     = 32 << 20         // bytes of values in an answer
	requestTimeout = 15 * time.Minute // of a request, its turn included
	callTimeout    = 30 * time.Second // of one of its calls
	writeTimeout   = 30 * time.Second // of its answer, until it is read
)

// Options say which calls are made how.
type Options struct {
	Target caller.Target // of the calls of study 1; it stays the caller's to close
	Model  string        // one of [Models]
	// Channel is shared by all requests, or opened by each: caller.Shared or [PerRequest];
	// empty: as the model has it.
	Channel string
	Mode    string // the label of grpc_requests_total: headless
	// Open opens another route, for the calls of study 2: clusterip, kuberesolver.
	Open func(route string) (caller.Target, error)
	// Token is what requests have to bear; empty: anything goes.
	Token string
	// Seed is of the numbers that are drawn: two gateways with the same seed and as many
	// calls of a range ask for the same numbers.
	Seed uint64
}

// Gateway makes calls for requests.
type Gateway struct {
	options Options
	numbers *workload.Numbers
	meters  atomic.Pointer[meters]
	places  chan struct{}       // for requests
	turn    chan struct{}       // for the one of [OneThread]; nil: nobody waits
	bursts  *semaphore.Weighted // for the calls of study 2
	shared  *grpc.ClientConn

	drawing sync.Mutex
	random  *rand.Rand

	mu     sync.Mutex
	others map[string]opened // of study 2, by route
}

// New makes a gateway. Its channels connect at their first call.
func New(o Options) (*Gateway, error) {
	g := &Gateway{
		options: o, numbers: workload.NewNumbers(0, workload.LargestFibonacci),
		places: make(chan struct{}, MostAtOnce), bursts: semaphore.NewWeighted(mostBurst), others: map[string]opened{},
		random: rand.New(rand.NewPCG(o.Seed, 0)),
	}
	g.Reset()
	switch o.Model {
	case OneThread:
		g.turn = make(chan struct{}, 1)
	case Threads, Async:
	default:
		return nil, fmt.Errorf("model %q is none of %v", o.Model, Models)
	}
	switch cmp.Or(o.Channel, ChannelOf(o.Model)) {
	case PerRequest:
		return g, nil
	case caller.Shared:
		var err error
		g.shared, err = g.dial(o.Target)
		return g, err
	}
	return nil, fmt.Errorf("channel %q is neither %s nor %s", o.Channel, caller.Shared, PerRequest)
}

// Close ends the channels. Requests under way fail.
func (g *Gateway) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	var errs []error
	if g.shared != nil {
		errs = append(errs, g.shared.Close())
	}
	for _, o := range g.others {
		errs = append(errs, o.channel.Close())
		o.target.Close()
	}
	return errors.Join(errs...)
}

// dial makes a channel whose calls are counted.
func (g *Gateway) dial(t caller.Target) (*grpc.ClientConn, error) {
	return grpc.NewClient(t.URI, append(grpcgo.DialOptions(t), grpc.WithUnaryInterceptor(g.count))...)
}

// channel is what a request's calls go over, until done.
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

// draw is a number from 0 to n-1.
func (g *Gateway) draw(n int) int {
	g.drawing.Lock()
	defer g.drawing.Unlock()
	return g.random.IntN(n)
}

// admit gives a request its place and its turn, until done.
func (g *Gateway) admit(ctx context.Context) (done func(), err error) {
	select {
	case g.places <- struct{}{}:
	default:
		return nil, failure{http.StatusServiceUnavailable, "UNAVAILABLE", fmt.Sprintf("%d requests are under way, and no more are taken; come again", MostAtOnce)}
	}
	if g.turn == nil {
		return func() { <-g.places }, nil
	}
	select {
	case g.turn <- struct{}{}:
		return func() { <-g.turn; <-g.places }, nil
	case <-ctx.Done():
		<-g.places
		return nil, ctx.Err()
	}
}
