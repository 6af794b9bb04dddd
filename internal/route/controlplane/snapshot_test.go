package controlplane_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	cluster "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpoint "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	route "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"github.com/google/go-cmp/cmp"

	"rpclab/internal/route/controlplane"
	"rpclab/internal/route/endpointslice"
	"rpclab/internal/route/settings"
	"rpclab/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// set is the backends 10.0.0.1, 10.0.0.2 and so on, one in each of these zones.
func set(zones ...string) (s endpointslice.Set) {
	for i, zone := range zones {
		addr := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}), 50051)
		s = append(s, endpointslice.Endpoint{ID: addr.String(), Addr: addr, Zone: zone, Ready: true})
	}
	return s
}

func snapshot(t *testing.T, usable endpointslice.Set, s settings.Settings) *cache.Snapshot {
	t.Helper()
	snapshot, err := controlplane.Snapshot("greeter", usable, s)
	if err != nil {
		t.Fatal(err)
	}
	return snapshot
}

// priorities prints the EDS resource of a set: priority zone:backends.
func priorities(t *testing.T, usable endpointslice.Set) string {
	assignment := snapshot(t, usable, settings.Settings{}).GetResources(resource.EndpointType)["greeter"].(*endpoint.ClusterLoadAssignment)
	var text []string
	for _, zone := range assignment.Endpoints {
		if int(zone.LoadBalancingWeight.Value) != len(zone.LbEndpoints) {
			t.Errorf("zone %s has the weight %d, want %d, its number of backends", zone.Locality.Zone, zone.LoadBalancingWeight.Value, len(zone.LbEndpoints))
		}
		text = append(text, fmt.Sprintf("%d %s:%d", zone.Priority, zone.Locality.Zone, len(zone.LbEndpoints)))
	}
	return strings.Join(text, ", ")
}

func TestZonesHavePrioritiesWithoutGaps(t *testing.T) {
	for want, zones := range map[string][]string{
		"0 :3":                          {"", "", ""},
		"0 zone-0:2, 1 zone-1:1":        {"zone-0", "zone-1", "zone-0"},
		"0 zone-0:1, 1 zone-2:1, 1 b:1": {"zone-2", "zone-0", "b"},
		"0 zone-1:1, 0 zone-2:1":        {"zone-1", "zone-2"}, // the callers' zone has no backend
		"0 :1, 0 eu-1a:1":               {"", "eu-1a"},        // one node has no label of its zone
		"0 zone-0:1, 1 :1":              {"", "zone-0"},
		"":                              nil,
	} {
		if got := priorities(t, set(zones...)); got != want {
			t.Errorf("zones %q have the priorities %q, want %q", zones, got, want)
		}
	}
}

func TestEndpointChangeChangesOnlyTheEndpointVersion(t *testing.T) {
	first, changed := snapshot(t, set(""), settings.Settings{}), snapshot(t, set("", ""), settings.Settings{})
	restarted := snapshot(t, set(""), settings.Settings{})
	for _, typeURL := range []string{resource.ListenerType, resource.RouteType, resource.ClusterType, resource.EndpointType} {
		differs := first.GetVersion(typeURL) != changed.GetVersion(typeURL)
		if want := typeURL == resource.EndpointType; differs != want {
			t.Errorf("the version of %s changed: %v, want %v", typeURL, differs, want)
		}
		if first.GetVersion(typeURL) != restarted.GetVersion(typeURL) {
			t.Errorf("%s has the versions %s and %s for the same contents", typeURL, first.GetVersion(typeURL), restarted.GetVersion(typeURL))
		}
	}
}

func clusterIn(t *testing.T, s settings.Settings) *cluster.Cluster {
	return snapshot(t, nil, s).GetResources(resource.ClusterType)["greeter"].(*cluster.Cluster)
}

func TestEveryPolicyHasAFormForGRPCAndOneForEnvoy(t *testing.T) {
	const extensions = "type.googleapis.com/envoy.extensions.load_balancing_policies."
	got := map[string]string{}
	for _, policy := range controlplane.Policies {
		var names []string
		for _, p := range clusterIn(t, settings.Settings{Policy: policy}).LoadBalancingPolicy.Policies {
			name := strings.TrimPrefix(p.TypedExtensionConfig.TypedConfig.TypeUrl, extensions)
			names = append(names, name[:strings.Index(name, ".")])
		}
		got[policy] = strings.Join(names, ", ")
	}
	want := map[string]string{
		"round_robin": "round_robin", "least_request": "least_request", "random": "random, round_robin",
		"weighted_round_robin": "client_side_weighted_round_robin", "ring_hash": "ring_hash", "pick_first": "pick_first, random",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("policies (-want +got):\n%s", diff)
	}
}

func TestOutliersAreEjectedOnlyForTheirShareOfFailures(t *testing.T) {
	o := clusterIn(t, settings.Settings{Outlier: &settings.Outlier{
		Failures: 0.29, Calls: 10, Interval: time.Second, Eject: 5 * time.Second, Most: 0.5,
	}}).OutlierDetection
	got := []uint32{
		o.FailurePercentageThreshold.Value, o.FailurePercentageRequestVolume.Value, o.FailurePercentageMinimumHosts.Value,
		o.EnforcingFailurePercentage.Value, o.MaxEjectionPercent.Value,
		o.EnforcingSuccessRate.Value, o.EnforcingConsecutive_5Xx.Value, o.EnforcingConsecutiveGatewayFailure.Value,
	}
	if diff := cmp.Diff([]uint32{29, 10, 1, 100, 50, 0, 0, 0}, got); diff != "" {
		t.Errorf("outlier detection (-want +got):\n%s", diff)
	}
	if clusterIn(t, settings.Settings{}).OutlierDetection != nil {
		t.Error("the cluster has outlier detection, want none without the setting")
	}
}

// By default gRPC clients fail calls beyond 1,024 in flight.
func TestCircuitBreakersAllowAMillionCalls(t *testing.T) {
	if limit := clusterIn(t, settings.Settings{}).CircuitBreakers.Thresholds[0].MaxRequests.Value; limit < 1e6 {
		t.Errorf("clients may have %d calls in flight, want a million at least", limit)
	}
}

func TestRetriesAreInTheRouteConfiguration(t *testing.T) {
	routes := snapshot(t, nil, settings.Settings{Retry: &settings.Retry{
		Attempts: 3, Backoff: 10 * time.Millisecond, Codes: []string{"UNAVAILABLE", "RESOURCE_EXHAUSTED"},
	}}).GetResources(resource.RouteType)["greeter"].(*route.RouteConfiguration)
	policy := routes.VirtualHosts[0].Routes[0].GetRoute().RetryPolicy
	if policy.RetryOn != "unavailable,resource-exhausted" || policy.NumRetries.Value != 2 || policy.RetryBackOff.BaseInterval.AsDuration() != 10*time.Millisecond {
		t.Errorf("retry policy %v, want 2 retries on unavailable and resource-exhausted after 10 ms", policy)
	}
}

func TestSnapshotRejectsSettingsThatXDSDoesNotHave(t *testing.T) {
	for want, s := range map[string]settings.Settings{
		"cannot retry ABORTED": {Retry: &settings.Retry{Attempts: 2, Codes: []string{"ABORTED"}}},
		`no policy "fastest"`:  {Policy: "fastest"},
	} {
		if _, err := controlplane.Snapshot("greeter", nil, s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
