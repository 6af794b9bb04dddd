package route

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/xds"

	"rpclab/internal/caller"
	"rpclab/internal/cluster"
	"rpclab/internal/route/settings"
)

// IstioXDS is Istio without sidecars: https://istio.io/latest/blog/2021/proxyless-grpc/.
var IstioXDS = Route{
	Name:      "istio-xds",
	Doc:       "the client itself follows Istio's control plane (xDS without a proxy), without encryption",
	PickedBy:  PickedByClient,
	Discovery: DiscoveryXDS,
	Update:    "istiod watches the endpoints and pushes a change to the client",
	OnlyOn:    kubernetes, NeedsFullClient: true, FindsByAuthority: true, OwnRetries: true,
	OpenFiles: eachBackend(1), // its stream to istiod
	Open:      openIstioXDS,
}

// istiod is the Service of Istio's control plane, at its port without TLS.
const istiod = "istiod.istio-system.svc:15010"

// openIstioXDS uses grpc-go's xDS client with istiod. It needs no sidecar and no certificate, because istiod's
// port without TLS does not authenticate clients.
func openIstioXDS(ctx context.Context, s cluster.Service, _ settings.Settings, _ UpdateFunc) (caller.Target, error) {
	if s.VIP == "" {
		return caller.Target{}, errors.New("route istio-xds: this cluster has no istiod: run on Kubernetes")
	}
	dialer := net.Dialer{Timeout: 5 * time.Second}
	probe, err := dialer.DialContext(ctx, "tcp", istiod)
	if err != nil {
		return caller.Target{}, fmt.Errorf("route istio-xds: istiod does not accept connections: %w\n"+
			"Install Istio (https://istio.io/latest/docs/setup/getting-started/), or leave out the arms with this route", err)
	}
	ip, _, err := net.SplitHostPort(probe.LocalAddr().String())
	if err := errors.Join(err, probe.Close()); err != nil {
		return caller.Target{}, err
	}
	bootstrap, err := istioBootstrap(s.Namespace, strings.TrimSuffix(completeName(s.Namespace+".svc"), "."), ip)
	if err != nil {
		return caller.Target{}, err
	}
	// Despite its name, this is the public API for a bootstrap outside of the environment.
	builder, err := xds.NewXDSResolverWithConfigForTesting(bootstrap)
	if err != nil {
		return caller.Target{}, fmt.Errorf("route istio-xds: %w", err)
	}
	host := strings.TrimSuffix(completeName(s.VIP), ".")
	uri := "xds:///" + net.JoinHostPort(host, strconv.Itoa(cmp.Or(s.VIPPort, s.Port)))
	return caller.Target{
		URI: uri, PortableURI: uri,
		Env:       []string{"GRPC_XDS_BOOTSTRAP_CONFIG=" + string(bootstrap)},
		Resolvers: []resolver.Builder{builder},
		Close:     func() {},
	}, nil
}

// istioBootstrap is the bootstrap that Istio's agent writes for a gRPC client at an IP address (gRFC A27; package
// grpcxds of Istio). istiod reads the type, address, name and domain of a client from the node's ID. The domain is that
// of the names of services in the namespace: lab.svc.cluster.local.
func istioBootstrap(namespace, domain, ip string) ([]byte, error) {
	name, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{
		"xds_servers": []any{map[string]any{
			"server_uri":      istiod,
			"channel_creds":   []any{map[string]any{"type": "insecure"}},
			"server_features": []any{"xds_v3"},
		}},
		"node": map[string]any{
			"id": fmt.Sprintf("sidecar~%s~%s.%s~%s", ip, name, namespace, domain),
			"metadata": map[string]any{
				"GENERATOR": "grpc", "NAMESPACE": namespace, "INSTANCE_IPS": ip, "CLUSTER_ID": "Kubernetes",
			},
		},
	})
}
