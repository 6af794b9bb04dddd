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

// Probe is what a self-test sends.
type Probe struct {
	Engine  string        // [Wire] or [GRPCGo]
	HTTP    int           // version of plain requests; 0: gRPC
	Request int           // bytes of a message
	Reply   int           // bytes of its answer
	Each    time.Duration // how long each of the three parts takes
}

// Ability is what the generator can do on this machine when nothing else limits it.
// The answerer is in the generator's own process and shares its processors: a real
// ceiling on more processors is higher.
type Ability struct {
	Engine  string  `json:"engine"`
	Sent    int     `json:"sent_bytes_per_call"` // on the wire
	Got     int     `json:"got_bytes_per_call"`
	Users   int     `json:"ceiling_users"`
	Ceiling float64 `json:"ceiling_calls_per_s"`
	CPU     float64 `json:"ceiling_cpu_us_per_call"` // of generator and answerer
	// One call at a time, and the same bytes to and fro on a bare TCP connection: µs.
	FloorP50 float64 `json:"floor_p50_us"`
	FloorP99 float64 `json:"floor_p99_us"`
	PingP50  float64 `json:"ping_pong_p50_us"`
	PingP99  float64 `json:"ping_pong_p99_us"`
}

// ceilingUsers keep the generator busy; of those that send or get much, fewer do.
const (
	ceilingUsers = 64
	mostUnderWay = 16 << 20 // bytes
)

// users are those of the ceiling.
func (p Probe) users() int {
	return min(max(mostUnderWay/max(p.Request+p.Reply, 1), 2), ceilingUsers)
}

// briefly is how long each part of the self-test takes that follows every load.
const briefly = 150 * time.Millisecond

// ability is the probe that is like the load.
func (l *Load) ability() Probe {
	message, _ := l.messages.At(data.Call{}) // was made before
	return Probe{Engine: l.settings.engine(), HTTP: l.settings.httpVersion(), Request: len(message), Reply: l.client.ReplyBytes(), Each: briefly}
}

// SelfTest measures the generator's own ceiling and floor on loopback connections.
func SelfTest(ctx context.Context, p Probe) (ability *Ability, err error) {
	target, stop, err := answer(p)
	if err != nil {
		return nil, err
	}
	defer stop()
	a := &Ability{Engine: p.Engine, Users: p.users()}
	if a.Sent, a.Got, err = bytesPerCall(ctx, p, target); err != nil {
		return nil, err
	}
	client, err := openProbe(ctx, p, target, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	during := func(users int) (measure.Measurement, error) {
		return measured(func() (*measure.Recorder, time.Time, error) {
			return client.Run(ctx, pace.Closed{Users: users, Duration: p.Each}, nil)
		})
	}
	if _, _, err := client.Run(ctx, pace.Closed{Users: a.Users, Calls: 20 * ceilingUsers, Duration: p.Each}, nil); err != nil {
		return nil, err // code is warm, headers are known
	}
	alone, err := during(1)
	if err != nil {
		return nil, err
	}
	busy, err := during(a.Users)
	if err != nil {
		return nil, err
	}
	if busy.Calls > 0 {
		a.Ceiling = float64(busy.Calls) / busy.Elapsed.Seconds()
		a.CPU = float64(busy.CPU) / 1e3 / float64(busy.Calls)
	}
	bare, err := pingPong(ctx, a.Sent, a.Got, p.Each)
	if err != nil {
		return nil, err
	}
	var errs [2]error
	a.FloorP50, a.FloorP99, errs[0] = microseconds(alone)
	a.PingP50, a.PingP99, errs[1] = microseconds(bare)
	return a, errors.Join(errs[:]...)
}

// bytesPerCall counts what one call after others sends and gets on the wire.
func bytesPerCall(ctx context.Context, p Probe, target string) (sent, got int, err error) {
	calls := min(max(1<<20/max(p.Request+p.Reply, 1), 1), 100) // of large ones few will do
	var wire traffic
	client, err := openProbe(ctx, p, target, wire.dial)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	for range 2 { // the first time headers are long
		sent, got = int(wire.sent.Load()), int(wire.got.Load())
		if _, _, err := client.Run(ctx, pace.Sequence(uint64(calls)), nil); err != nil {
			return 0, 0, err
		}
	}
	return (int(wire.sent.Load()) - sent) / calls, (int(wire.got.Load()) - got) / calls, nil
}

func openProbe(ctx context.Context, p Probe, target string, dial dialer) (Client, error) {
	const path = "/rpclab.v1.Greeter/SayHello"
	messages := data.Binary(make([]byte, p.Request))
	if p.Engine == GRPCGo {
		c, err := openGRPC(ctx, target, 1, nil, dial)
		if err != nil {
			return nil, err
		}
		c.path, c.timeout, c.messages = path, connectWithin, messages
		return c, nil
	}
	config := wireConfig{
		target: target, connections: 1, cores: 1, timeout: connectWithin, path: path, messages: messages, dial: dial,
	}
	if p.HTTP > 0 {
		config.http = &wire.HTTP{Method: http.MethodPost, Path: "/", Version: p.HTTP}
	}
	if p.HTTP == 1 {
		config.connections, config.onDemand = ceilingUsers, true
	}
	c, err := openWire(ctx, config)
	if err != nil {
		return nil, err // not the client, which would be an interface that holds nil
	}
	return c, nil
}

func microseconds(m measure.Measurement) (p50, p99 float64, err error) {
	h, err := result.Merge([]result.Histogram{{HDR: m.Service}})
	return h.P50 * 1e3, h.P99 * 1e3, err
}

// traffic counts the bytes of all connections that it opens.
type traffic struct{ sent, got atomic.Int64 }

func (t *traffic) dial(ctx context.Context, address string) (net.Conn, error) {
	connection, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return counted{connection, t}, nil
}

type counted struct {
	net.Conn
	traffic *traffic
}

func (c counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.traffic.got.Add(int64(n))
	return n, err
}

func (c counted) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.traffic.sent.Add(int64(n))
	return n, err
}
