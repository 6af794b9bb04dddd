package controlplane

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	xds "github.com/envoyproxy/go-control-plane/pkg/server/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"rpclab/internal/route/endpointslice"
	"rpclab/internal/route/settings"
	"rpclab/internal/security"
)

// anyNode is the cache key of all clients: they all receive the same resources, whatever node
// id they send.
const anyNode = "any"

// sameNode maps every node to anyNode.
type sameNode struct{}

// ID implements cache.NodeHash.
func (sameNode) ID(*core.Node) string { return anyNode }

// Server is a control plane for one service.
type Server struct {
	Service  string // what clients ask for: xds:///greeter
	Settings settings.Settings
	Source   Source

	Token string // that every client must send; empty: none
	Log   *slog.Logger
	// Serving is called once, when the server answers clients; may be nil.
	Serving func()
}

// Serve answers clients until ctx ends. It begins when the source has sent its first set, so
// that no client receives an empty set before. gRPC's health service says when.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	defer listener.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	known := cache.NewSnapshotCache(false, sameNode{}, nil)
	first := make(chan struct{})
	fed := make(chan error, 1)
	go func() { fed <- s.feed(ctx, known, first) }()
	select {
	case <-first:
	case err := <-fed:
		return err
	}
	server := grpc.NewServer(
		grpc.StreamInterceptor(s.admit),
		// gRPC clients and Envoy send keepalives on an idle stream more often than the default allows.
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Second, PermitWithoutStream: true}),
	)
	healthv1.RegisterHealthServer(server, health.NewServer())
	streams := newStreamLog(s.Log)
	discovery.RegisterAggregatedDiscoveryServiceServer(server, xds.NewServer(ctx, known, streams.callbacks()))
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	s.Log.Info("serving", "service", s.Service, "address", listener.Addr().String())
	if s.Serving != nil {
		s.Serving()
	}
	var err error
	ended := 0
	select {
	case err = <-served:
		ended++
	case err = <-fed:
		fed <- nil
	case <-ctx.Done():
	}
	cancel()
	server.Stop() // clients keep their last resources
	if ended == 0 {
		<-served
	}
	<-fed
	return err
}

// feed keeps the cache current. It closes first once the cache has a snapshot.
func (s *Server) feed(ctx context.Context, known cache.SnapshotCache, first chan struct{}) error {
	waiting := true
	err := s.Source(ctx, func(usable endpointslice.Set) error {
		snapshot, err := Snapshot(s.Service, usable, s.Settings)
		if err != nil {
			return err
		}
		if err := known.SetSnapshot(ctx, anyNode, snapshot); err != nil {
			return fmt.Errorf("control plane: %w", err)
		}
		s.Log.Info("endpoints", "service", s.Service, "usable", len(usable))
		if waiting {
			waiting = false
			close(first)
		}
		return nil
	}, func(err error) { s.Log.Warn("endpoints not updated", "error", err) })
	if ctx.Err() != nil {
		return nil // Stop was called
	}
	return err
}

// admit checks the token.
func (s *Server) admit(server any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, serve grpc.StreamHandler) error {
	if s.Token != "" && !security.CallHasBearer(stream.Context(), s.Token) {
		return status.Error(codes.Unauthenticated, "this control plane requires its token as metadata: authorization: Bearer TOKEN")
	}
	return serve(server, stream)
}
