package load

import (
	"net"
	"os"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/service/data"
	"rpclab/internal/service/stream"
)

// The self-test used one connection, one thread and no TLS whatever the load used.
func TestTheProbeOfALoadUsesWhatTheLoadUses(t *testing.T) {
	for what, test := range map[string]struct {
		change func(*Settings)
		want   Probe
	}{
		"the default":                {func(*Settings) {}, Probe{Engine: Wire, Cores: 1}},
		"TLS":                        {func(s *Settings) { s.TLS.Insecure = true }, Probe{Engine: Wire, Cores: 1, TLS: true}},
		"connections and threads":    {func(s *Settings) { s.Connections, s.Cores = 3, 2 }, Probe{Engine: Wire, Cores: 2, Connections: 3}},
		"a thread without work":      {func(s *Settings) { s.Connections, s.Cores = 2, 4 }, Probe{Engine: Wire, Cores: 2, Connections: 2}},
		"grpc-go":                    {func(s *Settings) { s.Engine, s.Connections, s.TLS.On = GRPCGo, 2, true }, Probe{Engine: GRPCGo, Connections: 2, TLS: true}},
		"HTTPS, connections as many": {func(s *Settings) { s.HTTP, s.Target, s.Cores = "GET", "https://127.0.0.1", 2 }, Probe{Engine: Wire, HTTP: 1, Cores: 2, TLS: true}},
		"HTTP/2":                     {func(s *Settings) { s.HTTP, s.Target, s.HTTP2 = "GET", "http://127.0.0.1", true }, Probe{Engine: Wire, HTTP: 2, Cores: 1}},
		"two addresses":              {func(s *Settings) { s.Connections, s.Balance = 3, RoundRobin }, Probe{Engine: Wire, Cores: 1, Connections: 6}},
	} {
		s := with(test.change)
		s.Self = nil
		load := &Load{settings: s, messages: data.Binary([]byte("1234567")), client: new(wireClient), to: target{addresses: []string{"127.0.0.1:1", "127.0.0.1:2"}, balance: s.Balance}}
		test.want.Request, test.want.Duration = 7, selfTestPhase
		if got := load.Probe(); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: the probe is %+v, want %+v", what, got, test.want)
		}
	}
}

// Figures of another kind of load would be wrong.
func TestTheLimitsOfALoadThatTheSelfTestCannotMakeAreNotKnown(t *testing.T) {
	templates, err := data.Text("-d", []byte("{{.Number}}"))
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Load){
		"streams":                    func(l *Load) { l.stream = new(stream.Stream) },
		"connection for each call":   func(l *Load) { l.settings.PerCall = true },
		"compress":                   func(l *Load) { l.settings.Compress = Gzip },
		"the self-test uses no temp": func(l *Load) { l.messages = templates },
		"self-test uses no template": func(l *Load) { l.templates = true },
		"Unix socket":                func(l *Load) { l.to.addresses = []string{"unix:/s"} },
	} {
		load := &Load{settings: validSettings(), messages: data.Binary(nil), client: new(wireClient)}
		change(load)
		figures, err := SelfTest(t.Context(), load.Probe())
		if err != nil || !strings.Contains(figures.Unknown, want) || figures.CeilingRate != nil || figures.FloorP50 != 0 {
			t.Errorf("the self-test is %+v, %v; want no figures, because of %q", figures, err, want)
		}
	}
}

// watchedListener counts the connections that it accepts, and those that begin with a TLS handshake.
type watchedListener struct {
	net.Listener
	all, encrypted atomic.Int64
}

func (l *watchedListener) Accept() (net.Conn, error) {
	connection, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.all.Add(1)
	return &watchedConn{Conn: connection, listener: l}, nil
}

type watchedConn struct {
	net.Conn
	listener *watchedListener
	begun    bool
}

func (c *watchedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if !c.begun && n > 0 {
		c.begun = true
		if b[0] == 22 { // a record of a handshake (RFC 8446, section 5.1)
			c.listener.encrypted.Add(1)
		}
	}
	return n, err
}

