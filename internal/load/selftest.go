package load

import (
	"context"
	"errors"
	"runtime"

	"rpclab/internal/measure"
	"rpclab/internal/pace"
	"rpclab/internal/result"
)

// SelfTestResult is what the generator can do on this machine when nothing else limits it. The
// test server is a process of its own, on the same machine. A figure of 0 is not known.
type SelfTestResult struct {
	Engine      string `json:"engine"`
	TLS         bool   `json:"tls"`
	Cores       int    `json:"cores,omitempty"`       // threads of the engine wire
	Connections int    `json:"connections,omitempty"` // 0: as many as calls in flight
	Unknown     string `json:"unknown,omitempty"`     // why nothing of the generator is known

	SentBytes     int `json:"sent_bytes_per_call,omitempty"` // on the wire
	ReceivedBytes int `json:"got_bytes_per_call,omitempty"`
	CeilingUsers  int `json:"ceiling_users,omitempty"`
	// CeilingRate is nil if it is not known: no call was answered, or the load itself was faster.
	CeilingRate *float64 `json:"ceiling_calls_per_s"`
	CeilingCPU  float64  `json:"ceiling_cpu_us_per_call,omitempty"` // of the generator
	// Shared says that the generator could use every processor, also that of the test server. Alone it may be faster.
	Shared bool `json:"ceiling_shared,omitempty"`
	// One call at a time, and the same number of bytes on a bare TCP connection, in µs.
	FloorP50 float64 `json:"floor_p50_us,omitempty"`
	FloorP99 float64 `json:"floor_p99_us,omitempty"`
	PingP50  float64 `json:"ping_pong_p50_us,omitempty"`
	PingP99  float64 `json:"ping_pong_p99_us,omitempty"`
}

// selfTestParts is how often each measurement is made. The best counts, because other programs only slow
// it down.
const selfTestParts = 3

// SelfTest measures the generator's ceiling and floor on loopback connections.
func SelfTest(ctx context.Context, probe Probe) (result *SelfTestResult, err error) {
	figures := &SelfTestResult{Engine: probe.Engine, TLS: probe.TLS, Cores: probe.Cores, Unknown: probe.Unlike}
	if probe.Unlike != "" {
		return figures, nil
	}
	server, err := startTestServer(ctx, probe)
	if err != nil {
		return nil, err
	}
	defer server.Kill()
	probe.security = server.security
	figures.CeilingUsers, figures.Shared = probe.users(), probe.threads() >= runtime.GOMAXPROCS(0)
	if !probe.onDemand() {
		figures.Connections = probe.connections()
	}
	if figures.SentBytes, figures.ReceivedBytes, err = bytesPerCall(ctx, probe, server.calls); err != nil {
		return nil, err
	}
	client, err := openProbe(ctx, probe, server.calls, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	if _, _, err := client.Run(ctx, pace.Closed{Users: figures.CeilingUsers, Calls: 20 * uint64(figures.CeilingUsers), Duration: probe.Duration}, measure.StartSignal{}); err != nil {
		return nil, err // warm-up
	}
	each := probe.Duration / selfTestParts
	during := func(users int) (measure.Measurement, error) {
		recorder, _, err := client.Run(ctx, pace.Closed{Users: users, Duration: each}, measure.StartSignal{})
		if err != nil {
			return measure.Measurement{}, err
		}
		return recorder.Measurement()
	}
	for range selfTestParts {
		alone, err := during(1)
		if err != nil {
			return nil, err
		}
		busy, err := during(figures.CeilingUsers)
		if err != nil {
			return nil, err
		}
		bare, err := pingPong(ctx, server.peer, figures.SentBytes, figures.ReceivedBytes, each)
		if err != nil {
			return nil, err
		}
		figures.addCeiling(busy)
		if err := errors.Join(faster(&figures.FloorP50, &figures.FloorP99, alone), faster(&figures.PingP50, &figures.PingP99, bare)); err != nil {
			return nil, err
		}
	}
	return figures, nil
}

// addCeiling keeps the ceiling of the fastest measurement.
func (f *SelfTestResult) addCeiling(busy measure.Measurement) {
	answered := busy.Calls
	for _, failed := range busy.Errors {
		answered -= failed
	}
	if answered == 0 {
		return
	}
	if rate := float64(answered) / busy.Elapsed.Seconds(); f.CeilingRate == nil || rate > *f.CeilingRate {
		f.CeilingRate, f.CeilingCPU = &rate, float64(busy.CPU)/1e3/float64(answered)
	}
}

// exceededBy forgets a ceiling that a load exceeded: other programs slowed down the self-test.
func (f *SelfTestResult) exceededBy(rate float64) {
	if f.CeilingRate != nil && rate >= *f.CeilingRate {
		f.CeilingRate = nil
	}
}

// faster replaces the percentiles of service times, in µs, by those of a measurement with a smaller p50.
func faster(p50, p99 *float64, m measure.Measurement) error {
	h, err := result.FromEncoded(m.Service)
	if err != nil || h.HDR == "" { // no call was answered
		return err
	}
	if *p50 == 0 || h.P50*1e3 < *p50 {
		*p50, *p99 = h.P50*1e3, h.P99*1e3
	}
	return nil
}

// bytesPerCall returns the bytes on the wire of one call on a warm connection.
func bytesPerCall(ctx context.Context, p Probe, target string) (sent, got int, err error) {
	p.Cores, p.Connections = 1, 1
	calls := min(max(1<<20/max(p.Request+p.Reply, 1), 1), 100) // fewer calls with large messages
	var wire byteCounter
	client, err := openProbe(ctx, p, target, wire.dial)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	for range 2 { // the first round sends full headers
		sent, got = int(wire.sent.Load()), int(wire.got.Load())
		if _, _, err := client.Run(ctx, pace.Sequence(uint64(calls)), measure.StartSignal{}); err != nil {
			return 0, 0, err
		}
	}
	return (int(wire.sent.Load()) - sent) / calls, (int(wire.got.Load()) - got) / calls, nil
}
