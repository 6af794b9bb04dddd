package workload

import (
	"context"
	"fmt"
	"sync/atomic"

	"google.golang.org/protobuf/proto"

	rpclabv1 "rpclab/api/rpclab/v1"
)

// Increment is Counter/Increment: each backend has its own counter.
type Increment struct{}

func (Increment) args() []string { return nil }

func (Increment) unary() (Unary, error) {
	request := &rpclabv1.IncrementRequest{Name: "rpclab"}
	return Unary{
		Method:  rpclabv1.Counter_Increment_FullMethodName,
		Request: func(uint64) proto.Message { return request },
		Reply:   func() proto.Message { return new(rpclabv1.IncrementReply) },
		Check: func(_ uint64, m proto.Message, backend string) error {
			reply := m.(*rpclabv1.IncrementReply)
			if reply.Number == 0 || reply.ServerName != backend || backend == "" {
				return fmt.Errorf("wrong response %d by %q, trailer %q", reply.Number, reply.ServerName, backend)
			}
			return nil
		},
	}, nil
}

// counter is the server of the workload increment.
type counter struct {
	rpclabv1.UnimplementedCounterServer
	id     string
	number atomic.Uint64
}

func (c *counter) Increment(context.Context, *rpclabv1.IncrementRequest) (*rpclabv1.IncrementReply, error) {
	return &rpclabv1.IncrementReply{Number: c.number.Add(1), ServerName: c.id}, nil
}
