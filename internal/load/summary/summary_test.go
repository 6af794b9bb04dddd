package summary_test

import (
	"bytes"
	"cmp"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"rpclab/internal/load"
	"rpclab/internal/load/summary"
	"rpclab/internal/result"
	"rpclab/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func distribution(values ...time.Duration) result.Histogram {
	histogram := hdr.NewPacked(1, int64(time.Hour), 3)
	for _, v := range values {
		_ = histogram.RecordValue(int64(v))
	}
	return result.FromHDR(histogram)
}

// stalled returns the result of 5,000 calls, of which a stall of two seconds delayed a fifth.
func stalled() result.Document {
	var latency, service, lateness []time.Duration
	for n := range 5000 {
		took := 300*time.Microsecond + time.Duration(n%7)*40*time.Microsecond
		lateness = append(lateness, 60*time.Microsecond)
		service = append(service, took)
		if n >= 2000 && n < 3000 {
			took += time.Duration(3000-n) * 2 * time.Millisecond
		}
		latency = append(latency, took)
	}
	return result.Document{
		Question: "shop.Orders/Get: open loop of 500 calls/s for 10s",
		Started:  time.Date(2026, 11, 20, 18, 45, 12, 0, time.UTC),
		Machine:  result.Machine{OS: "linux", Arch: "amd64", CPUs: 8, Memory: 33_600_000_000, Model: "Example CPU 9000", Go: "go1.26.0"},
		Arms: []result.Arm{{
			Name: "127.0.0.1:50051",
			Config: map[string]any{"generator": load.SelfTestResult{
				Engine: "grpc-go", SentBytes: 83, ReceivedBytes: 99, CeilingUsers: 64, CeilingRate: new(74129.0), CeilingCPU: 21.7,
				FloorP50: 28.3, FloorP99: 122, PingP50: 12, PingP99: 19.6,
			}},
			Measures: result.Measures{
				Calls: 5020, Rate: 500, ElapsedMS: 10040, Dropped: 3,
				Errors:  map[string]uint64{"UNAVAILABLE": 18, "DEADLINE_EXCEEDED": 2},
				Samples: map[string]string{"UNAVAILABLE": "connection error:\x1b[31m desc = \"transport: " + strings.Repeat("refused ", 12)},
				Latency: distribution(latency...), Service: distribution(service...), Lateness: distribution(lateness...),
				Backends:  map[string]uint64{"orders-1": 2600, "orders-2": 2400},
				Resources: result.Resources{Client: result.Usage{CPU: 225, RSS: 39 << 20}},
			},
		}},
	}
}

func summaryText(t interface{ Fatal(...any) }, d result.Document) string {
	var out bytes.Buffer
	if err := summary.Terminal(&out, d, false); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// With colours the title is bold and what must not be overlooked is yellow. The text is the same.
func TestSummaryInColours(t *testing.T) {
	d := stalled()
	d.Arms[0].Limited = "calls left late"
	var out bytes.Buffer
	if err := summary.Terminal(&out, d, true); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, want := range []string{"\x1b[1mshop.Orders/Get at 127.0.0.1:50051\x1b[0m\n", "\x1b[33mThe load generator was the bottleneck: calls left late.", "\x1b[33mErrors\x1b[0m\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the summary lacks %q:\n%q", want, text)
		}
	}
	if plain := regexp.MustCompile("\x1b\\[[0-9]*m").ReplaceAllString(text, ""); plain != summaryText(t, d) {
		t.Errorf("the text with colours differs:\n%s", plain)
	}
}

func TestSummaryOfAStalledLoad(t *testing.T) {
	testkit.Golden(t, "stalled.txt", summaryText(t, stalled()))
}

func TestSummaryOfALoadLimitedByTheGenerator(t *testing.T) {
	document := stalled()
	document.Partial = true
	document.Warnings = []string{"20 calls were in flight at the interrupt and count as CANCELLED"}
	document.Arms[0].Limited = "rpclab sent calls up to 12.0 ms late (p99), at a latency of 14.0 ms"
	document.Arms[0].Config = nil
	testkit.Golden(t, "limited.txt", summaryText(t, document))
}

func TestSummaryOfRounds(t *testing.T) {
	document := stalled()
	document.Partial, document.Rounds = true, 5
	for round, figures := range []result.Histogram{{P50: 0.42, P99: 1990}, {P50: 0.44, P99: 2010}, {P50: 0.43, P99: 20000, Lost: 0.02}} {
		document.Arms[0].Trials = append(document.Arms[0].Trials, result.Trial{Round: round + 1, Measures: result.Measures{
			Calls: 1000, Rate: 500 + float64(round), Latency: figures, Errors: map[string]uint64{"UNAVAILABLE": uint64(17 * round)},
		}})
	}
	testkit.Golden(t, "rounds.txt", summaryText(t, document))
}

