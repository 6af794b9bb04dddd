package agent

import (
	"context"
	"crypto/subtle"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

func (a *Agent) admitCall(ctx context.Context, request any, _ *grpc.UnaryServerInfo, serve grpc.UnaryHandler) (any, error) {
	if err := a.admit(ctx); err != nil {
		return nil, err
	}
	return serve(ctx, request)
}

func (a *Agent) admitStream(server any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, serve grpc.StreamHandler) error {
	if err := a.admit(stream.Context()); err != nil {
		return err
	}
	return serve(server, stream)
}

// admit asks for the token, in constant time.
func (a *Agent) admit(ctx context.Context) error {
	if a.Token == "" {
		return nil
	}
	head, _ := metadata.FromIncomingContext(ctx)
	given := strings.TrimPrefix(strings.Join(head.Get("authorization"), ""), "Bearer ")
	if subtle.ConstantTimeCompare([]byte(given), []byte(a.Token)) != 1 {
		return status.Error(codes.Unauthenticated, "this agent wants its token as metadata: authorization: Bearer …")
	}
	return nil
}
