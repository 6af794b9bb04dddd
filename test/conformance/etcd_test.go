package conformance

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"rpclab/internal/process"
	"rpclab/internal/result"
	"rpclab/internal/testkit"
	"rpclab/internal/testkit/pages"
)

// TestLoadsOfEtcdCountItsCalls calls etcd's services KV, Lease and Watch. The keys of the calls differ, and a lease is
// kept alive by a message for each answer. A watch has no end: each call ends after its second answer, which has the
// earlier changes.
func TestLoadsOfEtcdCountItsCalls(t *testing.T) {
	t.Parallel()
	client, peer := free(t), free(t)
	start(t, client, testkit.Cached(t, "conformance", "etcd"), "--data-dir", t.TempDir(), "--log-level", "error", "--unsafe-no-fsync",
		"--listen-client-urls", "http://"+client, "--advertise-client-urls", "http://"+client,
		"--listen-peer-urls", "http://"+peer, "--initial-advertise-peer-urls", "http://"+peer, "--initial-cluster", "default=http://"+peer)
	for _, engine := range []string{"wire", "grpc-go"} {
		for _, c := range []struct {
			method, data string
			args         []string
			answers      int64
		}{
			{"KV/Put", `{"key": "{{printf "%08d" .Number}}", "value": "dmFsdWU="}`, nil, 0},
			{"KV/Range", `{"key": "a2V5"}`, nil, 0},
			{"Lease/LeaseGrant", `{"TTL": 600}`, nil, 0},
			{"Lease/LeaseKeepAlive", `{"ID": 7}`, []string{"--messages", "5", "--ping-pong"}, 5},
			{"Watch/Watch", `{"create_request": {"key": "AA==", "range_end": "AA==", "start_revision": 1}}`, []string{"--stream-messages", "2"}, 2},
		} {
			what := fmt.Sprintf("%s with %s", c.method, engine)
			before := countedByEtcd(t, client, c.method)
			args := append([]string{"--proto", "testdata/etcd.proto", "--call", "etcdserverpb." + c.method, "-d", c.data,
				"--calls", fmt.Sprint(loadCalls), "--concurrency", "4", "--engine", engine}, c.args...)
			arm := runLoad(t, append(args, client)...)
			if arm.Calls != loadCalls || len(arm.Errors) > 0 || answersOf(t, arm) != c.answers*loadCalls {
				t.Errorf("%s: %d calls, errors %v, %d answers; want %d calls without errors and %d answers", what, arm.Calls, arm.Samples, answersOf(t, arm), loadCalls, c.answers*loadCalls)
			}
			if counted := countedByEtcd(t, client, c.method) - before; counted != loadCalls {
				t.Errorf("%s: etcd counts %d calls, want %d", what, counted, loadCalls)
			}
		}
	}
}

var etcdCount = regexp.MustCompile(`(?m)^grpc_server_(handled|started)_total\{(?:grpc_code="OK",)?grpc_method="(\w+)",grpc_service="etcdserverpb\.(\w+)",[^}]*\} (\d+)$`)