func TestSummaryOfStreams(t *testing.T) {
	document := stalled()
	messages := distribution(30*time.Microsecond, 40*time.Microsecond, 2*time.Millisecond)
	document.Question += ", each call a stream of 3 requests"
	document.Arms[0].Messages = &messages
	testkit.Golden(t, "streams.txt", summaryText(t, document))
}

func TestSummaryOfASearch(t *testing.T) {
	document := stalled()
	document.Question = "shop.Orders/Get: search from 100/s to 100000/s, to 2%, for the highest rate at which p99 < 50ms"
	arm := &document.Arms[0]
	arm.Capacity = &result.Capacities{Rate: 512, Low: 508, High: 516, Count: 2}
	for round, c := range []result.Capacity{
		{Rate: 508, Holds: 500, Fails: 515, End: "found"},
		{Rate: 516, Holds: 505, End: "generator", Probes: []result.Probe{
			{Rate: 137, DurationMS: 1250, Held: true, Calls: 171, P50: 0.4, P99: 3.1},
			{Rate: 1233, DurationMS: 1250, Calls: 1200, Dropped: 300, P50: 0.9, P99: 20000},
			{Rate: 505, DurationMS: 5000, Full: true, Held: true, Calls: 2525, P50: 0.4, P99: 11},
			{Rate: 600, DurationMS: 5000, Full: true, Limited: "rpclab sent calls up to 60.0 ms late (p99)", Calls: 3000, P50: 0.4, P99: 80},
		}},
	} {
		c.SLO = "p99 < 50ms"
		trial := result.Trial{Round: round + 1, Capacity: &c}
		if c.End == "generator" {
			trial.Limited = "at 600/s rpclab sent calls up to 60.0 ms late (p99)"
		}
		arm.Trials = append(arm.Trials, trial)
	}
	testkit.Golden(t, "search.txt", summaryText(t, document))
}

// A search that ends before a probe of full length still found something in its short probes.
func TestSummaryOfASearchThatWasInterrupted(t *testing.T) {
	short := result.Probe{Rate: 171.3, DurationMS: 500, Held: true, Calls: 86, P50: 0.4, P99: 3.1}
	faster, failed, full := short, short, short
	faster.Rate, failed.Rate, failed.Held, full.Rate, full.Full = 3083, 9249, false, 2900, true
	for want, c := range map[string]result.Capacity{
		"p99 < 50ms holds at 3,083/s in a short probe, 2 probes; then the search was interrupted, before a probe of full length": {Probes: []result.Probe{short, faster}},
		"p99 < 50ms holds at 3,083/s in a short probe, 3 probes; then the search was interrupted, before a probe of full length": {Probes: []result.Probe{short, faster, failed}},
		"p99 < 50ms holds in none of 1 probe; then the search was interrupted, before a probe of full length":                    {Probes: []result.Probe{failed}},
		"p99 < 50ms holds at 2,900/s, 3 probes; then the search was interrupted":                                                 {Holds: 2900, Probes: []result.Probe{short, faster, full}},
		"p99 < 50ms holds at 3,083/s in a short probe, 2 probes; more would be needed for the precision":                         {End: "used up", Probes: []result.Probe{short, faster}},
		"the search for p99 < 50ms was interrupted in its first probe":                                                           {},
	} {
		document := stalled()
		c.SLO, c.End = "p99 < 50ms", cmp.Or(c.End, "interrupted")
		document.Arms[0].Measures, document.Arms[0].Capacity = result.Measures{}, &result.Capacities{}
		document.Arms[0].Trials = []result.Trial{{Round: 1, Capacity: &c, Failed: "interrupted"}}
		if text := strings.ReplaceAll(summaryText(t, document), "\n", " "); !strings.Contains(text, " "+want+" ") {
			t.Errorf("the summary lacks %q:\n%s", want, text)
		}
	}
}

