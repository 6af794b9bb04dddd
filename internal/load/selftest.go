package load

import (
	"context"
	"errors"
	"time"

	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/result"
)

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

func microseconds(m measure.Measurement) (p50, p99 float64, err error) {
	h, err := result.Merge([]result.Histogram{{HDR: m.Service}})
	return h.P50 * 1e3, h.P99 * 1e3, err
}
