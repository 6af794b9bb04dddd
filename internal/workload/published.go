package workload

import (
	"context"
	"net/http"
	"strconv"

	"google.golang.org/grpc"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/api/studies/balancing"
	chainpy "rpclab/api/studies/chain"
	"rpclab/api/studies/chainrust"
	"rpclab/api/studies/chainstream"
	"rpclab/api/studies/ladder"
	"rpclab/api/studies/streams"
)

// registerPublished registers the services of the published studies by their own names. On the wire their
// messages are those of rpclab.v1, except for orders, so the same functions answer them.
func (s *Server) registerPublished(server *grpc.Server, count *counter, calculations *calculator) {
	numbers := struct {
		fibonacci
		*counter
	}{fibonacci{id: s.ID}, count}
	increase := []grpc.MethodDesc{{MethodName: "increase", Handler: rpclabv1.Chain_ServiceDesc.Methods[0].Handler}}
	increases := rpclabv1.Chain_ServiceDesc.Streams[0]
	increases.StreamName = "increase"
	calculator := rpclabv1.CalculatorService_ServiceDesc // its methods have the study's names
	for _, service := range []struct {
		published grpc.ServiceDesc
		server    any
		methods   []grpc.MethodDesc
		streams   []grpc.StreamDesc
	}{
		{balancing.FibonacciService_ServiceDesc, numbers, []grpc.MethodDesc{
			{MethodName: "Fibonacci", Handler: rpclabv1.Fibonacci_ServiceDesc.Methods[0].Handler},
			{MethodName: "Increment", Handler: rpclabv1.Counter_ServiceDesc.Methods[0].Handler},
		}, nil},
		{chainpy.SimplePythonPython_ServiceDesc, chain{}, increase, nil},
		{chainrust.PythonToRustSimpleService_ServiceDesc, chain{}, increase, nil},
		{chainstream.TwoWayStreamPythonToPython_ServiceDesc, chain{}, nil, []grpc.StreamDesc{increases}},
		{streams.CalculatorService_ServiceDesc, calculations, calculator.Methods, calculator.Streams},
	} {
		desc := service.published
		desc.HandlerType, desc.Methods, desc.Streams = (*any)(nil), service.methods, service.streams
		server.RegisterService(&desc, service.server)
	}
	ladder.RegisterOrderServiceServer(server, publishedOrders{orders: orders{delay: s.Delay, spread: s.Spread}})
}

// publishedOrders is the published OrderService.
type publishedOrders struct {
	ladder.UnimplementedOrderServiceServer
	orders orders
}

func (o publishedOrders) PlaceOrder(ctx context.Context, request *ladder.OrderRequest) (*ladder.OrderResponse, error) {
	order := &rpclabv1.Order{Articles: make([]*rpclabv1.Article, len(request.Articles))}
	for i, a := range request.Articles {
		order.Articles[i] = &rpclabv1.Article{Id: a.GetId(), Quantity: a.GetQuantity(), UnitPrice: float64(a.GetUnitPrice())}
	}
	reply, err := o.orders.PlaceOrder(ctx, order)
	return &ladder.OrderResponse{Id: reply.GetId()}, err
}

// handlePublished registers the REST paths of the published studies.
func (s *Server) handlePublished(mux *http.ServeMux) {
	mux.HandleFunc("GET /increase/{number}", func(w http.ResponseWriter, r *http.Request) {
		number, err := strconv.ParseInt(r.PathValue("number"), 10, 64)
		if err != nil {
			w.WriteHeader(http.StatusUnprocessableEntity)
			return
		}
		s.answer(w, r, func(context.Context) (any, error) { return publishedNumber{number + 1}, nil })
	})
	orders := orders{delay: s.Delay, spread: s.Spread}
	mux.Handle("POST /orders", post(s, func(ctx context.Context, q *publishedOrder) (*publishedOrderID, error) {
		reply, err := orders.PlaceOrder(ctx, q.order())
		return &publishedOrderID{reply.GetId(), reply.GetId()}, err
	}))
}

// publishedNumber is the response to GET /increase/{number}.
type publishedNumber struct {
	Number int64 `json:"number"`
}

// publishedOrder is an order of the published study, or of rpclab, which has articles only.
type publishedOrder struct {
	CustomerID    string `json:"customerId"`
	CreatedAt     string `json:"createdAt"`
	PaymentMethod string `json:"paymentMethod"`
	Articles      []struct {
		ID              string  `json:"id"`
		Quantity        int32   `json:"quantity"`
		UnitPrice       float64 `json:"unitPrice"`
		RpclabUnitPrice float64 `json:"unit_price"`
	} `json:"articles"`
}

func (o *publishedOrder) order() *rpclabv1.Order {
	order := &rpclabv1.Order{Articles: make([]*rpclabv1.Article, len(o.Articles))}
	for i, a := range o.Articles {
		order.Articles[i] = &rpclabv1.Article{Id: a.ID, Quantity: a.Quantity, UnitPrice: max(a.UnitPrice, a.RpclabUnitPrice)}
	}
	return order
}

// publishedOrderID is the response to a published order: the study's field and rpclab's.
type publishedOrderID struct {
	Value string `json:"value"`
	ID    string `json:"id"`
}
