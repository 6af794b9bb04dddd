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
	"rpclab/internal/route/controlplane"
	"rpclab/internal/route/part"
	"rpclab/internal/route/settings"
)

// standXDS starts our own control plane beside the service; callers ask it directly.
func standXDS(ctx context.Context, s cluster.Service, o settings.Settings, h Host) (Standing, error) {
	plane, address, err := startControlPlane(ctx, s, o, h)
	if err != nil {
		return Standing{}, err
	}
	s.XDS = address
	return Standing{Services: []cluster.Service{s}, Parts: []*part.Part{plane}}, nil
}

// startControlPlane runs `rpclab xds` for a service, of which it says where it listens.
// One that is killed stays away: clients have to do with what they know.
func startControlPlane(ctx context.Context, s cluster.Service, o settings.Settings, h Host) (_ *part.Part, address string, err error) {
	if _, err := controlplane.Snapshot(s.Name, nil, o); err != nil { // rather here than in its log
		return nil, "", err
	}
	ways, err := json.Marshal(o)
	if err != nil {
		return nil, "", err
	}
	if address, err = h.Listen(); err != nil {
		return nil, "", err
	}
	plane, err := part.Start(ctx, part.Spec{
		Name: "xds", Role: part.Control,
		Run: process.Spec{Args: append(h.Self[:len(h.Self):len(h.Self)], "xds", "--supervised",
			"--endpoints", s.API, "--service", s.Name, "--namespace", s.Namespace,
			"--listen", address, "--settings", string(ways))},
	})
	return plane, address, err
}

func dialControlPlane(address string) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy())
}

// openXDS is grpc-go's own xDS client without a proxy. Its resolver hands policies their
// endpoints in a form of its own, so that nobody else learns them; told hears instead a
// watch of this process on the same control plane, which sends both the same at once.
func openXDS(_ context.Context, s cluster.Service, _ settings.Settings, told Told) (caller.Target, error) {
	if s.XDS == "" {
		return caller.Target{}, errors.New("route xds: no control plane stands; start one by `rpclab xds`")
	}
	bootstrap, err := controlplane.Bootstrap(s.XDS, "rpclab-caller")
	if err != nil {
		return caller.Target{}, err
	}
	// The public way to a bootstrap that the environment does not hold, whatever its name.
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
	watching.Go(func() { controlplane.Watch(ctx, channel, s.Name, told) })
	return caller.Target{
		URI:       "xds:///" + s.Name,
		Foreign:   "xds:///" + s.Name,
		Env:       []string{"GRPC_XDS_BOOTSTRAP_CONFIG=" + string(bootstrap)},
		Resolvers: []resolver.Builder{builder},
		Close: func() {
			cancel()
			watching.Wait()
			_ = channel.Close()
		},
	}, nil
}
