package endpointslice

import (
	"encoding/json"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	discovery "k8s.io/api/discovery/v1"
)

func read(t *testing.T, text string) *discovery.EndpointSlice {
	t.Helper()
	s := &discovery.EndpointSlice{}
	if err := json.Unmarshal([]byte(text), s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestEndpointsOfASlice(t *testing.T) {
	const ports = `"ports":[{"name":"grpc","port":50051}]`
	at := func(addr string, ready, serving, terminating bool) Endpoint {
		a := netip.MustParseAddrPort(addr)
		return Endpoint{ID: a.Addr().String(), Addr: a, Ready: ready, Serving: serving, Terminating: terminating}
	}
	for _, test := range []struct {
		name, slice string
		want        Set
	}{
		{"no condition: ready", `{"endpoints":[{"addresses":["127.0.0.1"]}],` + ports + `}`,
			Set{at("127.0.0.1:50051", true, true, false)}},
		{"not ready, so not serving", `{"endpoints":[{"addresses":["127.0.0.1"],"conditions":{"ready":false}}],` + ports + `}`,
			Set{at("127.0.0.1:50051", false, false, false)}},
		{"serving while terminating", `{"endpoints":[{"addresses":["127.0.0.1"],"conditions":{"ready":false,"serving":true,"terminating":true}}],` + ports + `}`,
			Set{at("127.0.0.1:50051", false, true, true)}},
		{"the first address counts", `{"endpoints":[{"addresses":["127.0.0.1","127.0.0.2"]}],` + ports + `}`,
			Set{at("127.0.0.1:50051", true, true, false)}},
		{"IPv6", `{"endpoints":[{"addresses":["::1"]}],` + ports + `}`, Set{at("[::1]:50051", true, true, false)}},
		{"the port named grpc", `{"endpoints":[{"addresses":["127.0.0.1"]}],"ports":[{"name":"metrics","port":9},{"name":"grpc","port":7}]}`,
			Set{at("127.0.0.1:7", true, true, false)}},
		{"else the first port", `{"endpoints":[{"addresses":["127.0.0.1"]}],"ports":[{"name":"a","port":9},{"name":"b","port":7}]}`,
			Set{at("127.0.0.1:9", true, true, false)}},
		{"a host name has no address", `{"addressType":"FQDN","endpoints":[{"addresses":["example.com"]}],` + ports + `}`, Set{}},
		{"no port", `{"endpoints":[{"addresses":["127.0.0.1"]}],"ports":[]}`, Set{}},
		{"no endpoints", `{"endpoints":null,` + ports + `}`, Set{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			set := setOf(map[string]*discovery.EndpointSlice{"s": read(t, test.slice)})
			if diff := cmp.Diff(test.want, set, cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEndpointInTwoSlicesCountsOnceInItsBetterCondition(t *testing.T) {
	set := setOf(map[string]*discovery.EndpointSlice{
		"a": read(t, `{"endpoints":[{"addresses":["127.0.0.1"],"conditions":{"ready":false}}],"ports":[{"port":1}]}`),
		"b": read(t, `{"endpoints":[{"addresses":["127.0.0.1"],"conditions":{"ready":true}}],"ports":[{"port":1}]}`),
	})
	if len(set) != 1 || !set[0].Ready {
		t.Errorf("the set is %+v, want one endpoint that is ready", set)
	}
}

func TestUsableEndpoints(t *testing.T) {
	ready := Endpoint{ID: "ready", Ready: true, Serving: true}
	draining := Endpoint{ID: "draining", Serving: true, Terminating: true}
	starting := Endpoint{ID: "starting"}
	ending := Endpoint{ID: "ending", Terminating: true}
	for name, test := range map[string]struct{ all, want Set }{
		"ready endpoints":                       {Set{ready, draining, starting, ending}, Set{ready}},
		"draining endpoints when none is ready": {Set{draining, starting, ending}, Set{draining}},
		"no ready and no draining endpoint":     {Set{starting, ending}, nil},
		"an empty set":                          {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, e := range test.all.Usable() {
				got = append(got, e.ID)
			}
			var want []string
			for _, e := range test.want {
				want = append(want, e.ID)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
