package e2e

import (
	"encoding/json"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"rpclab/internal/result"
	"rpclab/internal/result/resulttest"
	"rpclab/internal/testkit/pages"
)

// benchstat is the version of the real one.
const benchstat = "golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da"

// receiver accepts what rpclab sends, and counts requests by their paths.
func receiver(t *testing.T) (url string, received func() map[string]int) {
	t.Helper()
	var mu sync.Mutex
	count := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); err == nil && len(body) > 0 {
			mu.Lock()
			defer mu.Unlock()
			count[r.URL.Path]++
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, func() map[string]int {
		mu.Lock()
		defer mu.Unlock()
		return maps.Clone(count)
	}
}

// TestThePageOfOutputs executes the commands of docs/outputs.md, which have every flag of its table, and compares the files
// with the result.
func TestThePageOfOutputs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/outputs.md")
	if err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	address, _ := greeterAt(t)
	prometheus, written := receiver(t)
	collector, sent := receiver(t)
	storeRun(t, data, "--rounds", "6")
	if s := rpclabIn(t, data, "report", "latest", "--benchstat", filepath.Join(data, "old.txt")); s.code != 0 {
		t.Fatal(s.stderr)
	}
	storeRun(t, data, "--rounds", "6")
	blocks := pages.TestedBy(t, "../../docs/outputs.md")
	if len(blocks) != 1 {
		t.Fatalf("the page has %d blocks of commands, want 1", len(blocks))
	}
	used := map[string]bool{}
	benchmarks := ""
	for _, line := range blocks[0].Lines() {
		for _, flag := range regexp.MustCompile(`--[\w-]+`).FindAllString(line, -1) {
			used[flag] = true
		}
		line = strings.NewReplacer("127.0.0.1:50051", address, "http://127.0.0.1:9090", prometheus, "http://127.0.0.1:4318", collector, "127.0.0.1:9464", "127.0.0.1:0", "rpclab load", "rpclab load -n 50").Replace(line)
		words := strings.Fields(line)
		c := command(t, data, words[1:]...)
		if words[0] == "benchstat" {
			c = exec.CommandContext(t.Context(), "go", append([]string{"run", benchstat}, words[1:]...)...)
		}
		c.Dir = data
		s, err := ran(c)
		if err != nil || s.code != 0 || strings.Contains(s.stderr, "warning") {
			t.Errorf("%s: exit code %d, %v\n%s%s", line, s.code, err, s.stdout, s.stderr)
		}
		if words[0] == "benchstat" {
			benchmarks = s.stdout
		}
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `(--[\\w-]+) ").FindAllSubmatch(page, -1) {
		if !used[string(row[1])] {
			t.Errorf("no command has the flag %s", row[1])
		}
	}
	if paths := written(); paths["/api/v1/write"] == 0 || len(paths) != 1 {
		t.Errorf("Prometheus received %v", paths)
	}
	if paths := sent(); paths["/v1/traces"] == 0 || paths["/v1/metrics"] == 0 || len(paths) != 2 {
		t.Errorf("OpenTelemetry received %v", paths)
	}
	file, err := os.Open(filepath.Join(data, "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	arm := resulttest.Read(t, file).Arms[0]
	checkK6(t, filepath.Join(data, "summary.json"), arm)
	checkHgrm(t, filepath.Join(data, "latency", "one.hgrm"), arm)
	// benchstat compares the arm in both files: six trials of each.
	for _, want := range []string{"old.txt", "new.txt", "p50-sec", "p99-sec", "answered/s", "n=6)"} {
		if !strings.Contains(benchmarks, want) {
			t.Errorf("benchstat does not print %q:\n%s", want, benchmarks)
		}
	}
	if rows := regexp.MustCompile(`(?m)^Small/arm=one\S* .*±.*±`).FindAllString(benchmarks, -1); len(rows) == 0 {
		t.Errorf("benchstat compares no trials:\n%s", benchmarks)
	}
}

// checkK6 compares a summary with an arm.
func checkK6(t *testing.T, path string, arm result.Arm) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var summary struct{ Metrics map[string]map[string]float64 }
	if err := json.Unmarshal(text, &summary); err != nil {
		t.Fatal(err)
	}
	m := summary.Metrics
	if m["iterations"]["count"] != float64(arm.Calls) || m["iteration_duration"]["p(95)"] != arm.Latency.P95 || m["checks"]["fails"] != 0 || m["checks"]["passes"] != float64(arm.Calls) {
		t.Errorf("the summary is %v, want %d calls with a p95 of %v ms", m, arm.Calls, arm.Latency.P95)
	}
}

// checkHgrm compares percentiles with an arm.
func checkHgrm(t *testing.T, path string, arm result.Arm) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	median, last := 0.0, []string(nil)
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 4 && !strings.HasPrefix(fields[0], "#") && fields[0] != "Value" {
			if last = fields; fields[1] == "0.500000" {
				median, _ = strconv.ParseFloat(fields[0], 64)
			}
		}
	}
	if len(last) == 0 || last[1] != "1.000000" || last[2] != strconv.FormatUint(arm.Calls, 10) || math.Abs(median/arm.Latency.P50-1) > 0.01 {
		t.Errorf("the median is %v ms and the last line %v, want %v ms and %d calls:\n%s", median, last, arm.Latency.P50, arm.Calls, text)
	}
}

// TestReceiversThatFailAreWarnings has one receiver that refuses connections and one that never answers.
func TestReceiversThatFailAreWarnings(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // nobody accepts
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	refusing, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refusing.Close()
	file := filepath.Join(t.TempDir(), "small.yaml")
	if err := os.WriteFile(file, []byte(small), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, scheme := range []string{"http", "grpc"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			d, s := document(t, file, "--otlp", scheme+"://"+silent.Addr().String(), "--remote-write", "http://me:secret@"+refusing.Addr().String()+"/api/v1/write")
			if len(d.Arms[0].Trials) != 4 || d.Partial {
				t.Errorf("the result has %d trials, want 4", len(d.Arms[0].Trials))
			}
			var warnings []string
			for line := range strings.Lines(s.stderr) {
				if strings.Contains(line, "could not send everything to ") {
					warnings = append(warnings, line)
				}
			}
			if len(warnings) != 2 || !strings.Contains(warnings[0], "OpenTelemetry at "+scheme+"://") || !strings.Contains(warnings[1], "connection refused; the result is complete") || strings.Contains(s.stderr, "secret") {
				t.Errorf("want two warnings without the password, got\n%s", strings.Join(warnings, ""))
			}
		})
	}
}

func TestWrongReceiversAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args, env string
		want      string
	}{
		{"run channels --otlp localhost:4318", "", "--otlp: use a URL such as http://127.0.0.1:4318"},
		{"run channels --remote-write 127.0.0.1:9090", "", "--remote-write: use a URL such as http://127.0.0.1:9090/api/v1/write"},
		{"load --call a.B/C --remote-write ftp://h 127.0.0.1:1", "", "--remote-write: use a URL"},
		{"load --call a.B/C --otlp ftp://h 127.0.0.1:1", "", `--otlp: no scheme "ftp"`},
		{"run channels --remote-write http://h/", "RPCLAB_REMOTE_WRITE_HEADERS=token", "RPCLAB_REMOTE_WRITE_HEADERS: write name=value"},
		{"run channels --plan --otlp http://h", "", "--plan starts nothing"},
		{"load --style bidi --otlp http://h 127.0.0.1:1", "", "--otlp cannot be used with --style"},
	} {
		command := command(t, t.TempDir(), strings.Fields(c.args)...)
		command.Env = append(slices.Clone(command.Env), c.env)
		if s, err := ran(command); err != nil || s.code != 2 || !strings.Contains(s.stderr, c.want) {
			t.Errorf("%s: exit code %d, %v, want 2 and %q\n%s", c.args, s.code, err, c.want, s.stderr)
		}
	}
}
