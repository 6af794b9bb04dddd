package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"rpclab/internal/result"
)

var began = time.Date(2026, 11, 20, 18, 45, 12, 0, time.UTC)

func machineSample() result.Machine {
	return result.Machine{OS: "linux", Arch: "amd64", CPUs: 8, Memory: 33_600_000_000, Model: "Example CPU 9000", Kernel: "6.8", Go: "go1.26.0"}
}

func base(name, question string) result.Document {
	finished := began.Add(3*time.Minute + 12*time.Second)
	return result.Document{Schema: result.Schema, ID: "20261120-184512-x7k2", Experiment: name, Question: question,
		Cluster: "local", Started: began, Finished: &finished, Machine: machineSample(), Rounds: 5, Seed: 42, Baseline: "shared"}
}

// onRoute adds what a run records of the arm's route.
func onRoute(a result.Arm) result.Arm {
	switch a.Route {
	case "direct":
		a.PickedBy = pickedByNobody
	case "clusterip", "forwarder", "nodeport":
		a.PickedBy, a.Update = pickedByKernel, "the client is not updated; a connection stays with its backend until it breaks"
	case "headless":
		a.PickedBy, a.Discovery, a.Update = "client", "dns", "grpc-go asks DNS again only when a connection breaks, and at the earliest 30 s after it last did"
	case "endpointslice", "kuberesolver":
		a.PickedBy, a.Discovery, a.Update = "client", "watch", "a watch of the endpoints pushes a change to the client"
	case "xds":
		a.PickedBy, a.Discovery, a.Update = "client", "xds", "the control plane pushes a change to the client"
	case "envoy":
		a.PickedBy, a.Update = "proxy", "the client is not updated; the control plane pushes a change to the proxy"
	}
	return a
}

// sampleArm is one arm of the samples.
type sampleArm struct {
	name, label, control, route, channel string
	p50, p99, elapsed, cpu               float64
	rss                                  uint64
	spread                               func(round, calls int) map[string]uint64
	jain, chance                         float64
	pattern                              string
}

func onOne(round, calls int) map[string]uint64 {
	ids := []string{"greeter-1", "greeter-2", "greeter-3"}
	out := map[string]uint64{"greeter-1": 0, "greeter-2": 0, "greeter-3": 0}
	out[ids[round%3]] = uint64(calls)
	return out
}

func inTurn(_, calls int) map[string]uint64 {
	n := uint64(calls)
	return map[string]uint64{"greeter-1": (n + 2) / 3, "greeter-2": (n + 1) / 3, "greeter-3": n / 3}
}

func drawn(draws int) func(round, calls int) map[string]uint64 {
	return func(round, calls int) map[string]uint64 {
		source := rand.New(rand.NewPCG(1, uint64(round)))
		out := map[string]uint64{"greeter-1": 0, "greeter-2": 0, "greeter-3": 0}
		ids := []string{"greeter-1", "greeter-2", "greeter-3"}
		if draws == 0 {
			draws = calls
		}
		for range draws {
			out[ids[source.IntN(3)]] += uint64(calls / draws)
		}
		return out
	}
}

func latency(p50, p99 float64) result.Histogram {
	return result.Histogram{Min: p50 * 0.98, Mean: p50 * 1.02, P50: p50, P90: p50 * 1.1, P95: p50 * 1.2, P99: p99, P999: p99 * 1.05, Max: p99 * 1.1, HDR: "sample"}
}

func (w sampleArm) measures(round, calls int) result.Measures {
	near := 1 + float64(round-3)/500
	return result.Measures{Calls: uint64(calls), ElapsedMS: w.elapsed * near, Rate: float64(calls) / w.elapsed * 1000,
		Latency: latency(w.p50*near, w.p99*near), Backends: w.spread(round, calls),
		Balance:   result.Balance{Jain: w.jain, MaxOverMean: 1, PRandom: w.chance, Pattern: w.pattern},
		Resources: result.Resources{Client: result.Usage{CPU: w.cpu, RSS: w.rss}, Server: result.Usage{CPU: 48, RSS: 31_000_000}}}
}

