package lab

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"

	"rpclab/internal/cluster"
	"rpclab/internal/service"
)

// oneServer is a deployment with one backend.
type oneServer struct {
	cluster.Deployment
	at netip.AddrPort
}

func (s oneServer) Service() cluster.Service { return cluster.Service{Name: "shop"} }

func (s oneServer) Endpoints() *cluster.Endpoints {
	all := cluster.NewEndpoints()
	all.Set(cluster.Endpoint{ID: "one", Addr: s.at, Serving: true})
	return all
}

// Only a server that answers shows that a service file is wrong: one that is gone or hangs is a failure of the run.
func TestAServerThatDoesNotAnswerIsNoMistakeOfTheServiceFile(t *testing.T) {
	dies := func(any, grpc.ServerStream, *grpc.StreamServerInfo, grpc.StreamHandler) error {
		return status.Error(codes.Unavailable, "shutting down")
	}
	hangs := func(_ any, s grpc.ServerStream, _ *grpc.StreamServerInfo, _ grpc.StreamHandler) error {
		<-s.Context().Done()
		return s.Context().Err()
	}
	for name, c := range map[string]struct {
		reflects  bool
		intercept grpc.StreamServerInterceptor
		gone      bool
		wrong     bool
	}{
		"no reflection":   {wrong: true},
		"no such service": {reflects: true, wrong: true},
		"it dies":         {reflects: true, intercept: dies},
		"it hangs":        {reflects: true, intercept: hangs},
		"it is gone":      {gone: true},
	} {
		t.Run(name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			var options []grpc.ServerOption
			if c.intercept != nil {
				options = append(options, grpc.StreamInterceptor(c.intercept))
			}
			server := grpc.NewServer(options...)
			if c.reflects {
				reflection.Register(server)
			}
			if c.gone {
				_ = listener.Close()
			}
			served := make(chan struct{})
			go func() { defer close(served); _ = server.Serve(listener) }()
			defer func() { server.Stop(); <-served }()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			call := service.Spec{Name: "get", Method: "shop.Orders/Get"}
			err = descriptions{}.complete(ctx, &call, oneServer{at: netip.MustParseAddrPort(listener.Addr().String())})
			if err == nil || errors.Is(err, ErrService) != c.wrong {
				t.Errorf("the error is %v; is it one of the service file: %v, want %v", err, errors.Is(err, ErrService), c.wrong)
			}
		})
	}
}
