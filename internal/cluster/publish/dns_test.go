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
		if err := p.Close(); err != nil { // some tests have closed it: twice must do
			t.Error(err)
		}
	})
	return p, endpoints
}

// resolverAt is Go's own resolver, asking only our server.
func resolverAt(p *Publisher) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, p.Service().DNS)
	}}
}

func TestAResolverFindsTheReadyBackends(t *testing.T) {
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
		t.Errorf("%d addresses of 3", n)
	}
	endpoints.Remove("b001")
	if n := lookup(); n != 2 {
		t.Errorf("%d addresses of 2", n)
	}
}

// 250 addresses do not fit a datagram: the resolver asks again over TCP, on the
// same port.
func TestManyBackendsAreFoundOverTCP(t *testing.T) {
	p, _ := serve(t, many(250)...)
	var overUDP dns.Client
	m, _, err := overUDP.Exchange(new(dns.Msg).SetQuestion("greeter.rpclab.local.", dns.TypeA), p.Service().DNS)
	if err != nil || !m.Truncated {
		t.Fatalf("over UDP: truncated %v, %v", m != nil && m.Truncated, err)
	}
	addrs, err := resolverAt(p).LookupHost(t.Context(), p.Service().Host+".")
	if err != nil || len(addrs) != 250 {
		t.Errorf("%d addresses of 250: %v", len(addrs), err)
	}
	_, srvs, err := resolverAt(p).LookupSRV(t.Context(), "grpc", "tcp", p.Service().Host+".")
	if err != nil || len(srvs) != 250 || srvs[0].Port != 50051 {
		t.Errorf("%d services of 250: %v", len(srvs), err)
	}
}

func TestAPortInUseIsAnError(t *testing.T) {
	p, endpoints := serve(t)
	taken := netip.MustParseAddrPort(p.Service().DNS)
	if d, err := ServeDNS(endpoints, greeter, taken); err == nil || !strings.Contains(err.Error(), taken.String()) {
		t.Errorf("a second DNS server on %s: %v, %v", taken, d, err)
	}
	taken = netip.MustParseAddrPort(strings.TrimPrefix(p.Service().API, "http://"))
	if a, err := ServeAPI(endpoints, greeter, taken); err == nil || !strings.Contains(err.Error(), taken.String()) {
		t.Errorf("a second API server on %s: %v, %v", taken, a, err)
	}
}

func TestNamesAreChecked(t *testing.T) {
	for _, names := range []Names{{Service: "Greeter", Port: 1}, {Service: "", Port: 1}, {Service: "greeter", Port: -1}, {Service: "greeter", Port: 70000}} {
		if p, err := Serve(cluster.NewEndpoints(), names, netip.MustParseAddr("127.0.0.1")); err == nil {
			t.Errorf("%+v is published", names)
			_ = p.Close()
		}
	}
}

func TestAnAnswerThatIsLateDoesNotHoldUpTheEnd(t *testing.T) {
	p, _ := serve(t, many(1)...)
	p.SetDNSFault(time.Hour, false)
	began := time.Now()
	asked := make(chan error, 1)
	go func() {
		_, _, err := new(dns.Client).Exchange(new(dns.Msg).SetQuestion("greeter.rpclab.local.", dns.TypeA), p.Service().DNS)
		asked <- err
	}()
	select {
	case err := <-asked:
		t.Errorf("it answered at once, %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it ended after %v", took)
	}
	<-asked
}