func TestTheClientOfASelfTestOpensTheConnectionsOfTheLoad(t *testing.T) {
	for _, test := range []struct {
		probe Probe
		want  int64
	}{
		{Probe{Engine: Wire}, 1},
		{Probe{Engine: Wire, TLS: true}, 1},
		{Probe{Engine: Wire, Connections: 3}, 3},
		{Probe{Engine: Wire, TLS: true, Connections: 3}, 3},
		{Probe{Engine: Wire, HTTP: 1, TLS: true, Connections: 3}, 3},
		{Probe{Engine: Wire, HTTP: 2, TLS: true, Connections: 3}, 3},
		{Probe{Engine: GRPCGo, TLS: true, Connections: 3}, 3},
		{Probe{Engine: Wire, Connections: 100_000}, ceilingUsers}, // no more than calls in flight
		{Probe{Engine: Wire, Connections: 100_000, Request: 1 << 20}, 16},
	} {
		raw, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		watched := &watchedListener{Listener: raw}
		var listener net.Listener = watched
		encrypted := int64(0)
		if test.probe.TLS {
			encrypted = test.want
			keys, err := newTestKeys()
			if err != nil {
				t.Fatal(err)
			}
			if test.probe.security, err = keys.client(); err != nil {
				t.Fatal(err)
			}
			if listener, err = keys.listen(watched); err != nil {
				t.Fatal(err)
			}
		}
		stop := serveCalls(listener, test.probe)
		client, err := openProbe(t.Context(), test.probe, raw.Addr().String(), nil)
		if err != nil {
			t.Fatal(err)
		}
		recorder, _, err := client.Run(t.Context(), pace.Closed{Users: test.probe.users(), Calls: uint64(test.probe.users())}, measure.StartSignal{})
		if err != nil {
			t.Fatal(err)
		}
		seen, err := recorder.Measurement()
		if err != nil || len(seen.Errors) > 0 || seen.Calls == 0 {
			t.Errorf("%+v: %d calls, errors %v %v", test.probe, seen.Calls, seen.Errors, err)
		}
		if all, secure := watched.all.Load(), watched.encrypted.Load(); all != test.want || secure != encrypted {
			t.Errorf("%+v: %d connections, %d of them with TLS; want %d and %d", test.probe, all, secure, test.want, encrypted)
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
		stop()
	}
}

// The engine refuses more threads than there are processors, so it was asked for them.
func TestTheClientOfASelfTestHasTheThreadsOfTheLoad(t *testing.T) {
	n := runtime.NumCPU() + 1
	if client, err := openProbe(t.Context(), Probe{Engine: Wire, Cores: n, Connections: n}, "127.0.0.1:1", nil); err == nil || !strings.Contains(err.Error(), "fewer cores") {
		if err == nil {
			_ = client.Close()
		}
		t.Errorf("with %d threads the error is %v, want one about the cores of this machine", n, err)
	}
	if got := (Probe{Engine: Wire, Cores: 4}).users(); got != 4*ceilingUsers {
		t.Errorf("%d users for 4 threads, want %d", got, 4*ceilingUsers)
	}
}

func TestTheSelfTestWorksWithTLS(t *testing.T) {
	for _, probe := range []Probe{{Engine: Wire}, {Engine: GRPCGo}, {Engine: Wire, HTTP: 1}, {Engine: Wire, HTTP: 2}} {
		for _, size := range []int{16, 2 * maxFastServerMessage} {
			probe.TLS, probe.Connections, probe.Request, probe.Reply, probe.Duration, probe.Self = true, 2, 16, size, 30*time.Millisecond, []string{os.Args[0]}
			figures, err := SelfTest(t.Context(), probe)
			// A record of TLS 1.3 has a header of 5 bytes, a type and a tag of 16 bytes.
			if err != nil || figures.CeilingRate == nil || figures.FloorP50 <= figures.PingP50 || figures.ReceivedBytes < size+22 || !figures.TLS || figures.Connections != 2 || !figures.Shared {
				t.Errorf("%+v: the self-test is %+v, %v; want figures of two connections with TLS", probe, figures, err)
			}
		}
	}
}
