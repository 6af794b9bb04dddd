package main

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rpclab/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTrueQuantileIsComputedFromTheSchedule(t *testing.T) {
	// 1000 of 5000 calls are due during the stall and wait for its end, from 2 s down to nothing:
	// one call in a hundred waits for longer than 1.9 s, one in ten for longer than 1 s.
	for quantile, want := range map[float64]time.Duration{0.99: 1900 * time.Millisecond, 0.9: time.Second, 0.5: 0} {
		got := trueQuantile(500, 10*time.Second, 4*time.Second, 2*time.Second, quantile)
		if off := (got - want).Abs(); off > 2*time.Millisecond {
			t.Errorf("quantile %g is %v, want %v", quantile, got, want)
		}
	}
}

func TestReportsOfOtherToolsAreParsed(t *testing.T) {
	for name, c := range map[string]struct {
		read   func(report) (outcome, error)
		report report
		want   outcome
	}{
		"rpclab load": {readRpclab, report{file: []byte(`{"arms":[{"calls":10,"errors":{"UNAVAILABLE":2},"latency_ms":{"p50":0.5,"p90":1,"p99":1.5},"lateness_ms":{"p99":0.25},"resources":{"client":{"cpu_us_per_call":2.5}}}]}`)},
			outcome{8, 500 * time.Microsecond, time.Millisecond, 1500 * time.Microsecond, 250 * time.Microsecond, 2500}},
		"rpclab's engine alone": {readWirebench, report{stdout: []byte(`{"calls":10,"errors":{"UNAVAILABLE":2},"p90_ms":1,"p99_ms":1.5}`)}, outcome{8, 0, time.Millisecond, 1500 * time.Microsecond, 0, 0}},
		"ghz": {readGhz, report{stdout: []byte(`{"statusCodeDistribution":{"OK":7},"latencyDistribution":[{"percentage":50,"latency":1},{"percentage":90,"latency":41},{"percentage":99,"latency":42}]}`)},
			outcome{7, 1, 41, 42, 0, 0}},
		"fortio": {readFortio, report{file: []byte(`{"RetCodes":{"SERVING":9},"DurationHistogram":{"Percentiles":[{"Percentile":90,"Value":0.125},{"Percentile":99,"Value":0.25}]}}`)},
			outcome{9, 0, 125 * time.Millisecond, 250 * time.Millisecond, 0, 0}},
		"k6": {readK6, report{file: []byte(`{"metrics":{"answered":{"count":5,"rate":1},"grpc_req_duration":{"p(90)":1,"p(99)":2}}}`)}, outcome{5, 0, time.Millisecond, 2 * time.Millisecond, 0, 0}},
		"k6 over HTTP": {readK6, report{file: []byte(`{"metrics":{"answered":{"count":5},"http_req_duration":{"p(50)":1,"p(90)":2,"p(99)":3}}}`)},
			outcome{5, time.Millisecond, 2 * time.Millisecond, 3 * time.Millisecond, 0, 0}},
		"wrk with percentiles": {readWrk, report{stdout: []byte("  Latency Distribution\n     50%   10.50ms\n     75%   11.00ms\n     90%  900.00us\n     99%    1.20s\n  178 requests in 1.10s, 17.86MB read\n")},
			outcome{178, 10500 * time.Microsecond, 900 * time.Microsecond, 1200 * time.Millisecond, 0, 0}},
		"wrk": {readWrk, report{stdout: []byte("  2 threads and 3 connections\n  178 requests in 1.10s, 17.86MB read\n")}, outcome{answered: 178}},
		"h2load": {readH2load, report{stdout: []byte("requests: 4 total, 3 succeeded, 1 failed"), file: []byte("1\t200\t30\n2\t200\t10\n3\t200\t20\n")},
			outcome{3, 20 * time.Microsecond, 30 * time.Microsecond, 30 * time.Microsecond, 0, 0}},
	} {
		got, err := c.read(c.report)
		if err != nil || got != c.want {
			t.Errorf("%s: read returned %v, error %v; want %v", name, got, err, c.want)
		}
		if _, err := c.read(report{stdout: []byte("nonsense"), file: []byte("nonsense")}); err == nil {
			t.Errorf("%s: read accepted nonsense, want an error", name)
		}
	}
}

func TestReadWrkFailsOnFailedRequests(t *testing.T) {
	for _, failure := range []string{"Non-2xx or 3xx responses: 3", "Socket errors: connect 0, read 1, write 0, timeout 0"} {
		_, err := readWrk(report{stdout: []byte("  178 requests in 1.10s, 17.86MB read\n  " + failure + "\nRequests/sec: 1\n")})
		if err == nil || !strings.Contains(err.Error(), failure) {
			t.Errorf("error %v, want %s", err, failure)
		}
	}
}

