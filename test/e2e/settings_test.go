package e2e

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"rpclab/internal/result"
)

// configured prepares a command with a configuration file.
func configured(t *testing.T, config string, args ...string) (said, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	c := command(t, t.TempDir(), args...)
	c.Env = append(c.Env, "RPCLAB_CONFIG="+path)
	s, err := ran(c)
	if err != nil {
		t.Fatal(err)
	}
	return s, path
}

func TestFlagsHaveTheDefaultsOfTheConfigurationFile(t *testing.T) {
	t.Parallel()
	const config = "run:\n  rounds: 7\n  arms: [shared, pool]\nload: {timeout: 3s}\n"
	for _, c := range []struct {
		args   string
		rounds int
		arms   int
	}{{"", 7, 2}, {"--rounds 5", 5, 2}, {"--arms shared,pool,headless", 7, 3}} {
		s, _ := configured(t, config, append([]string{"run", "channels", "--plan", "--json", "-"}, strings.Fields(c.args)...)...)
		var plan result.Plan
		if err := json.Unmarshal([]byte(s.stdout), &plan); err != nil || s.code != 0 {
			t.Fatalf("exit code %d, %v\n%s", s.code, err, s.stderr)
		}
		if plan.Fewest.Rounds != c.rounds || len(plan.Arms) != c.arms || !strings.Contains(plan.Command, "--rounds") {
			t.Errorf("%q: %d rounds of %v by %s, want %d rounds and %d arms", c.args, plan.Fewest.Rounds, plan.Arms, plan.Command, c.rounds, c.arms)
		}
	}
}

func TestAWrongConfigurationFileIsAnErrorWithItsPlace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ config, want string }{
		{"rum: {rounds: 7}", `PATH:1:1: rpclab takes no defaults for "rum" (only for run, load, report, compare, serve, clean); did you mean "run"?`},
		{"server: {delay: 1s}", `PATH:1:1: rpclab takes no defaults for "server"`},
		{"load:\n  tiemout: 3s", `PATH:2:3: rpclab load has no flag --tiemout ('rpclab load --help' lists its flags); did you mean "timeout"?`},
		{"run:\n  quick: perhaps", `PATH:2:3: invalid argument "perhaps" for "--quick" flag`},
		{"run:\n  set: {load.burst: 3}", `PATH:2:8: write the value of --set as on the command line, or a list of such values`},
		{"run: {quick: true}\nrun: {rounds: 3}", `PATH:2:1: run has two sections; write one`},
		{"- run", `PATH:1:1: write commands with their flags, such as run: {no-store: true}`},
		{"run: {for: 2m}", "--for 2m0s and --rounds 4 exclude each other"},
		{"run: {for: 2m}", "\nrpclab: PATH sets --for=2m\n"},
	} {
		s, path := configured(t, c.config, "run", "channels", "--rounds", "4")
		if text := strings.ReplaceAll(s.stderr, path, "PATH"); s.code != 2 || s.stdout != "" || !strings.Contains(text, c.want) {
			t.Errorf("%q: exit code %d, want 2 and %s\n%s%s", c.config, s.code, c.want, s.stdout, text)
		}
	}
}

func TestQuietAndVerboseRuns(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "small.yaml")
	if err := os.WriteFile(file, []byte(small), 0o644); err != nil {
		t.Fatal(err)
	}
	if s := rpclab(t, "run", file, "--quiet"); s.code != 0 || s.stderr != "" || strings.Contains(s.stdout, "All numbers") {
		t.Errorf("--quiet: exit code %d\n%s%s", s.code, s.stdout, s.stderr)
	}
	d, s := document(t, file, "--verbose")
	if lines := strings.Count(s.stderr, "trial "); lines != d.TrialCount || !strings.Contains(s.stderr, " calls, 0 failed, p50 ") {
		t.Errorf("--verbose: %d lines for %d trials\n%s", lines, d.TrialCount, s.stderr)
	}
	if s := rpclab(t, "run", file, "--quiet", "--verbose"); s.code != 2 {
		t.Errorf("both: exit code %d\n%s", s.code, s.stderr)
	}
}

func TestColorFlag(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	fill(t, data, 1)
	for when, want := range map[string]bool{"always": true, "never": false, "auto": false} {
		if s := rpclabIn(t, data, "report", "latest", "--color", when); s.code != 0 || colours.MatchString(s.stdout) != want {
			t.Errorf("--color %s: exit code %d, colours: %v, want %v", when, s.code, !want, want)
		}
	}
	if said := inTerminal(t, 80, "RPCLAB_CONFIG="+os.DevNull, "NO_COLOR=1"); colours.MatchString(said) {
		t.Error("NO_COLOR=1 in a terminal has colours")
	}
	if s := rpclabIn(t, data, "report", "latest", "--color", "sometimes"); s.code != 2 || !strings.Contains(s.stderr, "--color sometimes: must be auto, always or never") {
		t.Errorf("exit code %d\n%s", s.code, s.stderr)
	}
}

// TestDoctorInstallsThroughTheProxyOfTheEnvironment refuses the connection: only that it is asked for matters.
func TestDoctorInstallsThroughTheProxyOfTheEnvironment(t *testing.T) {
	t.Parallel()
	var asked atomic.Value
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.Method + " " + r.Host)
		http.Error(w, "no", http.StatusForbidden)
	}))
	defer proxy.Close()
	c := command(t, t.TempDir(), "doctor", "--install", "envoy")
	c.Env = append(c.Env, "RPCLAB_TOOLS_DIR="+t.TempDir(), "PIP_CONFIG_FILE="+os.DevNull, "PIP_INDEX_URL=https://pypi.example/simple", "PIP_EXTRA_INDEX_URL=", "PIP_RETRIES=0",
		"HTTPS_PROXY="+proxy.URL, "https_proxy="+proxy.URL, "NO_PROXY=", "no_proxy=")
	s, err := ran(c)
	if err != nil || s.code != 3 {
		t.Errorf("exit code %d, %v, want 3\n%s", s.code, err, s.stderr)
	}
	if got := asked.Load(); got != "CONNECT pypi.example:443" {
		t.Errorf("the proxy was asked for %v, want CONNECT pypi.example:443\n%s", got, s.stderr)
	}
}

func TestLoadReportHasColours(t *testing.T) {
	t.Parallel()
	address, _ := greeterAt(t)
	for when, want := range map[string]bool{"always": true, "never": false, "auto": false} {
		if s := rpclab(t, "load", "--call", sayHello, "-n", "5", "--color", when, address); s.code != 0 || strings.Contains(s.stdout, "\x1b[1m") != want {
			t.Errorf("--color %s: exit code %d, want colours: %v\n%q", when, s.code, want, s.stdout)
		}
	}
}
