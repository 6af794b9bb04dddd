package e2e

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"rpclab/internal/testkit"
)

const good = `experiment: mine
question: Which one?
defaults:
  workload: {greet: {delay: 5ms}}
  route: clusterip
  load: {burst: 10}
arms:
  one: {}
  two: {route: direct}
rounds: 4
`

// TestWrongRequestsExitWithCode2 compares each message with a golden file: what is wrong, where, what to
// do, and the exit code.
func TestWrongRequestsExitWithCode2(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, doc string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(doc), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	edit := func(from, to string) string {
		doc := strings.Replace(good, from, to, 1)
		if doc == good {
			t.Fatalf("the document has no %q", from)
		}
		return write("mine.yaml", doc)
	}
	for _, c := range []struct {
		name string
		args func() []string
	}{
		{"unknown-field", func() []string {
			return []string{"run", edit("  route: clusterip", "  server: {replcas: 3}\n  route: clusterip")}
		}},
		{"bad-unit", func() []string { return []string{"run", edit("5ms", "5")} }},
		{"route-of-another-cluster", func() []string { return []string{"run", edit("route: direct", "route: nodeport")} }},
		{"unknown-route", func() []string { return []string{"run", edit("route: direct", "route: headles")} }},
		{"service-config", func() []string {
			return []string{"run", edit("two: {", `two: {caller: {service_config: {"loadBalancingConfig": [{"fastest_first": {}}]}}, `)}
		}},
		{"keepalive", func() []string {
			return []string{"run", edit("two: {", "two: {caller: {kind: wire, keepalive: {time: 10s}}, ")}
		}},
		{"duplicate-arm", func() []string { return []string{"run", edit("  two:", "  one:")} }},
		{"search", func() []string {
			return []string{"run", edit("burst: 10", "search: {slo: p98 < 5ms, from: 100, to: 10, duration: 1s, precision: 2%}")}
		}},
		{"zero-rounds", func() []string { return []string{"run", edit("rounds: 4", "rounds: 0")} }},
		{"page-without-web", func() []string { return []string{"run", "channels", "--listen", "127.0.0.1:8421"} }},
		{"several-at-once", func() []string { return []string{"run", edit("rounds: 4", "rounds: many\nround: 4")} }},
		{"no-yaml", func() []string { return []string{"run", write("broken.yaml", "arms: [one, two\n")} }},
		{"unknown-arm", func() []string { return []string{"run", "channels", "--arms", "shraed"} }},
		{"set-unknown-field", func() []string { return []string{"run", "channels", "--set", "load.brust=3"} }},
		{"set-bad-value", func() []string { return []string{"run", "channels", "--set", "server.replicas=none"} }},
		{"set-without-value", func() []string { return []string{"run", "channels", "--set", "rounds"} }},
		{"rounds-flag-zero", func() []string { return []string{"run", "channels", "--rounds", "0"} }},
		{"time-too-short", func() []string { return []string{"run", "channels", "--for", "10ms"} }},
		{"time-and-rounds", func() []string { return []string{"run", "channels", "--for", "2m", "--rounds", "4"} }},
		{"time-for-no-round", func() []string { return []string{"run", "churn", "--for", "5s"} }},
		{"most-rounds-and-rounds", func() []string { return []string{"run", "channels", "--rounds", "4", "--max-rounds", "6"} }},
		{"most-rounds-quick", func() []string { return []string{"run", "channels", "--quick", "--max-rounds", "6"} }},
		{"pilot-without-plan", func() []string { return []string{"run", "channels", "--pilot"} }},
		{"plan-as-page", func() []string {
			return []string{"run", "channels", "--plan", "--html", filepath.Join(dir, "plan.html")}
		}},
		{"plan-with-metrics", func() []string { return []string{"run", "channels", "--plan", "--metrics", "127.0.0.1:0"} }},
		{"plan-assert-unknown-metric", func() []string { return []string{"run", "channels", "--plan", "--assert", "p98 < 5ms"} }},
		{"unknown-experiment", func() []string { return []string{"run", "chanels"} }},
		{"unreadable-file", func() []string { return []string{"run", filepath.Join(dir, "nowhere.yaml")} }},
		{"no-experiment", func() []string { return []string{"run"} }},
		{"unknown-flag", func() []string { return []string{"run", "channels", "--quik"} }},
		{"unknown-flag-of-load", func() []string { return []string{"load", "--method", "a.B/C", "127.0.0.1:1"} }},
		{"unknown-flag-of-list", func() []string { return []string{"list", "--method", "a.B/C"} }},
		{"unknown-command", func() []string { return []string{"rum"} }},
		{"unknown-cluster", func() []string { return []string{"run", "channels", "--on", "mars"} }},
		{"context-without-kubernetes", func() []string { return []string{"run", "channels", "--quick", "--context", "other"} }},
		{"lab-up-image-without-kubernetes", func() []string { return []string{"lab", "up", "channels", "--image", "x:1"} }},
		{"no-directory-for-json", func() []string { return []string{"run", "channels", "--json", filepath.Join(dir, "no", "out.json")} }},
		{"assert-unknown-metric", func() []string { return []string{"run", "channels", "--assert", "p98 < 5ms"} }},
		{"unknown-run", func() []string { return []string{"report", "2026"} }},
		{"compare-one", func() []string { return []string{"compare", "latest"} }},
		{"no-file-of-a-run", func() []string { return []string{"compare", filepath.Join(dir, "nowhere.json"), "latest"} }},
		{"no-result-in-a-file", func() []string { return []string{"report", write("empty.json", "{}")} }},
		{"gate-unknown-metric", func() []string { return []string{"compare", "latest", "latest", "--gate", "p98 ratio < 1.05"} }},
		{"gate-no-ratio", func() []string { return []string{"compare", "latest", "latest", "--gate", "p99 < 1.05"} }},
		{"gate-no-number", func() []string { return []string{"compare", "latest", "latest", "--gate", "p99 ratio < 5%"} }},
		{"image-nowhere", func() []string { return []string{"image", "build"} }},
		{"image-to-standard-output", func() []string { return []string{"image", "build", "--output", "-"} }},
		{"image-unknown-proxy", func() []string { return []string{"image", "build", "--output", "i.tar", "--with", "envoi"} }},
		{"image-unknown-language", func() []string { return []string{"image", "build", "--output", "i.tar", "--languages", "pyhton"} }},
		{"image-platform", func() []string { return []string{"image", "build", "--output", "i.tar", "--platform", "windows/amd64"} }},
		{"image-name", func() []string { return []string{"image", "build", "--output", "i.tar", "--name", "RPCLab"} }},
		{"xds-no-endpoints", func() []string { return []string{"xds"} }},
		{"xds-unknown-policy", func() []string { return []string{"xds", "--endpoints", "127.0.0.1:1", "--policy", "least_conn"} }},
		{"xds-no-address", func() []string { return []string{"xds", "--endpoints", "greeter:50051"} }},
		{"xds-bootstrap-with-token", func() []string {
			return []string{"xds", "--endpoints", "127.0.0.1:1", "--bootstrap", "b.json", "--token-file", "token"}
		}},
		{"xds-api-in-tls", func() []string { return []string{"xds", "--endpoints", "https://cluster"} }},
		{"xds-for-everyone", func() []string {
			return []string{"xds", "--endpoints", "127.0.0.1:1", "--listen", "0.0.0.0:18000"}
		}},
		{"xds-empty-token", func() []string {
			return []string{"xds", "--endpoints", "127.0.0.1:1", "--token-file", write("token", "\n")}
		}},
		{"gateway-for-everyone", func() []string {
			return []string{"gateway", "--target", "127.0.0.1:1", "--listen", "0.0.0.0:0"}
		}},
		{"forward-for-everyone", func() []string { return []string{"forward", "--listen", "0.0.0.0:0"} }},
		{"server-for-everyone", func() []string { return []string{"server", "--listen", "0.0.0.0:0"} }},
		{"server-metrics-for-everyone", func() []string { return []string{"server", "--metrics", "0.0.0.0:0"} }},
		{"server-token-without-room", func() []string {
			return []string{"server", "--model", "tcp", "--listen", "0.0.0.0:0", "--token-file", write("token", "secret")}
		}},
		{"server-delay-without-workload", func() []string { return []string{"server", "--model", "tcp", "--delay", "5ms"} }},
		{"gateway-empty-token", func() []string {
			return []string{"gateway", "--target", "127.0.0.1:1", "--token-file", write("token", "\n")}
		}},
		{"gateway-target", func() []string { return []string{"gateway", "--target", "nonsense"} }},
		{"gateway-target-and-route", func() []string {
			return []string{"gateway", "--target", "127.0.0.1:1", "--route", "headless"}
		}},
		{"gateway-model", func() []string { return []string{"gateway", "--target", "127.0.0.1:1", "--model", "x"} }},
		{"lab-up-study", func() []string { return []string{"lab", "up", "nope"} }},
		{"lab-up-model", func() []string { return []string{"lab", "up", "ladder", "--rest", "grpc-netty"} }},
		{"lab-up-memory", func() []string { return []string{"lab", "up", "ladder", "--memory", "1.5G"} }},
		{"lab-up-small-memory", func() []string { return []string{"lab", "up", "ladder", "--memory", "1Ki"} }},
		{"load-mode", func() []string { return []string{"load", "-mode=both", "-host=127.0.0.1:1"} }},
		{"load-host-and-target", func() []string { return []string{"load", "-mode=unary", "-host=127.0.0.1:1", "127.0.0.1:2"} }},
		{"lab-up-route", func() []string { return []string{"lab", "up", "balancing", "--routes", "nope"} }},
		{"lab-up-replicas", func() []string { return []string{"lab", "up", "balancing", "--replicas", "0"} }},
		{"lab-up-cpus", func() []string { return []string{"lab", "up", "balancing", "--cpus", "-1"} }},
		{"lab-up-equal-ports", func() []string { return []string{"lab", "up", "chain", "--port", "8000"} }},
		{"server-port", func() []string { return []string{"server", "--listen", "127.0.0.1:99999"} }},
		{"serve-port", func() []string { return []string{"serve", "--listen", "127.0.0.1:99999"} }},
		{"serve-host-without-token", func() []string { return []string{"serve", "--host", "lab.example.org"} }},
		{"serve-host", func() []string { return []string{"serve", "--host", "lab.example.org:443"} }},
		{"gateway-port", func() []string { return []string{"gateway", "--listen", "127.0.0.1:99999", "--target", "127.0.0.1:5"} }},
		{"server-delay", func() []string { return []string{"server", "--delay", "-5s", "--workers", "-1"} }},
		{"completion-shell", func() []string { return []string{"completion", "tcsh"} }},
		{"lab-up-port", func() []string { return []string{"lab", "up", "balancing", "--port", "70000"} }},
		{"lab-up-targets", func() []string {
			return []string{"lab", "up", "balancing", "--targets", write("targets.json", `[{"targets": ["10.0.0.1:9100"]}]`)}
		}},
		{"runs-accept-unknown", func() []string { return []string{"runs", "accept", "2026"} }},
		{"runs-rm-nothing", func() []string { return []string{"runs", "rm"} }},
		{"runs-rm-both", func() []string { return []string{"runs", "rm", "latest", "--keep", "3"} }},
		{"runs-rm-age", func() []string { return []string{"runs", "rm", "--older-than", "30 days"} }},
		{"runs-rm-unknown", func() []string { return []string{"runs", "rm", "2026"} }},
		{"runs-rm-unknown-dry-run", func() []string { return []string{"runs", "rm", "2026", "--dry-run"} }},
		{"servers-unknown-command", func() []string { return []string{"servers", "biuld", "java"} }},
		{"runs-export-nowhere", func() []string { return []string{"runs", "export", "latest"} }},
		{"runs-import-no-archive", func() []string { return []string{"runs", "import", write("runs.tar.gz", "no archive")} }},
		{"store-limit", func() []string { return []string{"run", "channels", "--store-limit", "1000"} }},
		{"run-no-arm", func() []string { return []string{"run", "channels", "--arms", ""} }},
		{"clean-context", func() []string {
			return []string{"clean", "--kubeconfig", write("kubeconfig", "kind: Config\n"), "--context", "nope"}
		}},
		{"allow-unknown", func() []string {
			return []string{"compare", "latest", "latest", "--gate", "p50 ratio < 2", "--allow", "bussy"}
		}},
		{"junit-to-standard-output", func() []string { return []string{"compare", "latest", "latest", "--junit", "-"} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := rpclab(t, c.args()...)
			if s.stdout != "" {
				t.Errorf("standard output is %q, want nothing", s.stdout)
			}
			text := strings.ReplaceAll(s.stderr, dir, "DIR")
			if at := strings.Index(text, "the store "); at >= 0 { // its directory is temporary
				text = text[:at] + "the store STORE" + text[at+strings.Index(text[at:], "/runs.db"):]
			}
			testkit.Golden(t, "wrong/"+c.name+".txt", fmt.Sprintf("%sexit code %d\n", text, s.code))
		})
	}
}

