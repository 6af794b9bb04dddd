package e2e

import (
	"strings"
	"testing"

	"rpclab/internal/result"
	"rpclab/internal/result/resulttest"
)

// TestChainCostsGrowWithTheWork compares arms of which each does the work of the arm before and more.
func TestChainCostsGrowWithTheWork(t *testing.T) {
	undisturbed(t, func(try int, wrong func(format string, args ...any)) {
		d, _ := quickTry(t, "chain", try)
		chain(t, d, wrong)
	})
}

func chain(t *testing.T, d result.Document, wrong func(format string, args ...any)) {
	calls := d.Arms[0].Calls
	for _, a := range d.Arms {
		if a.Calls != calls || a.Calls == 0 || len(a.Errors) > 0 {
			t.Errorf("%s: %d calls, errors %v %v", a.Name, a.Calls, a.Errors, a.Samples)
		}
	}
	for _, order := range [][]string{
		{"function", "tcp", "wire-go", "python-rust", "python-python", "rest-new"},
		{"tcp", "grpc-go", "python-rust"},
		{"tcp", "rest-go-http2", "rest-session"},
		{"rest-go", "rest-session", "rest-new"},
		{"stream-ping-pong", "python-python"},
	} {
		for i := range order[1:] {
			less, more := arm(t, d, order[i]), arm(t, d, order[i+1])
			if less.Latency.P50 >= more.Latency.P50 {
				wrong("%s has a p50 of %.3f ms and %s %.3f ms, want less", less.Name, less.Latency.P50, more.Name, more.Latency.P50)
			}
		}
	}
	// The CPU time of a server covers all its processes.
	for _, name := range []string{"rest-new", "python-python"} {
		if a := arm(t, d, name); a.Resources.Server.CPU < 20 || a.Resources.Client.CPU < 20 {
			t.Errorf("%s: CPU time per call is %.1f µs for the client and %.1f µs for the server, want at least 20", name, a.Resources.Client.CPU, a.Resources.Server.CPU)
		}
	}
}

// TestAnArmWhoseToolsAreMissingIsReportedAsNotRun, while the others run.
func TestAnArmWhoseToolsAreMissingIsReportedAsNotRun(t *testing.T) {
	t.Parallel()
	c := command(t, t.TempDir(), "run", "chain", "--quick", "--arms", "grpc-go,wire-rust,python-rust", "--json", "-")
	c.Env = append(c.Env, "PATH="+t.TempDir(), "XDG_CACHE_HOME="+t.TempDir())
	s, err := ran(c)
	if err != nil {
		t.Fatal(err)
	}
	if s.code != 3 {
		t.Errorf("exit code %d, want 3", s.code)
	}
	d := resulttest.Read(t, strings.NewReader(s.stdout))
	if a := arm(t, d, "grpc-go"); a.Calls == 0 {
		t.Error("grpc-go did not run, although its tools are installed")
	}
	for _, name := range []string{"wire-rust", "python-rust"} {
		if a := arm(t, d, name); a.Calls > 0 || !strings.Contains(why(a), "not run") || !strings.Contains(why(a), "cargo is missing: install Rust") {
			t.Errorf("%s: %d calls; %s", name, a.Calls, why(a))
		}
	}
	for _, want := range []string{"wire-rust, python-rust: not run", "https://rustup.rs"} {
		if !strings.Contains(s.stderr, want) {
			t.Errorf("standard error does not contain %q:\n%s", want, s.stderr)
		}
	}
}

// why returns the reasons of the trials without a measurement.
func why(a result.Arm) string {
	var all []string
	for _, trial := range a.Trials {
		all = append(all, trial.Failed)
	}
	return strings.Join(all, "\n")
}
