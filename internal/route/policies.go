package route

import (
	// Policies of gRPC clients besides the default ones.
	_ "google.golang.org/grpc/balancer/leastrequest"
	_ "google.golang.org/grpc/balancer/ringhash"
	_ "google.golang.org/grpc/balancer/weightedroundrobin"

	"rpclab/internal/route/settings"
)

// clientPolicies are the policies of a gRPC client that knows every backend.
var clientPolicies = []string{settings.RoundRobin, settings.LeastRequest, settings.WeightedRoundRobin, settings.RingHash, settings.PickFirst}

// proxyPolicies are the policies of a proxy that counts the calls in flight.
var proxyPolicies = []string{settings.RoundRobin, settings.LeastRequest, settings.LeastConn, settings.Random}
