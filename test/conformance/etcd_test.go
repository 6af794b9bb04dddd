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
	"strconv"
	"strings"
	"testing"
	"time"

	"rpclab/internal/process"
	"rpclab/internal/result/resulttest"
	"rpclab/internal/testkit"
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

// TestThreeMembersOfEtcdAreMeasuredAsTheyAre writes a service file for a cluster of three members that rpclab did not
// start, and compares how calls reach it.
func TestThreeMembersOfEtcdAreMeasuredAsTheyAre(t *testing.T) {
	t.Parallel()
	var clients, peers, cluster []string
	for i := range 3 {
		clients, peers = append(clients, free(t)), append(peers, free(t))
		cluster = append(cluster, fmt.Sprintf("member%d=http://%s", i, peers[i]))
	}
	member := func(i int) []string {
		return []string{testkit.Cached(t, "conformance", "etcd"), "--name", fmt.Sprintf("member%d", i), "--data-dir", t.TempDir(), "--log-level", "error", "--unsafe-no-fsync",
			"--listen-client-urls", "http://" + clients[i], "--advertise-client-urls", "http://" + clients[i],
			"--listen-peer-urls", "http://" + peers[i], "--initial-advertise-peer-urls", "http://" + peers[i], "--initial-cluster", strings.Join(cluster, ",")}
	}
	for i := range 2 { // which listen for clients once all members have started
		p, err := process.Start(process.Spec{Args: member(i)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Stop(5 * time.Second) })
	}
	start(t, clients[2], member(2)...)
	for _, client := range clients {
		testkit.AwaitFor(t, startWithin, "a member of etcd listens on "+client, func() bool {
			conn, err := net.DialTimeout("tcp", client, time.Second)
			if err == nil {
				conn.Close()
			}
			return err == nil
		})
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../examples/etcd")); err != nil {
		t.Fatal(err)
	}
	write := exec.Command(testkit.Rpclab(t), "init", strings.Join(clients, ","), "--proto", "kv.proto")
	write.Dir = dir
	draft, err := write.Output()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "etcd.yaml")
	if err := os.WriteFile(path, draft, 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "result.json")
	said, err := exec.Command(testkit.Rpclab(t), "run", "channels", "--quick", "--rounds", "4", "--arms", "shared,endpointslice",
		"--service", path, "--no-store", "--no-wait", "--json", out).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, said, draft)
	}
	text, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	for _, arm := range resulttest.Read(t, text).Arms {
		used := 0
		for _, n := range arm.Backends {
			if n > 0 {
				used++
			}
		}
		if want := map[string]int{"shared": 1, "endpointslice": 3}[arm.Name]; used < want || arm.Calls == 0 || arm.Failed() > 0 {
			t.Errorf("arm %s: %d calls to %v, errors %v; want calls to %d members or more without errors", arm.Name, arm.Calls, arm.Backends, arm.Samples, want)
		}
		if arm.Resources.Server.CPU != 0 {
			t.Errorf("arm %s: the members' CPU time is %v, want not known: rpclab did not start them", arm.Name, arm.Resources.Server.CPU)
		}
	}
}
