package controlplane

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpoint "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc"
	"k8s.io/apimachinery/pkg/util/wait"
)

// reconnect is the pauses before a stream that broke is opened again: 100 ms, doubled each
// time up to 10 s, with up to 20 % more so that clients do not come back together.
var reconnect = wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 8, Cap: 10 * time.Second}

// Watch calls see with every set of addresses (host:port) that the control plane at the
// other end of channel says a service has, until ctx ends. A stream that breaks is opened
// again after a pause; while there is none the last set stays.
func Watch(ctx context.Context, channel *grpc.ClientConn, service string, see func(time.Time, []string)) {
	pauses := reconnect
	for ctx.Err() == nil {
		err := watchOnce(ctx, channel, service, func(at time.Time, addrs []string) {
			pauses = reconnect
			see(at, addrs)
		})
		if err == nil || ctx.Err() != nil {
			continue
		}
		select {
		case <-time.After(pauses.Step()):
		case <-ctx.Done():
		}
	}
}

// watchOnce asks for the endpoints of a service, state of the world, and says yes to
// every answer, which is how the next is asked for.
func watchOnce(ctx context.Context, channel *grpc.ClientConn, service string, see func(time.Time, []string)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := discovery.NewAggregatedDiscoveryServiceClient(channel).StreamAggregatedResources(ctx)
	if err != nil {
		return err
	}
	ask := &discovery.DiscoveryRequest{
		Node:    &core.Node{Id: "rpclab", UserAgentName: "rpclab"},
		TypeUrl: resource.EndpointType, ResourceNames: []string{service},
	}
	for {
		if err := stream.Send(ask); err != nil {
			return err
		}
		answer, err := stream.Recv()
		if err != nil {
			return err
		}
		at := time.Now()
		for _, packed := range answer.GetResources() {
			var assignment endpoint.ClusterLoadAssignment
			if err := packed.UnmarshalTo(&assignment); err != nil {
				return fmt.Errorf("endpoints of %s: %w", service, err)
			}
			see(at, addresses(&assignment))
		}
		ask.VersionInfo, ask.ResponseNonce = answer.GetVersionInfo(), answer.GetNonce()
	}
}

func addresses(a *endpoint.ClusterLoadAssignment) []string {
	var all []string
	for _, zone := range a.GetEndpoints() {
		for _, e := range zone.GetLbEndpoints() {
			at := e.GetEndpoint().GetAddress().GetSocketAddress()
			all = append(all, net.JoinHostPort(at.GetAddress(), strconv.Itoa(int(at.GetPortValue()))))
		}
	}
	return all
}
