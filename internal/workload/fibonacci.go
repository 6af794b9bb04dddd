package workload

import (
	"context"
	"fmt"
	"hash/maphash"
	"math/big"
	"strconv"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	rpclabv1 "rpclab/api/rpclab/v1"
)

// LargestFibonacci is the largest n that servers accept; the number has 20,899 digits.
const LargestFibonacci = 100_000

// Fibonacci is Fibonacci/Compute: n runs from From to To and starts again.
type Fibonacci struct {
	From int `json:"from"`
	To   int `json:"to"`
}

func (f Fibonacci) args() []string { return nil }

func (f Fibonacci) unary() (Unary, error) {
	if f.From < 0 || f.To < f.From || f.To > LargestFibonacci {
		return Unary{}, fmt.Errorf("fibonacci from %d to %d: use 0 to %d, and from no larger than to", f.From, f.To, LargestFibonacci)
	}
	count := uint64(f.To - f.From + 1)
	known := NewNumbers(f.From, f.To)
	numberOf := func(call uint64) int { return f.From + int(call%count) }
	return Unary{
		Method: rpclabv1.Fibonacci_Compute_FullMethodName,
		Path:   "/fibonacci",
		Request: func(call uint64) proto.Message {
			return &rpclabv1.FibonacciRequest{N: uint32(numberOf(call))}
		},
		Reply: func() proto.Message { return new(rpclabv1.FibonacciReply) },
		Check: func(call uint64, m proto.Message, backend string) error {
			reply := m.(*rpclabv1.FibonacciReply)
			if reply.ServerName != backend || backend == "" {
				return fmt.Errorf("the answer names %q, its trailer %q", reply.ServerName, backend)
			}
			return known.Check(numberOf(call), reply.Value)
		},
	}, nil
}

// Numbers checks Fibonacci numbers of a range. It computes each number once, at the first check, and
// keeps a hash of eight bytes. It is safe for concurrent use.
type Numbers struct {
	from int
	sums []atomic.Uint64 // hashes of the decimal strings; 0: not computed yet
	seed maphash.Seed
}

// NewNumbers returns a checker of the numbers from to to, both included.
func NewNumbers(from, to int) *Numbers {
	return &Numbers{from: from, sums: make([]atomic.Uint64, to-from+1), seed: maphash.MakeSeed()}
}

// Check returns an error unless value is the n-th number in decimal.
func (k *Numbers) Check(n int, value string) error {
	sum := &k.sums[n-k.from]
	want := sum.Load()
	if want == 0 {
		want = maphash.String(k.seed, fibonacciByDoubling(n).String())
		sum.Store(want)
	}
	if maphash.String(k.seed, value) != want {
		return fmt.Errorf("wrong response: %s is not the Fibonacci number %d", truncate(value), n)
	}
	return nil
}

// fibonacciByDoubling computes the n-th number with a different algorithm from the server's:
// F(2k) = F(k)·(2F(k+1)−F(k)), F(2k+1) = F(k)²+F(k+1)² (Knuth, TAOCP 1, 1.2.8).
func fibonacciByDoubling(n int) *big.Int {
	a, b, even, odd := big.NewInt(0), big.NewInt(1), new(big.Int), new(big.Int) // F(k), F(k+1)
	for _, bit := range strconv.FormatInt(int64(n), 2) {
		even.Lsh(b, 1)
		even.Mul(even.Sub(even, a), a)
		odd.Add(odd.Mul(a, a), b.Mul(b, b))
		if bit == '1' {
			b.Add(even, odd)
			a, odd = odd, a
		} else {
			a, b, even, odd = even, odd, a, b
		}
	}
	return a
}

func truncate(value string) string {
	if len(value) <= 40 {
		return strconv.Quote(value)
	}
	return fmt.Sprintf("%q… (%d characters)", value[:40], len(value))
}

// fibonacci is the server of the workload fibonacci.
type fibonacci struct {
	rpclabv1.UnimplementedFibonacciServer
	id string
}

// Compute adds numbers one by one, so its cost grows with n.
func (f fibonacci) Compute(ctx context.Context, request *rpclabv1.FibonacciRequest) (*rpclabv1.FibonacciReply, error) {
	if request.N > LargestFibonacci {
		return nil, status.Errorf(codes.InvalidArgument, "n is %d; the largest is %d", request.N, LargestFibonacci)
	}
	a, b := big.NewInt(0), big.NewInt(1)
	for i := range request.N {
		if i%4096 == 0 && ctx.Err() != nil {
			return nil, status.FromContextError(ctx.Err()).Err()
		}
		a.Add(a, b)
		a, b = b, a
	}
	return &rpclabv1.FibonacciReply{Value: a.String(), ServerName: f.id}, nil
}
