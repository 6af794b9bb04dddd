package controlplane

import (
	"fmt"
	"math"
	"strings"
	"time"

	cluster "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	weighted "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/client_side_weighted_round_robin/v3"
	leastrequest "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/least_request/v3"
	pickfirst "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/pick_first/v3"
	random "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/random/v3"
	ringhash "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/ring_hash/v3"
	roundrobin "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/round_robin/v3"
	upstreams "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"rpclab/internal/route/settings"
)

// Policies are the policies that a control plane can configure. Only Envoy knows random: gRPC
// clients use round_robin instead. Only gRPC knows pick_first: Envoy uses random instead.
var Policies = []string{
	settings.RoundRobin, settings.LeastRequest, settings.Random, settings.WeightedRoundRobin,
	settings.RingHash, settings.PickFirst,
}

// clusterOf is the CDS resource. Clients ignore what they do not know: gRPC ignores the
// protocol options, Envoy a policy that is not the last in the list. Envoy waits 5 s for a
// connection, as by default.
func clusterOf(service string, s settings.Settings) (*cluster.Cluster, error) {
	policy, err := balancing(s.Policy)
	if err != nil {
		return nil, err
	}
	explicit := &upstreams.HttpProtocolOptions_ExplicitHttpConfig{
		ProtocolConfig: &upstreams.HttpProtocolOptions_ExplicitHttpConfig_Http2ProtocolOptions{Http2ProtocolOptions: &core.Http2ProtocolOptions{}},
	}
	if s.HTTP1 {
		explicit.ProtocolConfig = &upstreams.HttpProtocolOptions_ExplicitHttpConfig_HttpProtocolOptions{HttpProtocolOptions: &core.Http1ProtocolOptions{}}
	}
	protocol, err := anypb.New(&upstreams.HttpProtocolOptions{
		UpstreamProtocolOptions: &upstreams.HttpProtocolOptions_ExplicitHttpConfig_{ExplicitHttpConfig: explicit},
	})
	if err != nil {
		return nil, err
	}
	transport, err := encryption(s)
	if err != nil {
		return nil, err
	}
	unlimited := wrapperspb.UInt32(math.MaxInt32)
	return &cluster.Cluster{
		Name:                 service,
		ClusterDiscoveryType: &cluster.Cluster_Type{Type: cluster.Cluster_EDS},
		EdsClusterConfig:     &cluster.Cluster_EdsClusterConfig{EdsConfig: byADS(), ServiceName: service},
		LoadBalancingPolicy:  policy,
		OutlierDetection:     outliers(s.Outlier),
		TransportSocket:      transport,
		// Without these a client has at most 1,024 calls in flight and fails the others
		// (gRFC A32), which would look like a fault of the backends.
		CircuitBreakers: &cluster.CircuitBreakers{Thresholds: []*cluster.CircuitBreakers_Thresholds{{
			MaxConnections: unlimited, MaxPendingRequests: unlimited, MaxRequests: unlimited, MaxRetries: unlimited,
		}}},
		TypedExtensionProtocolOptions: map[string]*anypb.Any{
			"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": protocol,
		},
	}, nil
}

// balancing is the list of policies for a policy's name: a client uses the first policy that it
// knows (gRFC A52). A client that knows none rejects the cluster, and receives it again and again.
func balancing(policy string) (*cluster.LoadBalancingPolicy, error) {
	var wanted []proto.Message
	switch policy {
	case "", settings.RoundRobin:
		wanted = []proto.Message{&roundrobin.RoundRobin{}}
	case settings.LeastRequest:
		wanted = []proto.Message{&leastrequest.LeastRequest{ChoiceCount: wrapperspb.UInt32(2)}}
	case settings.Random:
		wanted = []proto.Message{&random.Random{}, &roundrobin.RoundRobin{}}
	case settings.WeightedRoundRobin:
		wanted = []proto.Message{&weighted.ClientSideWeightedRoundRobin{
			BlackoutPeriod: durationpb.New(settings.WeightBlackout), WeightUpdatePeriod: durationpb.New(settings.WeightUpdate),
		}}
	case settings.RingHash:
		wanted = []proto.Message{&ringhash.RingHash{HashFunction: ringhash.RingHash_XX_HASH}}
	case settings.PickFirst:
		wanted = []proto.Message{&pickfirst.PickFirst{ShuffleAddressList: true}, &random.Random{}}
	default:
		return nil, fmt.Errorf("control plane: no policy %q; there are %s", policy, strings.Join(Policies, ", "))
	}
	list := &cluster.LoadBalancingPolicy{}
	for _, m := range wanted {
		config, err := anypb.New(m)
		if err != nil {
			return nil, err
		}
		list.Policies = append(list.Policies, &cluster.LoadBalancingPolicy_Policy{
			TypedExtensionConfig: &core.TypedExtensionConfig{
				Name: string(m.ProtoReflect().Descriptor().FullName()), TypedConfig: config,
			},
		})
	}
	return list, nil
}

// outliers ejects backends only by their share of failures (gRFC A50). It turns off the other
// measures, some of which are on by default.
func outliers(o *settings.Outlier) *cluster.OutlierDetection {
	if o == nil {
		return nil
	}
	off, always := wrapperspb.UInt32(0), wrapperspb.UInt32(100)
	return &cluster.OutlierDetection{
		Interval:           durationpb.New(o.Interval),
		BaseEjectionTime:   durationpb.New(o.Eject),
		MaxEjectionTime:    durationpb.New(max(10*o.Eject, 5*time.Minute)),
		MaxEjectionPercent: percent(o.Most),

		FailurePercentageThreshold:     percent(o.Failures),
		FailurePercentageRequestVolume: wrapperspb.UInt32(uint32(o.Calls)),
		FailurePercentageMinimumHosts:  wrapperspb.UInt32(1),
		EnforcingFailurePercentage:     always,

		EnforcingSuccessRate:               off,
		EnforcingConsecutive_5Xx:           off,
		EnforcingConsecutiveGatewayFailure: off,
	}
}

func percent(share float64) *wrapperspb.UInt32Value {
	return wrapperspb.UInt32(uint32(settings.Percent(share)))
}

// byADS says that clients read a resource from the same stream.
func byADS() *core.ConfigSource {
	return &core.ConfigSource{
		ResourceApiVersion:    core.ApiVersion_V3,
		ConfigSourceSpecifier: &core.ConfigSource_Ads{Ads: &core.AggregatedConfigSource{}},
	}
}
