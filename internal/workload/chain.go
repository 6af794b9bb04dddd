package workload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	rpclabv1 "rpclab/api/rpclab/v1"
)

// Increase is Chain/Increase: call n requests the number after n.
type Increase struct{}

func (Increase) args() []string { return nil }

func (Increase) unary() (Unary, error) {
	return Unary{
		Method:  rpclabv1.Chain_Increase_FullMethodName,
		Stream:  rpclabv1.Chain_Increases_FullMethodName,
		Path:    "/increase",
		Request: func(n uint64) proto.Message { return &rpclabv1.Number{Value: uint32(n)} },
		Reply:   func() proto.Message { return new(rpclabv1.Number) },
		Check: func(n uint64, m proto.Message, backend string) error {
			if got := m.(*rpclabv1.Number).Value; got != uint32(n)+1 || backend == "" {
				return fmt.Errorf("wrong response: %d after %d, trailer %q", got, uint32(n), backend)
			}
			return nil
		},
	}, nil
}

// chain is the server of the workload increase.
type chain struct {
	rpclabv1.UnimplementedChainServer
}

func (chain) Increase(_ context.Context, n *rpclabv1.Number) (*rpclabv1.Number, error) {
	if n.Value == math.MaxUint32 {
		return nil, status.Errorf(codes.OutOfRange, "there is no number after %d", n.Value)
	}
	return &rpclabv1.Number{Value: n.Value + 1}, nil
}

// Increases answers each number before it reads the next.
func (c chain) Increases(stream grpc.BidiStreamingServer[rpclabv1.Number, rpclabv1.Number]) error {
	for {
		n, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		after, err := c.Increase(stream.Context(), n)
		if err != nil {
			return err
		}
		if err := stream.Send(after); err != nil {
			return err
		}
	}
}