func TestPortInUse(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	s := rpclab(t, "server", "--listen", listener.Addr().String())
	text := strings.ReplaceAll(s.stderr, listener.Addr().String(), "ADDRESS")
	testkit.Golden(t, "wrong/port-in-use.txt", fmt.Sprintf("%sexit code %d\n", text, s.code))
}

func TestUnwritableStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	for _, err := range []error{os.Mkdir(data, 0o500), os.Chmod(dir, 0o755), os.Chmod(filepath.Dir(dir), 0o755)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	c := command(t, data, "run", "channels", "--quick")
	var stderr bytes.Buffer
	c.Stderr = &stderr
	withoutRoot(c)
	_ = c.Run()
	text := strings.ReplaceAll(stderr.String(), data, "DATA")
	testkit.Golden(t, "wrong/store-not-writable.txt", fmt.Sprintf("%sexit code %d\n", text, c.ProcessState.ExitCode()))
}

// withoutRoot runs a command of root as another user, because permissions do not apply to root.
func withoutRoot(c *exec.Cmd) {
	if os.Getuid() == 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
}

func TestAReadOnlyStoreIsListedReportedAndCompared(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	before, after := storeRun(t, data), storeRun(t, data)
	for path, mode := range map[string]os.FileMode{filepath.Dir(data): 0o755, data: 0o555, filepath.Join(data, "runs.db"): 0o444} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.Chmod(data, 0o755) }) // so that the directory can be removed
	for _, test := range []struct {
		args []string
		want []string // in the output
	}{
		{[]string{"runs"}, []string{before, after}},
		{[]string{"report", before}, []string{before}},
		{[]string{"compare", before, after}, []string{"p50"}},
	} {
		c := command(t, data, test.args...)
		withoutRoot(c)
		s, err := ran(c)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range test.want {
			if s.code != 0 || !strings.Contains(s.stdout, want) {
				t.Errorf("%v: exit code %d, want 0 and an output with %q:\n%s%s", test.args, s.code, want, s.stdout, s.stderr)
			}
		}
	}
	c := command(t, data, "run", "channels", "--quick")
	withoutRoot(c)
	if s, err := ran(c); err != nil || s.code == 0 || !strings.Contains(s.stderr, "no permission to write there") {
		t.Errorf("a run exits with code %d (%v), want an error, because it cannot be stored:\n%s", s.code, err, s.stderr)
	}
}

