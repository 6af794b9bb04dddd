package workload

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	rpclabv1 "rpclab/api/rpclab/v1"
)

// LargestOrder is the largest number of articles in an order.
const LargestOrder = 100_000

// Orders is OrderService/PlaceOrder, answered after Delay plus a random time up to Spread.
type Orders struct {
	Delay    time.Duration `json:"delay"`
	Spread   time.Duration `json:"spread"`
	Articles int           `json:"articles"` // in an order
}

func (o Orders) args() []string {
	return []string{"--delay", DurationArg(o.Delay), "--spread", DurationArg(o.Spread)}
}

func (o Orders) unary() (Unary, error) {
	if o.Articles < 0 || o.Articles > LargestOrder {
		return Unary{}, fmt.Errorf("orders of %d articles: use 0 to %d", o.Articles, LargestOrder)
	}
	order := &rpclabv1.Order{}
	for i := range o.Articles {
		order.Articles = append(order.Articles, &rpclabv1.Article{
			Id: fmt.Sprintf("article-%06d", i), Quantity: int32(i%9 + 1), UnitPrice: float64(i%1000) + 0.99,
		})
	}
	return Unary{
		Method:      rpclabv1.OrderService_PlaceOrder_FullMethodName,
		Path:        "/orders",
		SameRequest: true,
		Request:     func(uint64) proto.Message { return order },
		Reply:       func() proto.Message { return new(rpclabv1.OrderReply) },
		Check: func(_ uint64, m proto.Message, backend string) error {
			id := m.(*rpclabv1.OrderReply).Id
			if err := uuid.Validate(id); err != nil || backend == "" {
				return fmt.Errorf("wrong response %q, trailer %q", id, backend)
			}
			return nil
		},
	}, nil
}

// orders is the server of the workload orders.
type orders struct {
	rpclabv1.UnimplementedOrderServiceServer
	delay, spread time.Duration
}

func (o orders) PlaceOrder(ctx context.Context, order *rpclabv1.Order) (*rpclabv1.OrderReply, error) {
	if n := len(order.Articles); n > LargestOrder {
		return nil, status.Errorf(codes.InvalidArgument, "the order has %d articles; the limit is %d", n, LargestOrder)
	}
	for i, a := range order.Articles {
		if a.GetQuantity() < 1 {
			return nil, status.Errorf(codes.InvalidArgument, "article %d (%q): the quantity is %d, but must be at least 1", i, a.GetId(), a.GetQuantity())
		}
	}
	if err := sleep(ctx, o.delay+rand.N(o.spread+1)); err != nil {
		return nil, err
	}
	return &rpclabv1.OrderReply{Id: uuid.NewString()}, nil
}