func TestMissingProgramErrorsSayHowToInstallThem(t *testing.T) {
	_, _, err := fromSystem("no-such-generator", "its-package")
	if err == nil || !strings.Contains(err.Error(), "apt-get install its-package") {
		t.Errorf("error %v, want apt-get install its-package", err)
	}
	t.Setenv("GOPROXY", "off") // no network
	if _, _, err := goInstall(t.TempDir(), "nothing", "rpclab.invalid/nothing@v1.0.0"); err == nil || !strings.Contains(err.Error(), "go install rpclab.invalid/nothing@v1.0.0") {
		t.Errorf("error %v, want the command go install", err)
	}
}

func TestNoRoundsAreRefused(t *testing.T) {
	if err := compare(0, t.TempDir()+"/peers.md"); err == nil || !strings.Contains(err.Error(), "-rounds 0: use 1 or more") {
		t.Errorf("error %v, want -rounds 0: use 1 or more", err)
	}
}

func TestAGeneratorThatTakesTooLongIsNamed(t *testing.T) {
	before := runTimeout
	t.Cleanup(func() { runTimeout = before })
	runTimeout = 50 * time.Millisecond
	_, err := generator{Name: "slow"}.use(command{args: []string{"sleep", "600"}}, nil)
	if err == nil || !strings.Contains(err.Error(), "slow did not end within 50ms: use a quiet machine") {
		t.Errorf("error %v, want the name and the limit", err)
	}
}

func TestAGeneratorThatCannotStartEndsTheRunWithAStall(t *testing.T) {
	gone := generator{Name: "gone", rate: func(string, int, time.Duration) command { return command{args: []string{"/no/such/program"}} }}
	failed := make(chan error, 1)
	go func() {
		_, err := stalls([]generator{gone}, &servers{})
		failed <- err
	}()
	select {
	case err := <-failed:
		if err == nil || !strings.Contains(err.Error(), "/no/such/program") {
			t.Errorf("error %v, want the missing program", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the run did not end within a minute")
	}
}

func TestThePageShowsTheFiguresOfEachTool(t *testing.T) {
	p := page{
		Peers: []generator{{Name: "rpclab load", Version: "this tree", Calls: [2]int{300_000, 120_000}, Note: "the engine"},
			{Name: "h2load", Version: "1", Calls: [2]int{300_000, 120_000}}, {Name: "ghz", Version: "v2", Calls: [2]int{20_000, 20_000}},
			{Name: "rpclab load", Plain: true, Version: "this tree", Calls: [2]int{100_000, 40_000}}, {Name: "wrk", Plain: true, Timed: true, Version: "3", Note: "by the clock"}},
		Late:   []time.Duration{150 * time.Microsecond, 40 * time.Microsecond, 250 * time.Microsecond},
		Rounds: 3, Machine: "2 CPUs", Date: "2026-01-02", Took: 3 * time.Minute,
		Stalls: []stall{{"rpclab load", outcome{answered: 5000, p90: time.Second, p99: 1905 * time.Millisecond}, 2 * time.Second},
			{"ghz", outcome{answered: 4100, p90: 2 * time.Millisecond, p99: 14 * time.Millisecond}, 2 * time.Second}},
	}
	for i := range p.Peers {
		if name := p.Peers[i].Name; name == ours || name == "ghz" || name == "wrk" {
			p.Peers[i].agree = func(string, int, shape) command { return command{} }
		}
	}
	for round := range time.Duration(3) {
		for name, micros := range map[string]time.Duration{ours: 10_000, "ghz": 10_500} {
			p.Agreements = append(p.Agreements, agreement{name, false, outcome{p50: (micros + 100*round) * time.Microsecond, p99: 12 * time.Millisecond}, 1950})
		}
		p.Agreements = append(p.Agreements, agreement{ours, true, outcome{p50: 10 * time.Millisecond, p99: 11 * time.Millisecond}, 1980},
			agreement{"wrk", true, outcome{p50: 9900 * time.Microsecond, p99: 11 * time.Millisecond}, 1970})
	}
	for round := range time.Duration(3) {
		for target := range targets {
			for _, s := range shapes(target) {
				for name, micros := range map[string]time.Duration{"rpclab load": 1, "h2load": 4, "ghz": 100, "wrk": 2} {
					p.Costs = append(p.Costs, cost{Generator: name, Target: target, Shape: s, PerCall: micros*time.Microsecond + round*time.Duration(100*target),
						Rate: 1000, Peak: 10e6, Server: 2 * time.Microsecond, Start: 20 * time.Millisecond})
				}
			}
		}
	}
	testkit.Golden(t, "page.md", p.markdown())
}
