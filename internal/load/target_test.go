package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/miekg/dns"
	"google.golang.org/grpc"
	"google.golang.org/grpc/reflection"

	rpclabv1 "rpclab/api/rpclab/v1"
)

// counting is a greeter that counts its calls.
type counting struct {
	rpclabv1.UnimplementedGreeterServer
	calls     atomic.Int64
	stopAfter int64  // calls after which stop is called; 0: never
	stop      func() // stops the server
}

func (c *counting) SayHello(context.Context, *rpclabv1.HelloRequest) (*rpclabv1.HelloReply, error) {
	if c.calls.Add(1) == c.stopAfter {
		go c.stop()
	}
	return &rpclabv1.HelloReply{}, nil
}

// greetAt serves a greeter on a listener until the test ends.
func greetAt(t *testing.T, network, address string) (*counting, net.Listener) {
	t.Helper()
	listener, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	greeter := &counting{stop: server.Stop}
	rpclabv1.RegisterGreeterServer(server, greeter)
	reflection.Register(server)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return greeter, listener
}

func TestTargetsAreParsed(t *testing.T) {
	for text, want := range map[string][]server{
		"a:1":                  {{host: "a", port: "1"}},
		"[::1]:1":              {{host: "::1", port: "1"}},
		"dns:a:1":              {{host: "a", port: "1"}},
		"dns:///a:http":        {{host: "a", port: "http"}},
		"dns://[::1]/a:1":      {{host: "a", port: "1", nameserver: "[::1]:53"}},
		"dns://ns:5353/a:1":    {{host: "a", port: "1", nameserver: "ns:5353"}},
		"unix:///run/a.sock":   {{socket: "/run/a.sock"}},
		"unix:a.sock":          {{socket: "a.sock"}},
		"a:1, dns:b:2,unix:/c": {{host: "a", port: "1"}, {host: "b", port: "2"}, {socket: "/c"}},
	} {
		if got, err := parseTarget(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %+v, %v; want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":                  `"" is not an address`,
		"a:1,":              `"" is not an address`,
		"a:1,b":             `"b" is not an address`,
		"unix://":           "is not a socket: use unix:///PATH",
		"unix://run/a.sock": `"unix://run/a.sock" names the host "run", but a socket is on this machine: use unix:///PATH for an absolute path, or unix:PATH for a relative one`,
		"a:1,unix://a.sock": `names the host "a.sock"`,
		"dns://a:1":         "has no slash before the name",
		"dns:///a":          "is not an address",
		"xds:///a":          "rpclab load has no client of a control plane",
		"http://a:1":        "is a URL",
		"a:1,b:99999":       "99999 is not a port",
	} {
		if _, err := parseTarget(text); err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: the error is %v, want %q", text, err, want)
		}
	}
}

func TestCallsOverAUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "greeter.sock")
	greeter, _ := greetAt(t, "unix", path)
	for _, engine := range []string{Wire, GRPCGo} {
		settings := validSettings()
		settings.Engine, settings.Target, settings.Calls, settings.Connections = engine, "unix://"+path, 50, 2
		before := greeter.calls.Load()
		arm := run(t, settings).Arms[0]
		if arm.Calls != 50 || len(arm.Errors) > 0 || greeter.calls.Load()-before != 50 || arm.Backends[settings.Target] != 50 {
			t.Errorf("%s: %d calls, errors %v, backends %v, the server counts %d; want 50 calls of %s",
				engine, arm.Calls, arm.Samples, arm.Backends, greeter.calls.Load()-before, settings.Target)
		}
	}
	settings := with(func(s *Settings) { s.Target = "unix://" + path; s.Sources = []string{"127.0.0.2"} })
	if _, err := Open(t.Context(), settings); err == nil || !strings.Contains(err.Error(), "leave it out for a Unix socket") {
		t.Errorf("--source with a Unix socket: the error is %v, want one that says to leave it out", err)
	}
}

