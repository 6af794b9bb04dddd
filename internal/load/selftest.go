package load

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"rpclab/internal/load/data"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/result"
	"rpclab/internal/wire"
)

// Probe describes the load of a self-test.
type Probe struct {
	Engine   string        // [Wire] or [GRPCGo]
	HTTP     int           // version of REST calls; 0: gRPC
	Request  int           // bytes of a message
	Reply    int           // bytes of a response
	Duration time.Duration // of each of the three measurements
}

// SelfTestResult is what the generator can do on this machine when nothing else limits it. The
// test server runs in the same process; with more processors the ceiling is higher.
type SelfTestResult struct {
	Engine        string  `json:"engine"`
	SentBytes     int     `json:"sent_bytes_per_call"` // on the wire
	ReceivedBytes int     `json:"got_bytes_per_call"`
	CeilingUsers  int     `json:"ceiling_users"`
	CeilingRate   float64 `json:"ceiling_calls_per_s"`
	CeilingCPU    float64 `json:"ceiling_cpu_us_per_call"` // of the generator and the test server
	// One call at a time, and the same number of bytes on a bare TCP connection, in µs.
	FloorP50 float64 `json:"floor_p50_us"`
	FloorP99 float64 `json:"floor_p99_us"`
	PingP50  float64 `json:"ping_pong_p50_us"`
	PingP99  float64 `json:"ping_pong_p99_us"`
}

const (
	// ceilingUsers is the number of users that saturates the generator with small messages.
	ceilingUsers = 64
	// maxBytesInFlight limits the users with large messages, of which fewer saturate the generator.
	maxBytesInFlight = 16 << 20
)

// users returns the users of the ceiling measurement.
func (p Probe) users() int {
	return min(max(maxBytesInFlight/max(p.Request+p.Reply, 1), 2), ceilingUsers)
}

// selfTestPhase is the duration of each measurement after a load.
const selfTestPhase = 150 * time.Millisecond

// probe returns a probe with the load's message sizes.
func (l *Load) probe() Probe {
	message, _ := l.messages.For(data.Call{}) // checked before
	return Probe{Engine: l.settings.engine(), HTTP: l.settings.httpVersion(), Request: len(message), Reply: l.client.ReplyBytes(), Duration: selfTestPhase}
}

// SelfTest measures the generator's ceiling and floor on loopback connections.
func SelfTest(ctx context.Context, probe Probe) (result *SelfTestResult, err error) {
	target, stop, err := startServer(probe)
	if err != nil {
		return nil, err
	}
	defer stop()
	figures := &SelfTestResult{Engine: probe.Engine, CeilingUsers: probe.users()}
	if figures.SentBytes, figures.ReceivedBytes, err = bytesPerCall(ctx, probe, target); err != nil {
		return nil, err
	}
	client, err := openProbe(ctx, probe, target, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	during := func(users int) (measure.Measurement, error) {
		return measureRun(func() (*measure.Recorder, time.Time, error) {
			return client.Run(ctx, pace.Closed{Users: users, Duration: probe.Duration}, nil)
		})
	}
	if _, _, err := client.Run(ctx, pace.Closed{Users: figures.CeilingUsers, Calls: 20 * ceilingUsers, Duration: probe.Duration}, nil); err != nil {
		return nil, err // warm-up
	}
	alone, err := during(1)
	if err != nil {
		return nil, err
	}
	busy, err := during(figures.CeilingUsers)
	if err != nil {
		return nil, err
	}
	if busy.Calls > 0 {
		figures.CeilingRate = float64(busy.Calls) / busy.Elapsed.Seconds()
		figures.CeilingCPU = float64(busy.CPU) / 1e3 / float64(busy.Calls)
	}
	bare, err := pingPong(ctx, figures.SentBytes, figures.ReceivedBytes, probe.Duration)
	if err != nil {
		return nil, err
	}
	var errs [2]error
	figures.FloorP50, figures.FloorP99, errs[0] = microseconds(alone)
	figures.PingP50, figures.PingP99, errs[1] = microseconds(bare)
	return figures, errors.Join(errs[:]...)
}

// bytesPerCall returns the bytes on the wire of one call on a warm connection.
func bytesPerCall(ctx context.Context, p Probe, target string) (sent, got int, err error) {
	calls := min(max(1<<20/max(p.Request+p.Reply, 1), 1), 100) // fewer calls with large messages
	var wire byteCounter
	client, err := openProbe(ctx, p, target, wire.dial)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	for range 2 { // the first round sends full headers
		sent, got = int(wire.sent.Load()), int(wire.got.Load())
		if _, _, err := client.Run(ctx, pace.Sequence(uint64(calls)), nil); err != nil {
			return 0, 0, err
		}
	}
	return (int(wire.sent.Load()) - sent) / calls, (int(wire.got.Load()) - got) / calls, nil
}

func openProbe(ctx context.Context, probe Probe, target string, dial dialer) (Client, error) {
	const path = "/rpclab.v1.Greeter/SayHello"
	messages := data.Binary(make([]byte, probe.Request))
	if probe.Engine == GRPCGo {
		client, err := openGRPC(ctx, target, 1, nil, dial)
		if err != nil {
			return nil, err
		}
		client.path, client.timeout, client.messages = path, connectTimeout, messages
		return client, nil
	}
	config := wireConfig{
		target: target, connections: 1, cores: 1, timeout: connectTimeout, path: path, messages: messages, dial: dial,
	}
	if probe.HTTP > 0 {
		config.http = &wire.HTTP{Method: http.MethodPost, Path: "/", Version: probe.HTTP}
	}
	if probe.HTTP == 1 {
		config.connections, config.onDemand = ceilingUsers, true
	}
	client, err := openWire(ctx, config)
	if err != nil {
		return nil, err // not client, which would be a non-nil interface
	}
	return client, nil
}

func microseconds(m measure.Measurement) (p50, p99 float64, err error) {
	h, err := result.Merge([]result.Histogram{{HDR: m.Service}})
	return h.P50 * 1e3, h.P99 * 1e3, err
}

// byteCounter counts the bytes of the connections that it opens.
type byteCounter struct{ sent, got atomic.Int64 }

func (t *byteCounter) dial(ctx context.Context, address string) (net.Conn, error) {
	connection, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return countedConn{connection, t}, nil
}

type countedConn struct {
	net.Conn
	traffic *byteCounter
}

func (c countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.traffic.got.Add(int64(n))
	return n, err
}

func (c countedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.traffic.sent.Add(int64(n))
	return n, err
}
