package gateway

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/workload"
)

// callResult is a successful call.
type callResult struct {
	Server string `json:"server_name"`
	N      *int   `json:"n,omitempty"` // of a Fibonacci number
	Value  string `json:"value"`       // decimal
}

// response is the response to a request.
type response struct {
	body     any // encoded as JSON, except a string
	backends map[string]int
}

// fibonacciRandom handles /fibonacci/random: it requests Fibonacci numbers with random n, one after the other.
func (g *Gateway) fibonacciRandom(ctx context.Context, q *query) (response, error) {
	iterations, output := q.iterations(), q.boolean("output")
	from := q.number("fibo_start", 800, 0, workload.LargestFibonacci)
	to := q.number("fibo_end", 1000, 0, workload.LargestFibonacci)
	if from > to {
		q.fail("fibo_start is %d and fibo_end %d: fibo_start must not be larger (without them, they are 800 and 1000)", from, to)
	}
	if digits := iterations * (to/4 + 1); output && digits > maxOutputBytes { // a number has 0.209 digits for each n
		q.fail("output=true would return up to %d MiB, and the limit is %d: request fewer iterations or a smaller fibo_end", digits>>20, maxOutputBytes>>20)
	}
	if err := q.finish(); err != nil {
		return response{}, err
	}
	return g.repeat(ctx, iterations, output, func(ctx context.Context, channel grpc.ClientConnInterface) (callResult, error) {
		return g.compute(ctx, channel, from+g.draw(to-from+1))
	})
}

// fibonacci handles /fibonacci: it requests one Fibonacci number.
func (g *Gateway) fibonacci(ctx context.Context, q *query) (response, error) {
	n := q.required("n", 0, workload.LargestFibonacci)
	if err := q.finish(); err != nil {
		return response{}, err
	}
	channel, done, err := g.channel()
	if err != nil {
		return response{}, err
	}
	defer done()
	call, err := g.compute(ctx, channel, n)
	return response{call, map[string]int{call.Server: 1}}, err
}

// increment handles /increment: it increments a counter, one call after the other.
func (g *Gateway) increment(ctx context.Context, q *query) (response, error) {
	iterations, output := q.iterations(), q.boolean("output")
	if err := q.finish(); err != nil {
		return response{}, err
	}
	return g.repeat(ctx, iterations, output, increase)
}

func increase(ctx context.Context, channel grpc.ClientConnInterface) (callResult, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	reply, err := rpclabv1.NewCounterClient(channel).Increment(ctx, &rpclabv1.IncrementRequest{Name: "gateway"})
	if err != nil {
		return callResult{}, err
	}
	return callResult{Server: reply.ServerName, Value: strconv.FormatUint(reply.Number, 10)}, nil
}

func (g *Gateway) compute(ctx context.Context, channel grpc.ClientConnInterface, n int) (callResult, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	reply, err := rpclabv1.NewFibonacciClient(channel).Compute(ctx, &rpclabv1.FibonacciRequest{N: uint32(n)})
	if err != nil {
		return callResult{}, err
	}
	if err := g.numbers.Check(n, reply.Value); err != nil {
		return callResult{}, status.Errorf(codes.DataLoss, "%s: %v", reply.ServerName, err)
	}
	return callResult{Server: reply.ServerName, N: &n, Value: reply.Value}, nil
}

// repeat makes the calls of a request one after the other until one fails.
func (g *Gateway) repeat(ctx context.Context, iterations int, output bool, call func(context.Context, grpc.ClientConnInterface) (callResult, error)) (response, error) {
	channel, done, err := g.channel()
	if err != nil {
		return response{}, err
	}
	defer done()
	backends := map[string]int{}
	calls := []callResult{}
	for range iterations {
		answered, err := call(ctx, channel)
		if err != nil {
			return response{}, err
		}
		backends[answered.Server]++
		if output {
			calls = append(calls, answered)
		}
	}
	if output {
		return response{map[string]any{"calls": calls}, backends}, nil
	}
	return response{summarize(iterations, backends), backends}, nil
}

// summarize returns the response without output=true.
func summarize(calls int, backends map[string]int) string {
	var each []string
	for _, id := range slices.Sorted(maps.Keys(backends)) {
		each = append(each, fmt.Sprintf("%s %d", id, backends[id]))
	}
	return fmt.Sprintf("calls answered: %d (%s)\n", calls, strings.Join(each, ", "))
}

// encodeBackends returns the value of [nethttp.BackendsHeader].
func encodeBackends(backends map[string]int) string {
	counts := url.Values{}
	for id, calls := range backends {
		counts.Set(id, strconv.Itoa(calls))
	}
	return counts.Encode()
}