// The third address refuses connections. Neither policy counts errors for it.
func TestCallsGoToTheAddressesThatThePolicyPicks(t *testing.T) {
	one, first := greetAt(t, "tcp", "127.0.0.1:0")
	two, second := greetAt(t, "tcp", "127.0.0.1:0")
	const down = "127.0.0.1:1"
	a, b := first.Addr().String(), second.Addr().String()
	for _, engine := range []string{Wire, GRPCGo} {
		for _, c := range []struct {
			balance, target string
			want            map[string]uint64
			warning         string
		}{
			{PickFirst, a + "," + b, map[string]uint64{a: 1000}, ""},
			{"", down + "," + b + "," + a, map[string]uint64{b: 1000}, ""},
			{RoundRobin, a + "," + b, map[string]uint64{a: 500, b: 500}, ""},
			{RoundRobin, a + "," + b + "," + down, map[string]uint64{a: 500, b: 500, down: 0}, down + " answered no call, although --balance round_robin"},
		} {
			settings := validSettings()
			settings.Engine, settings.Target, settings.Balance, settings.Calls, settings.Concurrency = engine, c.target, c.balance, 1000, 5
			before := map[string]int64{a: one.calls.Load(), b: two.calls.Load()}
			document := run(t, settings)
			arm := document.Arms[0]
			name := fmt.Sprintf("%s, %q, %s", engine, c.balance, c.target)
			if arm.Calls != 1000 || len(arm.Errors) > 0 || len(arm.Backends) != len(c.want) {
				t.Errorf("%s: %d calls, errors %v, backends %v; want 1,000 calls by %v", name, arm.Calls, arm.Samples, arm.Backends, c.want)
			}
			for address, n := range c.want {
				if got := arm.Backends[address]; max(got, n)-min(got, n) > 200 { // grpc-go starts when one of the connections is open
					t.Errorf("%s: %s answered %d calls, want about %d", name, address, got, n)
				}
			}
			for address, greeter := range map[string]*counting{a: one, b: two} {
				if counted := uint64(greeter.calls.Load() - before[address]); counted != arm.Backends[address] {
					t.Errorf("%s: %s counted %d calls, the document says %d", name, address, counted, arm.Backends[address])
				}
			}
			if text := strings.Join(document.Warnings, "\n"); !strings.Contains(text, c.warning) || c.warning == "" && strings.Contains(text, "answered no call") {
				t.Errorf("%s: the warnings are %q, want %q", name, text, c.warning)
			}
		}
	}
}

func TestACallFailsOnlyWhenNoAddressWorks(t *testing.T) {
	_, only := greetAt(t, "tcp", "127.0.0.1:0")
	for _, balance := range []string{PickFirst, RoundRobin} {
		settings := validSettings()
		settings.Balance, settings.Calls, settings.Concurrency, settings.PerCall = balance, 50, 3, true
		settings.Target = "127.0.0.1:1," + only.Addr().String()
		if arm := run(t, settings).Arms[0]; arm.Calls != 50 || len(arm.Errors) > 0 {
			t.Errorf("%s, a connection per call: %d calls, errors %v; want 50 calls without errors", balance, arm.Calls, arm.Samples)
		}
		for _, engine := range []string{Wire, GRPCGo} {
			settings := with(func(s *Settings) { s.Engine, s.Balance, s.Target = engine, balance, "127.0.0.1:1,127.0.0.1:2" })
			if _, err := Open(t.Context(), settings); err == nil || !strings.Contains(err.Error(), "cannot connect to 127.0.0.1:1,127.0.0.1:2: ") || !strings.Contains(err.Error(), "refused") {
				t.Errorf("%s, %s, no server: the error is %v, want connection refused", engine, balance, err)
			}
		}
	}
}

