package workload_test

import (
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/workload"
)

// call makes call n of a workload, as a caller does, and returns what is wrong with the response.
func call(t *testing.T, channel *grpc.ClientConn, calls workload.Unary, n uint64) error {
	t.Helper()
	reply := calls.Reply()
	var trailer metadata.MD
	if err := channel.Invoke(t.Context(), calls.Method, calls.Request(n), reply, grpc.Trailer(&trailer)); err != nil {
		return err
	}
	return calls.Check(n, reply, strings.Join(trailer[workload.BackendTrailer], ""))
}

func unary(t *testing.T, s workload.Spec) workload.Unary {
	t.Helper()
	calls, err := s.Unary()
	if err != nil {
		t.Fatal(err)
	}
	return calls
}

// Server and check use different algorithms. Every number of a range is requested twice.
func TestFibonacciCallsReturnTheRightNumber(t *testing.T) {
	channel, _, _ := serve(t, &workload.Server{ID: "b1"})
	for _, numbers := range []workload.Fibonacci{{From: 0, To: 130}, {From: 999, To: 1000}, {From: workload.LargestFibonacci, To: workload.LargestFibonacci}} {
		calls := unary(t, workload.Spec{Fibonacci: &numbers})
		var all sync.WaitGroup
		for n := range uint64(2 * (numbers.To - numbers.From + 1)) {
			all.Go(func() {
				if err := call(t, channel, calls, n); err != nil {
					t.Errorf("from %d to %d, call %d: %v", numbers.From, numbers.To, n, err)
				}
			})
		}
		all.Wait()
	}
}

func TestAWrongFibonacciNumberIsRejected(t *testing.T) {
	calls := unary(t, workload.Spec{Fibonacci: &workload.Fibonacci{From: 10, To: 12}})
	for why, reply := range map[string]*rpclabv1.FibonacciReply{
		"of another call":    {Value: "55", ServerName: "b1"},
		"not a number":       {Value: "", ServerName: "b1"},
		"by another backend": {Value: "89", ServerName: "b2"},
	} {
		if err := calls.Check(1, reply, "b1"); err == nil {
			t.Errorf("an answer %s is accepted, want an error", why)
		}
	}
	if err := calls.Check(1, &rpclabv1.FibonacciReply{Value: "89", ServerName: "b1"}, "b1"); err != nil {
		t.Error(err)
	}
}

func TestATooLargeNumberIsRejected(t *testing.T) {
	channel, _, _ := serve(t, &workload.Server{ID: "b1"})
	_, err := rpclabv1.NewFibonacciClient(channel).Compute(t.Context(), &rpclabv1.FibonacciRequest{N: workload.LargestFibonacci + 1})
	if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "n is 100001; the largest is 100000") {
		t.Errorf("n over the limit returns %v, want INVALID_ARGUMENT with the limit", err)
	}
	for _, f := range []workload.Fibonacci{{From: -1, To: 1}, {From: 2, To: 1}, {From: 0, To: workload.LargestFibonacci + 1}} {
		if _, err := (workload.Spec{Fibonacci: &f}).Unary(); err == nil {
			t.Errorf("fibonacci from %d to %d is accepted, want an error", f.From, f.To)
		}
	}
}

func TestConcurrentCallsOfACounterReceiveDifferentNumbers(t *testing.T) {
	channel, _, _ := serve(t, &workload.Server{ID: "b1"})
	var mu sync.Mutex
	seen := map[uint64]bool{}
	var all sync.WaitGroup
	const calls = 200
	for range calls {
		all.Go(func() {
			reply, err := rpclabv1.NewCounterClient(channel).Increment(t.Context(), &rpclabv1.IncrementRequest{Name: "you"})
			if err != nil || reply.ServerName != "b1" {
				t.Errorf("the reply is %v, %v; want a number by b1", reply, err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			seen[reply.Number] = true
		})
	}
	all.Wait()
	if len(seen) != calls || !seen[1] || !seen[calls] {
		t.Errorf("%d calls received %d different numbers, want 1 to %d", calls, len(seen), calls)
	}
	if err := call(t, channel, unary(t, workload.Spec{Increment: &workload.Increment{}}), 0); err != nil {
		t.Error(err)
	}
}