// The bars of few successful calls would hide how many were lost.
func TestTheHistogramHasTheLostCalls(t *testing.T) {
	document := stalled()
	arm := &document.Arms[0]
	answered := distribution(time.Millisecond, time.Millisecond, 3*time.Millisecond)
	latency, err := answered.CountLost(97, 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	arm.Latency, arm.AnsweredLatency = latency, &answered
	text := summaryText(t, document)
	if want := "\n               lost " + strings.Repeat("█", 45) + " 97\n"; !strings.Contains(text, want) || strings.Contains(text, " – 20 s") {
		t.Errorf("the summary lacks %q, or has a bin of lost calls:\n%s", want, text)
	}
}

// Without a measurement there are no figures: not 0 calls, and not 0 µs of CPU time.
func TestSummaryOfALoadThatWasNotMeasured(t *testing.T) {
	document := stalled()
	document.Partial, document.Rounds = true, 1
	document.Arms[0].Measures = result.Measures{}
	document.Warnings = []string{"orders, round 1 gave no measurement: the caller: warm-up: none of 30 calls was answered"}
	testkit.Golden(t, "unmeasured.txt", summaryText(t, document))
}

func TestSummaryWithoutAnsweredCalls(t *testing.T) {
	document := stalled()
	document.Arms[0].Measures = result.Measures{
		Calls: 1, Errors: map[string]uint64{"UNAVAILABLE": 1}, Lateness: distribution(0, time.Microsecond),
	}
	testkit.Golden(t, "nothing.txt", summaryText(t, document))
}

func TestTheSummaryOfADocumentReadFromJSONIsTheSame(t *testing.T) {
	document := stalled()
	document.Schema = result.Schema
	var text bytes.Buffer
	if err := result.Write(&text, document); err != nil {
		t.Fatal(err)
	}
	read, err := result.Read(&text)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := summaryText(t, read), summaryText(t, document); got != want {
		t.Errorf("the summary of the document read from JSON is\n%s\nwant\n%s", got, want)
	}
}

func TestTheHistogramShowsEveryCallInAtMost14Rows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		document := stalled()
		exponent := rapid.Float64Range(0, 12)
		var values []time.Duration
		for range rapid.IntRange(1, 50).Draw(t, "calls") {
			values = append(values, time.Duration(math.Pow(10, exponent.Draw(t, "ns"))))
		}
		document.Arms[0].Latency = distribution(values...)
		document.Arms[0].Backends = nil
		calls, rows := 0, 0
		for line := range strings.Lines(summaryText(t, document)) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > summary.Width {
				t.Fatalf("a line has %d columns, want at most %d: %s", n, summary.Width, line)
			}
			if strings.Contains(line, " – ") {
				fields := strings.Fields(line)
				n := 0
				for _, r := range fields[len(fields)-1] {
					if r >= '0' && r <= '9' {
						n = 10*n + int(r-'0')
					}
				}
				calls, rows = calls+n, rows+1
			}
		}
		if calls != len(values) || rows > 14 {
			t.Fatalf("%d rows show %d of %d calls, want all in at most 14 rows", rows, calls, len(values))
		}
	})
}

func TestASelfTestSaysWhyItHasNoCeiling(t *testing.T) {
	for want, figures := range map[string]load.SelfTestResult{
		"- its limits are not known: the self-test makes unary calls":               {Engine: "wire", Unknown: "the self-test makes unary calls"},
		"- its limits are not known: the self-test (wire with TLS) got no response": {Engine: "wire", TLS: true},
		"- its ceiling on this machine: at least 41,000 calls/s (wire with TLS on 2 cores, 3 connections, 128 calls in flight, 1,826 µs CPU per call), while its test server used the same processors": {
			Engine: "wire", TLS: true, Cores: 2, Connections: 3, CeilingUsers: 128, CeilingRate: new(41000.0), CeilingCPU: 1826, Shared: true, FloorP50: 80,
		},
		"- its limits are not known: the self-test (wire) got no response\n":                       {Engine: "wire", CeilingUsers: 64},
		"- its ceiling on this machine: not known, because the self-test got no response\n":        {Engine: "wire", CeilingUsers: 64, FloorP50: 80},
		"- its ceiling on this machine: not known, because the load was faster than the self-test": {Engine: "wire", CeilingUsers: 64, FloorP50: 80, CeilingCPU: 3},
	} {
		var text strings.Builder
		summary.SelfTest(&text, figures)
		if !strings.HasPrefix(strings.Join(strings.Fields(text.String()), " "), strings.TrimSpace(want)) {
			t.Errorf("the text is %q, want %q", text.String(), want)
		}
	}
}

// A round without a measurement is not the fastest one, and calls that were never due have no latency.
func TestSummaryOfARoundWithoutAMeasurement(t *testing.T) {
	document := stalled()
	document.Rounds = 3
	for round, measures := range []result.Measures{{Calls: 1000, Rate: 500, Latency: result.Histogram{P50: 0.42, P99: 1990}}, {}, {Calls: 1000, Rate: 500, Latency: result.Histogram{P50: 0.43, P99: 1980}}} {
		trial := result.Trial{Round: round + 1, Measures: measures}
		if measures.Calls == 0 {
			trial.Failed = "the caller died"
		}
		document.Arms[0].Trials = append(document.Arms[0].Trials, trial)
	}
	document.Arms[0].Calls, document.Arms[0].ByName = 2000, map[string]result.NamedCalls{
		"list": {Due: 2000, Answered: 2000, Latency: result.Histogram{P50: 0.42, P99: 1990}}, "get": {},
	}
	got := summaryText(t, document)
	for _, want := range []string{"2,000 calls in 2 of 3 rounds of 10.04 s:", "\n2        no measurement\n", "\n3              500         0     0.430    1980.0\n",
		"\nget                                     0         0         –         –\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("the summary lacks %q:\n%s", want, got)
		}
	}
	document.Partial, document.Rounds = true, 5
	if got, want := summaryText(t, document), "Partial: calls were made in 2 of 5 rounds."; !strings.Contains(got, want) {
		t.Errorf("the summary lacks %q:\n%s", want, got)
	}
}
