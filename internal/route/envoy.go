package route

import (
	"context"
	"errors"
	"net/netip"
	"strconv"

	bootstrap "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpoint "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listener "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	router "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	manager "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	upstreams "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"rpclab/internal/cluster"
	"rpclab/internal/process"
	"rpclab/internal/route/component"
	"rpclab/internal/route/controlplane"
	"rpclab/internal/route/settings"
	"rpclab/internal/tool"
)

// Envoy is the route through Envoy as a proxy.
var Envoy = Route{
	Name:     "envoy",
	Doc:      "every call goes through Envoy, which uses the same control plane as xds and balances by round robin",
	PickedBy: PickedByProxy,
	Update:   "the client is not updated; the control plane pushes a change to the proxy",
	Policies: []string{settings.RoundRobin, settings.LeastRequest, settings.Random}, OutlierDetection: true, CarriesHTTP1: true, VerifiesIPs: true, Binary: tool.Envoy,
	OpenFiles: filesOfEnvoy,
	Start:     startEnvoy, Open: openProxy,
}

// startEnvoy starts rpclab's control plane and Envoy, which receives the cluster (CDS) and its
// endpoints (EDS) from it on one stream.
func startEnvoy(ctx context.Context, s cluster.Service, o settings.Settings, h Host) (Infrastructure, error) {
	program, err := tool.Envoy.Find()
	if err != nil {
		return Infrastructure{}, err
	}
	config := o
	config.Retry, config.Hedge = nil, nil // the client retries: with retries in the proxy too, attempts would multiply
	local := h
	local.AllocateAddress = FreeAddress // only Envoy, on this machine, connects to it
	plane, xds, err := startControlPlane(ctx, s, config, local)
	if err != nil {
		return Infrastructure{}, err
	}
	all, err := startProxies(ctx, s, o, h, nil, func(at site) (proxy, error) {
		admin := at.file("admin.sock")
		config, err := envoyConfig(at, s.Name, xds, admin, o)
		return proxy{
			files: map[string]string{"envoy.json": config},
			Spec: component.Spec{
				Process: process.Spec{Args: []string{
					program, "-c", at.file("envoy.json"), "--concurrency", strconv.Itoa(o.Proxy.Workers),
					"--disable-hot-restart", "--log-level", "warning",
				}},
				Ready:             func(ctx context.Context) error { return envoyReady(ctx, admin, s.Name) },
				WorkerConnections: func(ctx context.Context) ([]uint64, error) { return envoyConnections(ctx, admin) },
			},
		}, err
	}, "envoy")
	if err != nil {
		plane.Close()
		return all, err
	}
	all.Components = append(all.Components, plane) // ends last
	return all, nil
}