// countedByEtcd returns how many calls of a method etcd has answered with OK, or has started if the client ends them.
func countedByEtcd(t *testing.T, client, method string) int {
	t.Helper()
	event := "handled"
	if method == "Watch/Watch" {
		event = "started"
	}
	answer, err := http.Get("http://" + client + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	http.DefaultClient.CloseIdleConnections()
	for _, line := range etcdCount.FindAllStringSubmatch(string(text), -1) {
		if line[1] == event && line[3]+"/"+line[2] == method {
			n, _ := strconv.Atoi(line[4]) // digits
			return n
		}
	}
	return 0
}

// TestThreeMembersOfEtcdAreMeasuredAsTheyAre executes the example in docs/your-service.md: it writes a service file for a
// cluster of three members that rpclab did not start, and compares how calls reach it.
func TestThreeMembersOfEtcdAreMeasuredAsTheyAre(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string]string{"examples": filepath.Join(root, "examples"), "etcd": testkit.Cached(t, "conformance", "etcd"), "rpclab": testkit.Rpclab(t)} {
		if err := os.Symlink(file, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "RPCLAB_DATA_DIR=" + t.TempDir()}
	ports, addresses := freeForMembers(t)
	atFreePorts := strings.NewReplacer("127.0.0.1:2379", addresses[0], "127.0.0.1:22379", addresses[1], "127.0.0.1:32379", addresses[2])
	said := ""
	for _, b := range pages.TestedBy(t, "../../docs/your-service.md") {
		text := atFreePorts.Replace(b.Text)
		switch {
		case b.Language == "yaml":
			draft, err := os.ReadFile(filepath.Join(dir, "etcd.yaml"))
			if without := regexp.MustCompile(`(?m)^ *#.*\n`).ReplaceAllString(string(draft), ""); err != nil || without != text {
				t.Errorf("rpclab init wrote, %v\n%s\nwant, as the page has it\n%s", err, without, text)
			}
		case b.Language == "text":
			if want, _, _ := strings.Cut(text, "\n"); !strings.HasPrefix(said, want+"\n") {
				t.Errorf("the report is\n%s\nwant that it begins with %q", said, want)
			}
		case strings.Contains(text, "members.sh"):
			startMembers(t, process.Spec{Args: append(strings.Fields(text), ports...), Dir: dir, Env: env}, addresses)
		default:
			if strings.HasPrefix(text, "rpclab run ") {
				text = strings.TrimSpace(text) + " --no-wait --json result.json"
			}
			c := exec.Command("sh", "-c", text)
			c.Dir, c.Env = dir, append(os.Environ(), env...)
			var problems strings.Builder
			c.Stderr = &problems
			out, err := c.Output()
			if err != nil {
				t.Fatalf("%s: %v\n%s%s", text, err, out, problems.String())
			}
			said = string(out)
		}
	}
	d := readResult(t, filepath.Join(dir, "result.json"))
	for _, arm := range d.Arms {
		used := 0
		for _, n := range arm.Backends {
			if n > 0 {
				used++
			}
		}
		if want := map[string]int{"new-channel": 3, "shared": 1, "endpointslice": 3, "pool": 3}[arm.Name]; used < want || arm.Calls == 0 || arm.Failed() > 0 {
			t.Errorf("arm %s: %d calls to %v, errors %v; want calls to %d members or more without errors", arm.Name, arm.Calls, arm.Backends, arm.Samples, want)
		}
		if arm.Resources.Server.CPU != 0 {
			t.Errorf("arm %s: the members' CPU time is %v, want not known: rpclab did not start them", arm.Name, arm.Resources.Server.CPU)
		}
	}
	if !slices.ContainsFunc(d.Verdicts, func(v result.Verdict) bool {
		return v.Metric == "latency_p50" && v.A == "new-channel" && v.B == "shared" && v.Ratio > 1.5 // decided on a machine without other tests
	}) {
		t.Errorf("the verdicts are %+v, want that new-channel is slower than shared, as the page says", d.Verdicts)
	}
}

// freeForMembers returns ports for the clients of three members of etcd, and the addresses with these ports. The port after
// each is free, too.
func freeForMembers(t *testing.T) (ports, addresses []string) {
	t.Helper()
	for len(ports) < 3 {
		address := free(t)
		_, port, _ := net.SplitHostPort(address)
		n, _ := strconv.Atoi(port) // digits
		if _, taken := given.LoadOrStore(n+1, true); taken {
			continue
		}
		next, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", n+1))
		if err != nil {
			continue
		}
		next.Close()
		ports, addresses = append(ports, port), append(addresses, address)
	}
	return ports, addresses
}

// startMembers starts the members of etcd, and returns when all of them listen.
func startMembers(t *testing.T, members process.Spec, addresses []string) {
	t.Helper()
	members.HasChildren = true
	p, err := process.Start(members)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Stop(5 * time.Second)
		if t.Failed() {
			t.Logf("the last lines of the members of etcd:\n%s", p.Log())
		}
	})
	for _, address := range addresses {
		testkit.AwaitFor(t, startWithin, "a member of etcd listens on "+address, func() bool {
			conn, err := net.DialTimeout("tcp", address, time.Second)
			return err == nil && conn.Close() == nil
		})
	}
}