// A server that stops during the load fails only the calls that it has at that time.
func TestALoadContinuesWithTheOtherAddresses(t *testing.T) {
	const users = 5
	for _, engine := range []string{Wire, GRPCGo} {
		for _, balance := range []string{PickFirst, RoundRobin} {
			one, first := greetAt(t, "tcp", "127.0.0.1:0")
			_, second := greetAt(t, "tcp", "127.0.0.1:0")
			one.stopAfter = 200
			settings := validSettings()
			settings.Engine, settings.Balance, settings.Calls, settings.Concurrency = engine, balance, 2000, users
			settings.Target = first.Addr().String() + "," + second.Addr().String()
			arm := run(t, settings).Arms[0]
			a, b := arm.Backends[first.Addr().String()], arm.Backends[second.Addr().String()]
			if arm.Calls != 2000 || arm.Errors["UNAVAILABLE"] > users || a+b+arm.Errors["UNAVAILABLE"] != 2000 || a < 200-users || b < 1000 {
				t.Errorf("%s, %s: %d and %d calls, errors %v %v; want at least %d calls by the server that stopped, and at most %d errors",
					engine, balance, a, b, arm.Errors, arm.Samples, 200-users, users)
			}
		}
	}
}

// names is a DNS server that knows all.example with two addresses, and one.example with one.
func names(t *testing.T) (address string) {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	started := make(chan struct{})
	server := &dns.Server{PacketConn: conn, NotifyStartedFunc: func() { close(started) }, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, question *dns.Msg) {
		answer := new(dns.Msg).SetReply(question)
		if q := question.Question[0]; q.Qtype == dns.TypeA {
			for _, ip := range map[string][]string{"all.example.": {"127.0.0.1", "127.0.0.2"}, "one.example.": {"127.0.0.1"}}[q.Name] {
				answer.Answer = append(answer.Answer, &dns.A{Hdr: dns.RR_Header{Name: q.Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 1}, A: net.ParseIP(ip)})
			}
		}
		_ = w.WriteMsg(answer)
	})}
	ended := make(chan error, 1)
	go func() { ended <- server.ActivateAndServe() }()
	<-started
	t.Cleanup(func() { _ = server.Shutdown(); <-ended })
	return conn.LocalAddr().String()
}

func TestANameResolvesToAllItsAddresses(t *testing.T) {
	_, first := greetAt(t, "tcp", "127.0.0.1:0")
	_, port, _ := net.SplitHostPort(first.Addr().String())
	greetAt(t, "tcp", "127.0.0.2:"+port)
	for _, engine := range []string{Wire, GRPCGo} {
		settings := validSettings()
		settings.Engine, settings.Balance, settings.Calls, settings.Concurrency = engine, RoundRobin, 1000, 5
		settings.Target = "dns://" + names(t) + "/all.example:" + port
		arm := run(t, settings).Arms[0]
		if a, b := arm.Backends["127.0.0.1:"+port], arm.Backends["127.0.0.2:"+port]; arm.Name != settings.Target || a+b != 1000 || a < 300 || b < 300 {
			t.Errorf("%s: %s has the backends %v, errors %v; want about 500 calls by each address", engine, arm.Name, arm.Backends, arm.Samples)
		}
		if arm.Config["balance"] != RoundRobin || len(arm.Config["addresses"].([]string)) != 2 {
			t.Errorf("%s: the document says addresses %v, balance %v", engine, arm.Config["addresses"], arm.Config["balance"])
		}
	}
}

// Such a name may have several addresses elsewhere, so it is no error.
func TestAPolicyForANameWithOneAddressIsWarnedOf(t *testing.T) {
	_, only := greetAt(t, "tcp", "127.0.0.1:0")
	_, port, _ := net.SplitHostPort(only.Addr().String())
	for balance, want := range map[string]bool{RoundRobin: true, PickFirst: false} {
		settings := validSettings()
		settings.Balance, settings.Calls, settings.Target = balance, 5, "dns://"+names(t)+"/one.example:"+port
		text := strings.Join(run(t, settings).Warnings, "\n")
		if warns := strings.Contains(text, "one.example:"+port+" has one address, so --balance round_robin had no effect"); warns != want {
			t.Errorf("%s: the warnings are %q, want one of --balance: %v", balance, text, want)
		}
	}
}