func (w sampleArm) arm(cell result.Cell, calls, rounds int) result.Arm {
	arm := result.Arm{Name: w.name, Label: w.label, Published: w.label != "", Control: w.control, Route: w.route, Channel: w.channel,
		Cell: cell, Config: map[string]any{"route": w.route, "caller": map[string]any{"channel": channelSetting(w.channel)}}, Measures: w.measures(3, calls)}
	arm = onRoute(arm)
	for round := 1; round <= rounds; round++ {
		arm.Trials = append(arm.Trials, result.Trial{Round: round, Started: began, Measures: w.measures(round, calls)})
	}
	return arm
}

// channelSetting is the channel as a configuration has it.
func channelSetting(channel string) any {
	if channel == "pool of 16" {
		return map[string]any{"pool": 16}
	}
	return channel
}

func sampleArms() []sampleArm {
	return []sampleArm{
		{"new-channel", "Client", "", "clusterip", "per-call", 702.4, 981.2, 1043.7, 612, 412e6, drawn(0), 0.9998, 0.42, asChance},
		{"shared", "ClientWithReuseConn", "", "clusterip", "shared", 507.1, 529.8, 541.3, 38.4, 41e6, onOne, 1. / 3, 0, oneTakesAll},
		{"kuberesolver", "ClientWithKubeResolver", "", "kuberesolver", "shared", 506.2, 527.0, 535.8, 39.9, 42e6, inTurn, 1, 0.0001, takesTurns},
		{"headless", "", "", "headless", "shared", 506.4, 528.1, 537.0, 39.1, 42e6, inTurn, 1, 0.0001, takesTurns},
		{"endpointslice", "", "", "endpointslice", "shared", 506.1, 526.9, 535.1, 38.8, 42e6, inTurn, 1, 0.0001, takesTurns},
		{"pool", "", "", "clusterip", "pool of 16", 508.0, 533.3, 545.9, 41.2, 44e6, drawn(16), 0.94, 0, uneven},
		{"shared-again", "", "shared", "clusterip", "shared", 507.0, 530.3, 541.1, 38.5, 41e6, onOne, 1. / 3, 0, oneTakesAll},
	}
}

func verdict(metric, a string, cell result.Cell, ratio, low, high float64, decision string, kind result.VerdictKind) result.Verdict {
	v := result.Verdict{Metric: metric, A: a, B: "shared", Cell: cell, Ratio: ratio, CI: [2]float64{low, high}, Level: 1 - 0.05/16, Decision: decision, Rounds: 5, Kind: kind}
	if decision == "undecided" {
		v.Reason = fmt.Sprintf("the difference may be zero: about %.0f rounds in all would decide, if the noise stays", 50*(high-low))
		v.Cause = &result.Cause{Kind: result.CauseInterval, Have: 5, Needed: math.Round(50 * (high - low))}
	}
	return v
}

// secondaryVerdict is a verdict on another metric.
func secondaryVerdict(metric, a string, cell result.Cell, ratio float64, decision string) result.Verdict {
	v := verdict(metric, a, cell, ratio, 0.9*ratio, 1.1*ratio, decision, "baseline")
	v.Secondary, v.Level = true, 0.99
	return v
}

func grownBy(burst int) float64 { return 1 + float64(burst-2000)/16000 }

