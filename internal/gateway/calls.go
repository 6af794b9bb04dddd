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

// one is a call that was answered.
type one struct {
	Server string `json:"server_name"`
	N      *int   `json:"n,omitempty"` // of a Fibonacci number
	Value  string `json:"value"`       // decimal
}

// answer is what a request is told.
type answer struct {
	body     any // JSON, or a string
	backends map[string]int
}

// fibonacciRandom is study 1's load: numbers of a range, one after the other.
func (g *Gateway) fibonacciRandom(ctx context.Context, q *query) (answer, error) {
	iterations, output := q.iterations(), q.truth("output")
	from := q.number("fibo_start", 800, 0, workload.LargestFibonacci)
	to := q.number("fibo_end", 1000, 0, workload.LargestFibonacci)
	if from > to {
		q.refuse("fibo_start is %d and fibo_end %d: the first must not be more than the last (without them, they are 800 and 1000)", from, to)
	}
	if digits := iterations * (to/4 + 1); output && digits > mostOutput { // a number has 0.209 digits for each n
		q.refuse("output=true would be as much as %d MiB: the most is %d; ask for fewer iterations, or a smaller fibo_end", digits>>20, mostOutput>>20)
	}
	if err := q.unknown(); err != nil {
		return answer{}, err
	}
	return g.repeat(ctx, iterations, output, func(ctx context.Context, channel grpc.ClientConnInterface) (one, error) {
		return g.compute(ctx, channel, from+g.draw(to-from+1))
	})
}

// fibonacci is one number.
func (g *Gateway) fibonacci(ctx context.Context, q *query) (answer, error) {
	n := q.required("n", 0, workload.LargestFibonacci)
	if err := q.unknown(); err != nil {
		return answer{}, err
	}
	channel, done, err := g.channel()
	if err != nil {
		return answer{}, err
	}
	defer done()
	call, err := g.compute(ctx, channel, n)
	return answer{call, map[string]int{call.Server: 1}}, err
}

// increment counts, wherever the calls go.
func (g *Gateway) increment(ctx context.Context, q *query) (answer, error) {
	iterations, output := q.iterations(), q.truth("output")
	if err := q.unknown(); err != nil {
		return answer{}, err
	}
	return g.repeat(ctx, iterations, output, increase)
}

func increase(ctx context.Context, channel grpc.ClientConnInterface) (one, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	reply, err := rpclabv1.NewCounterClient(channel).Increment(ctx, &rpclabv1.IncrementRequest{Name: "gateway"})
	if err != nil {
		return one{}, err
	}
	return one{Server: reply.ServerName, Value: strconv.FormatUint(reply.Number, 10)}, nil
}

func (g *Gateway) compute(ctx context.Context, channel grpc.ClientConnInterface, n int) (one, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	reply, err := rpclabv1.NewFibonacciClient(channel).Compute(ctx, &rpclabv1.FibonacciRequest{N: uint32(n)})
	if err != nil {
		return one{}, err
	}
	if err := g.numbers.Check(n, reply.Value); err != nil {
		return one{}, status.Errorf(codes.DataLoss, "%s: %v", reply.ServerName, err)
	}
	return one{Server: reply.ServerName, N: &n, Value: reply.Value}, nil
}

// repeat makes the calls of a request, one after the other, until one fails.
func (g *Gateway) repeat(ctx context.Context, iterations int, output bool, call func(context.Context, grpc.ClientConnInterface) (one, error)) (answer, error) {
	channel, done, err := g.channel()
	if err != nil {
		return answer{}, err
	}
	defer done()
	backends := map[string]int{}
	calls := []one{}
	for range iterations {
		answered, err := call(ctx, channel)
		if err != nil {
			return answer{}, err
		}
		backends[answered.Server]++
		if output {
			calls = append(calls, answered)
		}
	}
	if output {
		return answer{map[string]any{"calls": calls}, backends}, nil
	}
	return answer{inWords(iterations, backends), backends}, nil
}

// inWords is the short answer.
func inWords(calls int, backends map[string]int) string {
	var each []string
	for _, id := range slices.Sorted(maps.Keys(backends)) {
		each = append(each, fmt.Sprintf("%s %d", id, backends[id]))
	}
	return fmt.Sprintf("calls answered: %d (%s)\n", calls, strings.Join(each, ", "))
}

// header is the value of [overhttp.Backends].
func header(backends map[string]int) string {
	counts := url.Values{}
	for id, calls := range backends {
		counts.Set(id, strconv.Itoa(calls))
	}
	return counts.Encode()
}