// TestHelp compares the help texts with golden files and requires lines of at most 80 columns.
func TestHelp(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"--help"}, {"run", "--help"}, {"load", "--help"}, {"init", "--help"}, {"list", "--help"}, {"runs", "--help"}, {"report", "--help"},
		{"compare", "--help"}, {"server", "--help"}, {"doctor", "--help"}, {"schema", "--help"}, {"list"},
		{"xds", "--help"}, {"gateway", "--help"}, {"lab", "up", "--help"}, {"lab", "up", "balancing", "--help"}, {"lab", "up", "channels", "--help"}, {"lab", "up", "chain", "--help"},
		{"lab", "up", "streams", "--help"}, {"lab", "up", "ladder", "--help"}, {"lab", "reset", "--help"},
		{"image", "build", "--help"}, {"clean", "--help"}, {"serve", "--help"},
		{"runs", "accept", "--help"}, {"runs", "rm", "--help"}, {"runs", "export", "--help"}, {"runs", "import", "--help"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			s := rpclab(t, args...)
			host, _ := os.Hostname()
			testkit.Golden(t, "help/"+strings.Join(args, "")+".txt", strings.ReplaceAll(s.stdout, `"`+host+`"`, `"HOST"`))
			for line := range strings.Lines(s.stdout) {
				if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 80 {
					t.Errorf("a line has %d columns, want at most 80: %s", n, line)
				}
			}
		})
	}
}

