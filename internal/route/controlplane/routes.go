package controlplane

import (
	"fmt"
	"slices"
	"strings"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	route "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	router "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	manager "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"rpclab/internal/route/settings"
)

// retryable are the codes that an xDS retry policy can name (gRFC A44).
var retryable = []string{"CANCELLED", "DEADLINE_EXCEEDED", "INTERNAL", "RESOURCE_EXHAUSTED", "UNAVAILABLE"}

// listener is the LDS resource that a gRPC client asks for by xds:///<service>.
func listener(service string) (*listenerv3.Listener, error) {
	forward, err := anypb.New(&router.Router{})
	if err != nil {
		return nil, err
	}
	api, err := anypb.New(&manager.HttpConnectionManager{
		RouteSpecifier: &manager.HttpConnectionManager_Rds{Rds: &manager.Rds{
			ConfigSource: byADS(), RouteConfigName: service,
		}},
		HttpFilters: []*manager.HttpFilter{{
			Name: "router", ConfigType: &manager.HttpFilter_TypedConfig{TypedConfig: forward},
		}},
	})
	if err != nil {
		return nil, err
	}
	return &listenerv3.Listener{Name: service, ApiListener: &listenerv3.ApiListener{ApiListener: api}}, nil
}

// routes is the RDS resource: every call goes to the one cluster. xDS has no hedging, so the
// client hedges.
func routes(service string, s settings.Settings) (*route.RouteConfiguration, error) {
	action := &route.RouteAction{
		ClusterSpecifier: &route.RouteAction_Cluster{Cluster: service},
		Timeout:          durationpb.New(0), // only the call's own deadline
	}
	if s.Policy == settings.RingHash {
		action.HashPolicy = hashes()
	}
	if s.Retry != nil {
		var err error
		if action.RetryPolicy, err = retries(*s.Retry); err != nil {
			return nil, err
		}
	}
	return &route.RouteConfiguration{Name: service, VirtualHosts: []*route.VirtualHost{{
		Name: service, Domains: []string{"*"},
		Routes: []*route.Route{{
			Match:  &route.RouteMatch{PathSpecifier: &route.RouteMatch_Prefix{Prefix: ""}},
			Action: &route.Route_Route{Route: action},
		}},
	}}}, nil
}

// hashes are the hash keys of a call: [settings.HashHeader], or else its channel (gRFC A42).
func hashes() []*route.RouteAction_HashPolicy {
	return []*route.RouteAction_HashPolicy{
		{
			PolicySpecifier: &route.RouteAction_HashPolicy_Header_{
				Header: &route.RouteAction_HashPolicy_Header{HeaderName: settings.HashHeader},
			},
			Terminal: true,
		},
		{PolicySpecifier: &route.RouteAction_HashPolicy_FilterState_{
			FilterState: &route.RouteAction_HashPolicy_FilterState{Key: "io.grpc.channel_id"},
		}},
	}
}

func retries(r settings.Retry) (*route.RetryPolicy, error) {
	var on []string
	for _, code := range r.Codes {
		if !slices.Contains(retryable, code) {
			return nil, fmt.Errorf("control plane: xDS cannot retry %s; it can retry %s", code, strings.Join(retryable, ", "))
		}
		on = append(on, strings.ReplaceAll(strings.ToLower(code), "_", "-"))
	}
	return &route.RetryPolicy{
		RetryOn: strings.Join(on, ","), NumRetries: wrapperspb.UInt32(uint32(r.Attempts - 1)),
		RetryBackOff: &route.RetryPolicy_RetryBackOff{
			BaseInterval: durationpb.New(r.Backoff), MaxInterval: durationpb.New(10 * r.Backoff),
		},
	}, nil
}
