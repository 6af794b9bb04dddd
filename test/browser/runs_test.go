package browser

import (
	"bytes"
	"compress/gzip"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"rpclab/experiments"
	"rpclab/internal/analysis"
	"rpclab/internal/experiment"
	"rpclab/internal/lab"
	"rpclab/internal/result"
	"rpclab/internal/result/resulttest"
	"rpclab/internal/testkit"
)

// recordings are the experiments whose results are in testdata, and the arguments of their runs
// besides --quick. This runs them again (15 minutes, or more where rpclab first builds servers):
//
//	go test ./test/browser -run Recorded -timeout 1h -update
var recordings = map[string][]string{
	"balancing": nil, "chain": nil, "churn": nil, "ladder": nil, "long-streams": nil,
	"policies": nil, "proxy-tax": nil, "rollout": nil, "streams": nil,
	"channels": {"--rounds", "12"}, // enough to decide; docs/images/report.png shows it
}

func TestRecordedResultsMatchTheSchema(t *testing.T) {
	for name, args := range recordings {
		t.Run(name, func(t *testing.T) {
			if *testkit.Update {
				record(t, name, args)
			}
			if d := read(t, name); d.Experiment != name || !d.Quick {
				t.Errorf("it is a result of %s, quick: %v", d.Experiment, d.Quick)
			}
		})
	}
}

// record runs an experiment and stores its result.
func record(t *testing.T, name string, args []string) {
	t.Helper()
	run := exec.Command(testkit.Rpclab(t), append([]string{"run", name, "--quick", "--no-store", "--json", "-"}, args...)...)
	run.Stderr = os.Stderr
	text, err := run.Output()
	if err != nil {
		t.Fatalf("%s: %v", run, err)
	}
	var packed bytes.Buffer
	gz, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	_, err = gz.Write(text)
	if err := errors.Join(err, gz.Close(), os.WriteFile(recording(name), packed.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func recording(name string) string { return filepath.Join("testdata", name+".json.gz") }

// read reads a recorded result.
func read(t testing.TB, name string) result.Document {
	t.Helper()
	file, err := os.Open(recording(name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	plain, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	return resulttest.Read(t, plain)
}

// full is a result as a run in full of a built-in experiment leaves it, but for the number of
// its rounds: its arms, cells and events, with numbers that are drawn and not measured.
func full(t testing.TB, name string) result.Document {
	t.Helper()
	file, doc, err := experiments.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return drawn(t, file, doc, 4)
}

func drawn(t testing.TB, file string, doc []byte, rounds int) result.Document {
	t.Helper()
	plan, err := experiment.Expand(file, doc, experiment.Options{Seed: 1, Rounds: rounds}, lab.Vocabulary())
	if err != nil {
		t.Fatal(err)
	}
	began := time.Date(2026, 11, 20, 18, 45, 12, 0, time.UTC)
	d := result.Document{Schema: result.Schema, ID: "20261120-184512-full", Experiment: plan.Name, Question: plan.Question, Source: plan.Source,
		Cluster: "local", Started: began, Machine: result.Machine{OS: "linux", Arch: "amd64", CPUs: 8, Go: "go1.26"}, Rounds: plan.Rounds, Seed: plan.Seed,
		Baseline: plan.Baseline, TrialCount: len(plan.Trials), Definition: plan.Text, Margin: plan.Margin, Size: plan.PublishedSize}
	for _, c := range plan.Confounds {
		d.Confounds = append(d.Confounds, result.Confound(c))
	}
	for _, p := range plan.Published {
		d.Published = append(d.Published, result.Published{Arm: p.Arm, Cell: p.Cell, ElapsedMS: p.ElapsedMS, Note: p.Note})
	}
	place := map[string]*result.Arm{}
	for _, cell := range plan.Cells {
		for _, a := range plan.Arms {
			d.Arms = append(d.Arms, result.Arm{Name: a.Name, Published: a.Published != "", Label: a.Published, Control: a.Control, Describe: a.Describe,
				Route: a.Config.Route, Cell: cell, Config: a.Config.Map()})
		}
	}
	for i := range d.Arms {
		place[d.Arms[i].Name+d.Arms[i].Cell.Key()] = &d.Arms[i]
	}
	source := rand.New(rand.NewPCG(1, 2))
	for _, t := range plan.Trials {
		arm := place[t.Arm+result.Cell(t.Cell).Key()]
		arm.Trials = append(arm.Trials, trial(source, t, began, 5+float64(len(t.Arm))))
	}
	return analysis.Assemble(d)
}

// trial has a thousand calls on ten backends in half a minute, with a long tail.
func trial(source *rand.Rand, plan experiment.Trial, began time.Time, middle float64) result.Trial {
	const calls, backends, steps = 1000, 10, 300
	h := hdr.NewPacked(1, 60_000_000_000, 3)
	for range calls {
		_ = h.RecordValue(int64(1e6 * middle * math.Exp(source.NormFloat64()/3)))
	}
	line := &result.Timeline{IntervalMS: 100, Backends: map[string][]uint64{}, Errors: make([]uint64, steps), Late: make([]uint64, steps), Ready: make([]int, steps)}
	m := result.Measures{Calls: calls, Errors: map[string]uint64{"UNAVAILABLE": 3}, Rate: calls / 30., ElapsedMS: 30_000 * (1 + source.Float64()/50),
		Latency: result.FromHDR(h), Service: result.FromHDR(h), Backends: map[string]uint64{},
		Resources: result.Resources{Client: result.Usage{CPU: 40 * middle, RSS: 40e6}, Server: result.Usage{CPU: 60, RSS: 30e6}, Proxy: result.Usage{CPU: 20, RSS: 50e6}}}
	for b := range backends {
		id := "backend-" + string(rune('0'+b))
		line.Backends[id] = make([]uint64, steps)
		for i := range steps {
			line.Backends[id][i] = source.Uint64N(3)
			line.Ready[i] = backends
		}
		m.Backends[id] = calls / backends
	}
	line.Errors[150] = 3
	t := result.Trial{Round: plan.Round, Order: plan.Order, Started: began, Measures: m, Timeline: line, Limits: "cgroup v1", Memory: &result.Memory{IntervalMS: 1000}}
	for second := range 31 {
		t.Memory.Servers = append(t.Memory.Servers, uint64((200+5*second)*1_000_000))
	}
	for _, e := range plan.Events {
		took := 10 + 500*source.Float64()
		t.Events = append(t.Events, result.Event{AtMS: float64(e.At.Milliseconds()), What: e.String(), Failed: 3, Ready: backends,
			Took: result.Took{ResolverUpdated: &took, FirstCall: &took, BalanceRestored: &took}})
	}
	return t
}

// crowd is an experiment of 40 cells and 10 rounds.
func crowd(t testing.TB) result.Document {
	t.Helper()
	var bursts []string
	for n := range 40 {
		bursts = append(bursts, "1"+string(rune('0'+n/10))+string(rune('0'+n%10)))
	}
	return drawn(t, "crowd.yaml", []byte(`experiment: crowd
question: Which way, at every load?
defaults: {workload: {greet: {delay: 1ms}}, route: clusterip, load: {burst: 100}}
arms: {shared: {}, pool: {caller: {channel: {pool: 4}}}, headless: {route: headless}, direct: {route: direct}}
sweep: {load.burst: [`+strings.Join(bursts, ", ")+`]}
`), 10)
}
