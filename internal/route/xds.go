package route

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/xds"

	"rpclab/internal/caller"
	"rpclab/internal/cluster"
	"rpclab/internal/process"
	"rpclab/internal/route/component"
	"rpclab/internal/route/controlplane"
	"rpclab/internal/route/settings"
)

// XDS is xDS without a proxy.
var XDS = Route{
	Name:      "xds",
	Doc:       "the client itself follows a control plane (xDS without a proxy), which says where every ready backend is and how to spread calls",
	PickedBy:  PickedByClient,
	Discovery: DiscoveryXDS,
	Update:    "the control plane watches the endpoints and pushes a change to the client",
	Policies:  clientPolicies, OutlierDetection: true,
	NeedsFullClient: true,
	OpenFiles:       eachBackend(1), // its stream to the control plane
	Start:           startXDS, Open: openXDS,
}

// startXDS starts rpclab's control plane; callers connect to it directly.
func startXDS(ctx context.Context, s cluster.Service, o settings.Settings, h Host) (Infrastructure, error) {
	plane, address, err := startControlPlane(ctx, s, o, h)
	if err != nil {
		return Infrastructure{}, err
	}
	s.XDS = address
	return Infrastructure{Services: []cluster.Service{s}, Components: []*component.Component{plane}}, nil
}

// startControlPlane runs `rpclab xds` for a service and returns its address. It is not
// restarted when it is killed: clients continue with the endpoints that they know.
func startControlPlane(ctx context.Context, s cluster.Service, o settings.Settings, h Host) (_ *component.Component, address string, err error) {
	if _, err := controlplane.Snapshot(s.Name, nil, o); err != nil { // fail here, not in its log
		return nil, "", err
	}
	config, err := json.Marshal(o)
	if err != nil {
		return nil, "", err
	}
	if address, err = h.AllocateAddress(); err != nil {
		return nil, "", err
	}
	plane, err := component.Start(ctx, component.Spec{
		Name: "xds", Role: component.ControlPlane,
		Process: process.Spec{Args: append(h.Self[:len(h.Self):len(h.Self)], "xds", "--supervised",
			"--endpoints", s.API, "--service", s.Name, "--namespace", s.Namespace,
			"--listen", address, "--settings", string(config))},
	})
	return plane, address, err
}

func dialControlPlane(address string) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy())
}

// openXDS uses grpc-go's xDS client without a proxy. Its resolver passes endpoints to the
// policies in an internal form, so this process opens a second watch on the same control
// plane for updated. The control plane sends both watches the same change at once.
func openXDS(_ context.Context, s cluster.Service, _ settings.Settings, updated UpdateFunc) (caller.Target, error) {
	if s.XDS == "" {
		return caller.Target{}, errors.New("route xds: there is no control plane: start one with `rpclab xds`")
	}
	bootstrap, err := controlplane.Bootstrap(s.XDS, "rpclab-caller")
	if err != nil {
		return caller.Target{}, err
	}
	// Despite its name, this is the public API for a bootstrap outside of the environment.
	builder, err := xds.NewXDSResolverWithConfigForTesting(bootstrap)
	if err != nil {
		return caller.Target{}, fmt.Errorf("route xds: %w", err)
	}
	channel, err := dialControlPlane(s.XDS)
	if err != nil {
		return caller.Target{}, fmt.Errorf("route xds: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() { controlplane.Watch(ctx, channel, s.Name, updated) })
	return caller.Target{
		URI:         "xds:///" + s.Name,
		PortableURI: "xds:///" + s.Name,
		Env:         []string{"GRPC_XDS_BOOTSTRAP_CONFIG=" + string(bootstrap)},
		Resolvers:   []resolver.Builder{builder},
		Close: func() {
			cancel()
			watching.Wait()
			_ = channel.Close()
		},
	}, nil
}