// envoyConfig is Envoy's bootstrap; docs/decisions/0013-proxies.md has the reasons.
func envoyConfig(at site, service, xds, admin string, o settings.Settings) (string, error) {
	var errs []error
	pack := func(m proto.Message) *anypb.Any {
		packed, err := anypb.New(m)
		errs = append(errs, err)
		return packed
	}
	address := func(hostport string) *core.Address {
		addr, err := netip.ParseAddrPort(hostport)
		errs = append(errs, err)
		return &core.Address{Address: &core.Address_SocketAddress{SocketAddress: &core.SocketAddress{
			Address: addr.Addr().String(), PortSpecifier: &core.SocketAddress_PortValue{PortValue: uint32(addr.Port())},
		}}}
	}
	byADS := &core.ConfigSource{
		ResourceApiVersion: core.ApiVersion_V3, ConfigSourceSpecifier: &core.ConfigSource_Ads{Ads: &core.AggregatedConfigSource{}},
	}
	calls := &manager.HttpConnectionManager{
		StatPrefix: "calls",
		CodecType:  manager.HttpConnectionManager_HTTP2,
		// With the default, calls would queue in the client, as on no other route.
		Http2ProtocolOptions: &core.Http2ProtocolOptions{MaxConcurrentStreams: wrapperspb.UInt32(10_000)},
		StreamIdleTimeout:    durationpb.New(0), // the proxy must not end a call
		RouteSpecifier: &manager.HttpConnectionManager_RouteConfig{RouteConfig: &routev3.RouteConfiguration{
			ValidateClusters: wrapperspb.Bool(false), // which xDS adds later
			VirtualHosts: []*routev3.VirtualHost{{Name: "all", Domains: []string{"*"}, Routes: []*routev3.Route{{
				Match: &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}},
				Action: &routev3.Route_Route{Route: &routev3.RouteAction{
					ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: service},
					Timeout:          durationpb.New(0), // only the call's deadline, not 15 s
				}},
			}}}},
		}},
		HttpFilters: []*manager.HttpFilter{{
			Name: "router", ConfigType: &manager.HttpFilter_TypedConfig{TypedConfig: pack(&router.Router{})},
		}},
	}
	if o.HTTP1 {
		calls.CodecType, calls.Http2ProtocolOptions = manager.HttpConnectionManager_HTTP1, nil
	}
	if header := upstreamHeader(o); header != "" {
		calls.GetRouteConfig().ResponseHeadersToAdd = []*core.HeaderValueOption{{
			Header:       &core.HeaderValue{Key: header, Value: "%UPSTREAM_REMOTE_ADDRESS%"},
			AppendAction: core.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
		}}
	}
	h2 := &upstreams.HttpProtocolOptions{UpstreamProtocolOptions: &upstreams.HttpProtocolOptions_ExplicitHttpConfig_{
		ExplicitHttpConfig: &upstreams.HttpProtocolOptions_ExplicitHttpConfig{
			ProtocolConfig: &upstreams.HttpProtocolOptions_ExplicitHttpConfig_Http2ProtocolOptions{Http2ProtocolOptions: &core.Http2ProtocolOptions{}},
		},
	}}
	config := &bootstrap.Bootstrap{
		Node: &core.Node{Id: at.name, Cluster: "rpclab", Locality: &core.Locality{Zone: controlplane.CallerZone}},
		Admin: &bootstrap.Admin{Address: &core.Address{
			Address: &core.Address_Pipe{Pipe: &core.Pipe{Path: admin, Mode: 0o600}},
		}},
		DynamicResources: &bootstrap.Bootstrap_DynamicResources{
			CdsConfig: byADS,
			AdsConfig: &core.ApiConfigSource{
				ApiType: core.ApiConfigSource_GRPC, TransportApiVersion: core.ApiVersion_V3,
				GrpcServices: []*core.GrpcService{{TargetSpecifier: &core.GrpcService_EnvoyGrpc_{EnvoyGrpc: &core.GrpcService_EnvoyGrpc{ClusterName: "xds"}}}},
			},
		},
		StaticResources: &bootstrap.Bootstrap_StaticResources{
			Listeners: []*listener.Listener{{
				Name: "calls", Address: address(at.listen),
				FilterChains: []*listener.FilterChain{{Filters: []*listener.Filter{{
					Name: "calls", ConfigType: &listener.Filter_TypedConfig{TypedConfig: pack(calls)},
				}}}},
			}},
			Clusters: []*clusterv3.Cluster{{
				Name: "xds", ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC},
				TypedExtensionProtocolOptions: map[string]*anypb.Any{"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": pack(h2)},
				LoadAssignment: &endpoint.ClusterLoadAssignment{ClusterName: "xds", Endpoints: []*endpoint.LocalityLbEndpoints{{
					LbEndpoints: []*endpoint.LbEndpoint{{HostIdentifier: &endpoint.LbEndpoint_Endpoint{Endpoint: &endpoint.Endpoint{Address: address(xds)}}}},
				}}},
			}},
		},
	}
	if err := errors.Join(errs...); err != nil {
		return "", err
	}
	text, err := protojson.MarshalOptions{Multiline: true}.Marshal(config)
	return string(text), err
}
