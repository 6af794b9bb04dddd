package workload

import (
	"context"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"rpclab/internal/security"
)

// tokenOptions return server options that reject calls without the token, except health checks.
// They are the outermost interceptors, so a rejected call is not counted.
func (s *Server) tokenOptions() []grpc.ServerOption {
	if s.Token == "" {
		return nil
	}
	check := func(ctx context.Context, method string) error {
		if strings.HasPrefix(method, "/"+healthv1.Health_ServiceDesc.ServiceName+"/") || security.CallHasBearer(ctx, s.Token) {
			return nil
		}
		return status.Error(codes.Unauthenticated, "this server requires its token as metadata: authorization: Bearer TOKEN")
	}
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(func(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
			if err := check(ctx, info.FullMethod); err != nil {
				return nil, err
			}
			return handle(ctx, request)
		}),
		grpc.ChainStreamInterceptor(func(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
			if err := check(stream.Context(), info.FullMethod); err != nil {
				return err
			}
			return handle(server, stream)
		}),
	}
}
