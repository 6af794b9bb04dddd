package grpcgo_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"rpclab/internal/caller/grpcgo"
)

// limited is a context whose deadline passes when passed is set, and which does not end then: the server's status arrives first.
type limited struct {
	context.Context
	passed *atomic.Bool
}

func (l limited) Deadline() (time.Time, bool) {
	if l.passed.Load() {
		return time.Now(), true
	}
	return time.Now().Add(time.Hour), true
}

func TestACancellationByTheServerAtTheDeadlineIsDeadlineExceeded(t *testing.T) {
	var passes, passed atomic.Bool
	server := grpc.NewServer(grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error {
		passed.Store(passes.Load())
		return status.Error(codes.Canceled, "Timeout expired") // as tonic
	}))
	defer server.Stop()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(listener) }()
	channel, err := grpc.NewClient("passthrough:///"+listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer channel.Close()
	for _, want := range []codes.Code{codes.Canceled, codes.DeadlineExceeded} {
		passes.Store(want == codes.DeadlineExceeded)
		_, err := grpcgo.Invoke(limited{t.Context(), &passed}, channel, encoding.GetCodecV2(proto.Name), "/a.B/C", &emptypb.Empty{}, &emptypb.Empty{})
		if status.Code(err) != want {
			t.Errorf("the call ended with %v, want %v", err, want)
		}
	}
}
