package conformance

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"testing"
)

// TestLoadsOfEtcdCountItsCalls calls etcd's services KV, Lease and Watch. The keys of the calls differ, and a lease is
// kept alive by a message for each answer. A watch has no end: each call ends after its second answer, which has the
// earlier changes.
func TestLoadsOfEtcdCountItsCalls(t *testing.T) {
	t.Parallel()
	client, peer := free(t), free(t)
	start(t, client, otherServer(t, "etcd"), "--data-dir", t.TempDir(), "--log-level", "error", "--unsafe-no-fsync",
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
