package publish

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"rpclab/internal/cluster"
)

// serve publishes an empty service on loopback until the test ends.
func serve(t *testing.T, first ...cluster.Endpoint) (*Publisher, *cluster.Endpoints) {
	t.Helper()
	endpoints := cluster.NewEndpoints()
	for _, e := range first {
		endpoints.Set(e)
	}
	p, err := Serve(endpoints, greeter, netip.MustParseAddr("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil { // a second Close must succeed too
			t.Error(err)
		}
	})
	return p, endpoints
}

// resolverAt is Go's resolver with only our name server.
func resolverAt(p *Publisher) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, p.Service().DNS)
	}}
}

func TestResolverFindsTheReadyBackends(t *testing.T) {
	p, endpoints := serve(t, many(3)...)
	host := p.Service().Host + "."
	lookup := func() int {
		addrs, err := resolverAt(p).LookupHost(t.Context(), host)
		if err != nil {
			t.Fatal(err)
		}
		return len(addrs)
	}
	if n := lookup(); n != 3 {
		t.Errorf("the resolver finds %d addresses, want 3", n)
	}
	endpoints.Remove("b001")
	if n := lookup(); n != 2 {
		t.Errorf("after a removal the resolver finds %d addresses, want 2", n)
	}
}

// 250 addresses do not fit in a datagram: the resolver asks again over TCP, on the same port.
func TestResolverFindsManyBackendsOverTCP(t *testing.T) {
	p, _ := serve(t, many(250)...)
	var overUDP dns.Client
	m, _, err := overUDP.Exchange(new(dns.Msg).SetQuestion("greeter.rpclab.local.", dns.TypeA), p.Service().DNS)
	if err != nil || !m.Truncated {
		t.Fatalf("the answer over UDP is truncated: %v (error %v), want true", m != nil && m.Truncated, err)
	}
	addrs, err := resolverAt(p).LookupHost(t.Context(), p.Service().Host+".")
	if err != nil || len(addrs) != 250 {
		t.Errorf("the resolver finds %d addresses (%v), want 250", len(addrs), err)
	}
	_, srvs, err := resolverAt(p).LookupSRV(t.Context(), "grpc", "tcp", p.Service().Host+".")
	if err != nil || len(srvs) != 250 || srvs[0].Port != 50051 {
		t.Errorf("the resolver finds %d SRV records (%v), want 250 with the port 50051", len(srvs), err)
	}
}

func TestErrorNamesAPortInUse(t *testing.T) {
	p, endpoints := serve(t)
	taken := netip.MustParseAddrPort(p.Service().DNS)
	if d, err := ServeDNS(endpoints, greeter, taken); err == nil || !strings.Contains(err.Error(), taken.String()) {
		t.Errorf("a second DNS server on %s: %v, error %v; want an error that names the port", taken, d, err)
	}
	taken = netip.MustParseAddrPort(strings.TrimPrefix(p.Service().API, "http://"))
	if a, err := ServeAPI(endpoints, greeter, taken); err == nil || !strings.Contains(err.Error(), taken.String()) {
		t.Errorf("a second API server on %s: %v, error %v; want an error that names the port", taken, a, err)
	}
}

func TestServeRejectsInvalidNames(t *testing.T) {
	for _, names := range []Names{{Service: "Greeter", Port: 1}, {Service: "", Port: 1}, {Service: "greeter", Port: -1}, {Service: "greeter", Port: 70000}} {
		if p, err := Serve(cluster.NewEndpoints(), names, netip.MustParseAddr("127.0.0.1")); err == nil {
			t.Errorf("%+v is published, want an error", names)
			_ = p.Close()
		}
	}
}

func TestCloseDoesNotWaitForDelayedAnswers(t *testing.T) {
	p, _ := serve(t, many(1)...)
	p.SetDNSFault(time.Hour, false)
	began := time.Now()
	answered := make(chan error, 1)
	go func() {
		_, _, err := new(dns.Client).Exchange(new(dns.Msg).SetQuestion("greeter.rpclab.local.", dns.TypeA), p.Service().DNS)
		answered <- err
	}()
	select {
	case err := <-answered:
		t.Errorf("the name server answered at once (error %v), want a delay of an hour", err)
	case <-time.After(100 * time.Millisecond):
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("Close took %v, want 30 s at most", took)
	}
	<-answered
}
