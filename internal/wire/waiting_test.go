package wire_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/net/http2"
	"google.golang.org/grpc"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/wire"
)

// The service times of calls that run one after another cannot overlap. The wait of a call for the
// previous one is lateness.
func TestAWaitForAStreamCountsAsLateness(t *testing.T) {
	t.Parallel()
	const calls, delay = 10, 10 * time.Millisecond
	streams := wire.Call{Method: "/test.Slow/Answer"}
	slow := func(options ...grpc.ServerOption) string {
		server := grpc.NewServer(options...)
		server.RegisterService(&grpc.ServiceDesc{ServiceName: "test.Slow", HandlerType: (*any)(nil), Streams: []grpc.StreamDesc{
			{StreamName: "Answer", Handler: func(_ any, s grpc.ServerStream) error {
				<-time.After(delay)
				return s.SendMsg(&rpclabv1.HelloReply{})
			}},
		}}, nil)
		return sessionStream(t, server)
	}
	rest := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-time.After(delay) }))
	t.Cleanup(rest.Close)
	leaving := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		<-time.After(delay)
		w.Header().Set("Connection", "close") // a GOAWAY
	}))
	leaving.Config.Protocols = new(http.Protocols)
	leaving.Config.Protocols.SetUnencryptedHTTP2(true)
	leaving.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: 1}
	leaving.Start()
	t.Cleanup(leaving.Close)
	for what, c := range map[string]struct {
		cfg  wire.Config
		call wire.Call
	}{
		"of the client's limit": {wire.Config{Addresses: []string{slow()}, MaxStreams: 1}, streams},
		"of the server's limit": {wire.Config{Addresses: []string{slow(grpc.MaxConcurrentStreams(1))}}, streams},
		"HTTP/1.1":              {wire.Config{Addresses: []string{rest.Listener.Addr().String()}}, get("/")},
		"with GOAWAY": {
			wire.Config{Addresses: []string{leaving.Listener.Addr().String()}},
			wire.Call{HTTP: &wire.HTTP{Method: "GET", Path: "/", Version: 2}},
		},
	} {
		t.Run(what, func(t *testing.T) {
			e := engine(t, c.cfg, c.call)
			if err := e.Connect(t.Context()); err != nil {
				t.Fatal(err)
			}
			m := load(t, e, pace.Burst{Calls: calls})
			service, lateness := decode(t, m.Service), decode(t, m.Lateness)
			if m.Calls != calls || len(m.Errors) > 0 || m.Waited != calls-1 {
				t.Errorf("%d calls, %d waited, errors %v %v", m.Calls, m.Waited, m.Errors, m.Samples)
			}
			if sum := time.Duration(service.Mean() * calls); sum > m.Elapsed*1001/1000 {
				t.Errorf("%d calls in turn took %v, but their service times add up to %v", calls, m.Elapsed, sum)
			}
			if most := time.Duration(lateness.Max()); most < (calls-1)*delay*999/1000 {
				t.Errorf("the last call was late by %v, want at least %v", most, (calls-1)*delay)
			}
		})
	}
}

func decode(t *testing.T, text string) *hdr.Histogram {
	t.Helper()
	h, err := hdr.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// As many users as the connections have streams find one each, on every core.
func TestStickyUsersShareAllConnections(t *testing.T) {
	t.Parallel()
	addr, _ := greeter(t, "b1", 5*time.Millisecond)
	const channels, streams = 4, 10
	for cores := 1; cores <= min(runtime.NumCPU(), channels); cores *= 2 {
		e := engine(t, wire.Config{Addresses: []string{addr}, Channels: channels, Cores: cores, Sticky: true, MaxStreams: streams}, greet(t))
		if err := e.Connect(t.Context()); err != nil {
			t.Fatal(err)
		}
		m := load(t, e, pace.Closed{Users: channels * streams, Calls: 400})
		if m.Backends["b1"] != 400 || m.Waited != 0 {
			t.Errorf("%d cores: %d calls of 400 waited for a stream; errors %v %v", cores, m.Waited, m.Errors, m.Samples)
		}
	}
}

// The deadline of a call also limits its wait for a stream. A call that ends before there is a stream for it is not sent.
func TestTheDeadlineIncludesTheWaitForAStream(t *testing.T) {
	t.Parallel()
	const limit, calls = 500 * time.Millisecond, 3
	for code, timeout := range map[string]time.Duration{"DEADLINE_EXCEEDED": limit, "CANCELLED": 0} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { listener.Close() })
			requests := make(chan int, 1)
			go func() { requests <- countRequests(listener, calls) }()
			e := engine(t, wire.Config{Addresses: []string{listener.Addr().String()}, MaxStreams: 1, Timeout: timeout}, greet(t))
			if err := e.Connect(t.Context()); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if timeout == 0 {
				time.AfterFunc(2*limit, cancel)
			}
			recorder, _, err := e.Run(ctx, pace.Burst{Calls: calls}, measure.StartSignal{})
			if err != nil {
				t.Fatal(err)
			}
			m, err := recorder.Measurement()
			if err != nil || m.Errors[code] != calls || m.Waited != calls-1 {
				t.Errorf("errors %v %v, %d waited, %v", m.Errors, m.Samples, m.Waited, err)
			}
			lateness := decode(t, m.Lateness)
			if unsent := lateness.Max(); unsent < int64(limit*999/1000) || lateness.ValueAtPercentile(10) > unsent/2 {
				t.Errorf("lateness from %d to %d ns; the first call was sent at once, the others never", lateness.Min(), unsent)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
			if got := <-requests; got != 1 {
				t.Errorf("the server received %d requests, want only that of the call with the stream", got)
			}
		})
	}
}

// countRequests answers nothing on one connection and returns how many requests came before its end. It closes the
// connection after the most.
func countRequests(listener net.Listener, most int) (n int) {
	conn, err := listener.Accept()
	if err != nil {
		return 0
	}
	defer conn.Close()
	framer := http2.NewFramer(conn, conn)
	_, err = io.ReadFull(conn, make([]byte, len(http2.ClientPreface)))
	for err = errors.Join(err, framer.WriteSettings()); err == nil && n < most; {
		var frame http2.Frame
		if frame, err = framer.ReadFrame(); err == nil && frame.Header().Type == http2.FrameHeaders {
			n++
		}
	}
	return n
}

// A call that waits for a stream when its connection is lost waits for the server from then on.
func TestTheTimeToReconnectIsNotTheClientsWait(t *testing.T) {
	t.Parallel()
	const pause = 300 * time.Millisecond
	addr, _ := greeter(t, "b1", 0)
	lost, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lost.Close() })
	go countRequests(lost, 1)
	dials := 0
	e := engine(t, wire.Config{Addresses: []string{addr}, MaxStreams: 1, Dial: func(ctx context.Context, addr string) (net.Conn, error) {
		if dials++; dials == 1 {
			addr = lost.Addr().String()
		} else {
			<-time.After(pause)
		}
		return new(net.Dialer).DialContext(ctx, "tcp", addr)
	}}, greet(t))
	if err := e.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	m := load(t, e, pace.Burst{Calls: 2})
	if m.Calls != 2 || m.Errors["UNAVAILABLE"] != 1 || m.Waited != 1 {
		t.Fatalf("%d calls, %d waited, errors %v %v; want one call that was lost and one that waited", m.Calls, m.Waited, m.Errors, m.Samples)
	}
	if service := decode(t, m.Service).Max(); service < int64(pause*999/1000) {
		t.Errorf("the call after the reconnect took %v, want the %v of the reconnect too", time.Duration(service), pause)
	}
}