func TestListPrintsTheFileOfAnExperiment(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("../../experiments/channels.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if s := rpclab(t, "list", "channels"); s.code != 0 || s.stdout != string(want) {
		t.Errorf("exit code %d; it prints\n%s\nwant the file", s.code, s.stdout)
	}
	for want, args := range map[string][]string{`no built-in experiment "chanels"; did you mean "channels"?`: {"chanels"}, "accepts one experiment, but got 2": {"chain", "churn"}} {
		if s := rpclab(t, append([]string{"list"}, args...)...); s.code != 2 || !strings.Contains(s.stderr, want) {
			t.Errorf("list %v: exit code %d: %s; want 2 and %q", args, s.code, s.stderr, want)
		}
	}
}

func TestDoctor(t *testing.T) {
	t.Parallel()
	s := rpclab(t, "doctor", "--kubeconfig", filepath.Join(t.TempDir(), "none"))
	if s.code != 0 || strings.Count(s.stdout, "\n") < 4 || strings.Contains(s.stdout, "lacks") || !strings.Contains(s.stdout, "\nnote   kubernetes      not usable\n") {
		t.Errorf("exit code %d\n%s%s", s.code, s.stdout, s.stderr)
	}
}

func TestShellCompletion(t *testing.T) {
	t.Parallel()
	if s := rpclab(t, "completion", "bash"); s.code != 0 || !strings.Contains(s.stdout, "__start_rpclab") {
		t.Errorf("exit code %d: %.200s", s.code, s.stdout)
	}
	if s := rpclab(t, "__complete", "run", "ch"); !strings.Contains(s.stdout, "channels\n") {
		t.Errorf("run ch… completes to %q", s.stdout)
	}
}