// channels is the full run of the experiment.
func channels() result.Document {
	d := base("channels", "A channel per call, one shared, or one that watches the endpoints?")
	d.Source = "a published comparison of new, reused and endpoint-watching channels (docs/studies.md#channels)"
	d.Headline = []string{"latency_p50", "latency_p99"}
	for _, burst := range []int{2000, 10000} {
		cell := result.Cell{"load.burst": burst}
		for _, w := range sampleArms() {
			grown := 1 + float64(burst-2000)/16000
			w.p50, w.p99, w.elapsed = w.p50*grown, w.p99*grown, w.elapsed*grown
			d.Arms = append(d.Arms, w.arm(cell, burst, 5))
		}
		d.Verdicts = append(d.Verdicts,
			verdict("latency_p50", "new-channel", cell, 1.385, 1.31, 1.46, "worse", "baseline"),
			verdict("latency_p99", "new-channel", cell, 1.852, 1.61, 2.34, "worse", "baseline"),
			verdict("latency_p50", "endpointslice", cell, 0.998, 0.99, 1.02, "equivalent", "baseline"),
			verdict("latency_p99", "endpointslice", cell, 0.94, 0.91, 0.97, "better", "baseline"),
			verdict("latency_p50", "kuberesolver", cell, 0.998, 0.92, 1.11, "undecided", "baseline"),
			verdict("latency_p99", "headless", cell, 0.997, 0.90, 1.12, "undecided", "baseline"),
			verdict("latency_p50", "shared-again", cell, 1, 0.99, 1.01, "equivalent", "control"),
			verdict("latency_p99", "shared-again", cell, 1.001, 0.95, 1.08, "undecided", "control"),
			secondaryVerdict("client_cpu", "new-channel", cell, 15.9*grownBy(burst), "worse"), secondaryVerdict("client_cpu", "endpointslice", cell, 1.01, "equivalent"),
			secondaryVerdict("rate", "new-channel", cell, 0.52, "worse"), secondaryVerdict("rate", "endpointslice", cell, 1.01*grownBy(burst), map[int]string{2000: "equivalent", 10000: "better"}[burst]),
			secondaryVerdict("balance", "endpointslice", cell, 3, "better"), secondaryVerdict("balance", "new-channel", cell, 2.9994, "undecided"))
	}
	d.Verdicts[0].Notes = []string{"outlier: in pair 3 of 5 the ratio was 1.51, in the middle one 1.38; look at that round"}
	d.TrialCount = 70
	d.Confounds = []result.Confound{{Published: "new-channel", Controlled: "pool",
		What: "a channel per call also pays a TCP and HTTP/2 handshake per call, so it measures connecting as much as balancing"}}
	for _, burst := range []int{2000, 10000} {
		grown := grownBy(burst)
		d.Accounts = append(d.Accounts, result.Account{Published: "new-channel", Controlled: "pool", Baseline: "shared",
			Cell: result.Cell{"load.burst": burst}, Metric: "elapsed", GapMS: 502.4 * grown, Remains: 0.0092, CI: [2]float64{0.004, 0.015}, Level: 0.975})
	}
	d.Published = []result.Published{
		{Arm: "new-channel", Cell: result.Cell{"load.burst": 2000}, ElapsedMS: 1036, Note: "684/662/654 calls"},
		{Arm: "shared", Cell: result.Cell{"load.burst": 2000}, ElapsedMS: 547.8, Note: "all on one pod"},
		{Arm: "kuberesolver", Cell: result.Cell{"load.burst": 2000}, ElapsedMS: 548.3},
		{Arm: "new-channel", Cell: result.Cell{"load.burst": 10000.0}, Note: "crash"},
		{Arm: "shared", Cell: result.Cell{"load.burst": 10000.0}, ElapsedMS: 735.6, Note: "all on one pod"},
		{Arm: "kuberesolver", Cell: result.Cell{"load.burst": 10000.0}, ElapsedMS: 699.5, Note: "3334/3333/3333 calls"},
	}
	return d
}

// small is one cell of few arms.
func small(rounds int, arms ...sampleArm) result.Document {
	d := base("channels", "A channel per call, one shared, or one that watches the endpoints?")
	d.Rounds, d.TrialCount = rounds, rounds*len(arms)
	for _, w := range arms {
		d.Arms = append(d.Arms, w.arm(result.Cell{}, 1000, rounds))
	}
	return d
}
