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

// reconnect is the back-off before a broken stream is opened again: 100 ms, doubled each time up
// to 10 s, with up to 20 % jitter so that clients do not reconnect at once.
var reconnect = wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 8, Cap: 10 * time.Second}

// Watch passes every set of addresses (host:port) that the control plane behind channel sends for
// a service to updated, until ctx ends. It opens a broken stream again after a pause.
func Watch(ctx context.Context, channel *grpc.ClientConn, service string, updated func(at time.Time, addrs []string)) {
	pauses := reconnect
	for ctx.Err() == nil {
		err := watchOnce(ctx, channel, service, func(at time.Time, addrs []string) {
			pauses = reconnect
			updated(at, addrs)
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

// watchOnce asks for the endpoints of a service by the state-of-the-world protocol. Each request after
// the first acknowledges the last response.
func watchOnce(ctx context.Context, channel *grpc.ClientConn, service string, updated func(at time.Time, addrs []string)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := discovery.NewAggregatedDiscoveryServiceClient(channel).StreamAggregatedResources(ctx)
	if err != nil {
		return err
	}
	request := &discovery.DiscoveryRequest{
		Node:    &core.Node{Id: "rpclab", UserAgentName: "rpclab"},
		TypeUrl: resource.EndpointType, ResourceNames: []string{service},
	}
	for {
		if err := stream.Send(request); err != nil {
			return err
		}
		response, err := stream.Recv()
		if err != nil {
			return err
		}
		at := time.Now()
		for _, packed := range response.GetResources() {
			var assignment endpoint.ClusterLoadAssignment
			if err := packed.UnmarshalTo(&assignment); err != nil {
				return fmt.Errorf("endpoints of %s: %w", service, err)
			}
			updated(at, addresses(&assignment))
		}
		request.VersionInfo, request.ResponseNonce = response.GetVersionInfo(), response.GetNonce()
	}
}

func addresses(assignment *endpoint.ClusterLoadAssignment) []string {
	var addrs []string
	for _, zone := range assignment.GetEndpoints() {
		for _, e := range zone.GetLbEndpoints() {
			socket := e.GetEndpoint().GetAddress().GetSocketAddress()
			addrs = append(addrs, net.JoinHostPort(socket.GetAddress(), strconv.Itoa(int(socket.GetPortValue()))))
		}
	}
	return addrs
}
