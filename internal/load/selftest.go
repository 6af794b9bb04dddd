package load

import (
	"context"
	"errors"
	"net"
	"net/http"
	"runtime"
	"sync/atomic"
	"time"

	"rpclab/internal/load/data"
	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/result"
)

// Probe is what a self-test sends.
type Probe struct {
	HTTP    bool          // REST instead of gRPC
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

// ceilingUsers keep the generator busy.
const ceilingUsers = 64

// briefly is how long each part of the self-test takes that follows every load.
const briefly = 150 * time.Millisecond

// ability is the probe that is like the load.
func (l *Load) ability() Probe {
	message, _ := l.messages.At(data.Call{}) // was made before
	return Probe{HTTP: l.settings.HTTP != "", Request: len(message), Reply: l.client.ReplyBytes(), Each: briefly}
}

// SelfTest measures the generator's own ceiling and floor on loopback connections.
func SelfTest(ctx context.Context, p Probe) (ability *Ability, err error) {
	target, stop, err := answer(p)
	if err != nil {
		return nil, err
	}
	defer stop()
	var wire traffic
	client, err := openProbe(ctx, p, target, wire.dial)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	messages := data.Binary(make([]byte, p.Request))
	client.Run(ctx, pace.Closed{Users: ceilingUsers, Calls: 20 * ceilingUsers}, messages, nil) // warm code, known headers

	a := &Ability{Engine: engine(p.HTTP), Users: ceilingUsers}
	sent, got := wire.sent.Load(), wire.got.Load()
	alone, err := measured(func() (*measure.Recorder, time.Time) {
		return client.Run(ctx, pace.Closed{Users: 1, Duration: p.Each}, messages, nil)
	})
	if err != nil {
		return nil, err
	}
	if alone.Calls > 0 {
		a.Sent, a.Got = int(uint64(wire.sent.Load()-sent)/alone.Calls), int(uint64(wire.got.Load()-got)/alone.Calls)
	}
	if a.FloorP50, a.FloorP99, err = microseconds(alone); err != nil {
		return nil, err
	}
	busy, err := measured(func() (*measure.Recorder, time.Time) {
		return client.Run(ctx, pace.Closed{Users: ceilingUsers, Duration: p.Each}, messages, nil)
	})
	if err != nil {
		return nil, err
	}
	if busy.Calls > 0 {
		a.Ceiling = float64(busy.Calls) / busy.Elapsed.Seconds()
		a.CPU = float64(busy.CPU.Microseconds()) / float64(busy.Calls)
	}
	bare, err := pingPong(ctx, a.Sent, a.Got, p.Each)
	if err != nil {
		return nil, err
	}
	a.PingP50, a.PingP99, err = microseconds(bare)
	return a, err
}

func engine(rest bool) string {
	if rest {
		return "net/http"
	}
	return "grpc-go"
}

func openProbe(ctx context.Context, p Probe, target string, dial dialer) (Client, error) {
	if p.HTTP {
		c, err := openHTTP(ctx, http.MethodPost, "http://"+target+"/", http.Header{}, 0, ceilingUsers, nil, dial)
		if err != nil {
			return nil, err
		}
		c.timeout = connectWithin
		return c, nil
	}
	c, err := openGRPC(ctx, target, 1, nil, dial)
	if err != nil {
		return nil, err
	}
	c.path, c.timeout = "/rpclab.v1.Greeter/SayHello", connectWithin
	return c, nil
}

func microseconds(m measure.Measurement) (p50, p99 float64, err error) {
	h, err := result.Merge([]result.Histogram{{HDR: m.Service}})
	return h.P50 * 1e3, h.P99 * 1e3, err
}

// Processors is how many of them the generator may use at once.
func Processors() int { return runtime.GOMAXPROCS(0) }

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
