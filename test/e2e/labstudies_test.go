package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	studychain "rpclab/api/studies/chain"
	"rpclab/api/studies/chainrust"
	"rpclab/api/studies/chainstream"
	"rpclab/api/studies/ladder"
	"rpclab/internal/testkit"
)

// labUp starts `rpclab lab up` and returns when it has printed a table of so many rows. A write to input
// reaches its standard input.
func labUp(t *testing.T, rows int, args ...string) (lab *exec.Cmd, input io.Writer, table string) {
	t.Helper()
	lab = command(t, t.TempDir(), append([]string{"lab", "up"}, args...)...)
	lab.Stderr = os.Stderr
	out, err := lab.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if input, err = lab.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := lab.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = lab.Process.Kill()
		_ = lab.Wait()
	})
	lines := bufio.NewScanner(out)
	for range rows + 1 {
		if !lines.Scan() {
			t.Fatal("rpclab lab up ended before it printed its table")
		}
		table += lines.Text() + "\n"
	}
	return lab, input, table
}

// interrupt ends the lab as Ctrl-C does.
func interrupt(t *testing.T, lab *exec.Cmd) {
	t.Helper()
	if err := lab.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := lab.Wait(); err != nil {
		t.Errorf("Ctrl-C: %v", err)
	}
}

// studyBurst makes the request of the README of the channels study, and returns its answered calls by server.
func studyBurst(t *testing.T, port int, kind string, n int) (counts map[string]int, answered int) {
	t.Helper()
	var response struct {
		Time   float64
		Counts map[string]int `json:"count_per_ip"`
	}
	text := sh(t, "curl -fsS 'http://localhost:%d/?type=%s&n=%d'", port, kind, n)
	if err := json.Unmarshal([]byte(text), &response); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	for ip, calls := range response.Counts {
		if answered += calls; net.ParseIP(ip) == nil {
			t.Errorf("%s counts calls by %q, want an IP address", kind, ip)
		}
	}
	if response.Time < 500 {
		t.Errorf("%s answers %s, want calls that take at least 500 ms", kind, text)
	}
	return response.Counts, answered
}

func TestLabUpChannelsServesTheStudysCommands(t *testing.T) {
	t.Parallel()
	port := unusedPorts(t, 1)
	lab, input, table := labUp(t, 3, "channels", "--port", strconv.Itoa(port))
	if want := fmt.Sprintf("curl 'http://127.0.0.1:%d/?type=ClientWithReuseConn&n=1000'", port); !strings.Contains(table, want) {
		t.Errorf("the table does not show %s:\n%s", want, table)
	}
	for kind, servers := range map[string]int{"Client": 3, "ClientWithReuseConn": 1} {
		if counts, answered := studyBurst(t, port, kind, 60); len(counts) != servers || answered != 60 {
			t.Errorf("%s: the calls by server are %v, want 60 on %d servers", kind, counts, servers)
		}
	}
	// await waits until a resolver's calls reach so many servers, and returns their addresses.
	await := func(what string, servers int, none map[string]int) (counts map[string]int) {
		testkit.Await(t, what, func() bool {
			var answered int
			counts, answered = studyBurst(t, port, "ClientWithKubeResolver", 60)
			for ip := range none {
				answered -= counts[ip]
			}
			return len(counts) == servers && answered == 60
		})
		return counts
	}
	first := await("the resolver's channel is connected to every server", 3, nil)
	fmt.Fprintln(input, "scale 5")
	await("calls reach the added servers", 5, nil)
	fmt.Fprintln(input, "kill 3") // the oldest
	await("calls reach the replacements alone", 5, first)
	interrupt(t, lab)
}

func TestAGatewayWithoutAWatcherRefusesTheStudysResolver(t *testing.T) {
	t.Parallel()
	_, port := up(t, "clusterip,headless")
	out := sh(t, "curl -sS -w '%%{http_code}' 'http://127.0.0.1:%d/experiment/client?type=ClientWithKubeResolver&n=5'", port)
	if !strings.HasSuffix(out, "400") || !strings.Contains(out, "the route clusterip of this gateway has no watcher of endpoints") {
		t.Errorf("the gateway of clusterip answers %s", out)
	}
}

func plaintext(t *testing.T, port int) *grpc.ClientConn {
	t.Helper()
	channel, err := grpc.NewClient("passthrough:///127.0.0.1:"+strconv.Itoa(port), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { channel.Close() })
	return channel
}

// TestLabUpChainServesTheStudysClients makes the calls of the study's clients, each with the answer of the
// one before.
func TestLabUpChainServesTheStudysClients(t *testing.T) {
	t.Parallel()
	rest, port := unusedPorts(t, 1), unusedPorts(t, 1)
	lab, _, _ := labUp(t, 2, "chain", "--rest-port", strconv.Itoa(rest), "--port", strconv.Itoa(port))
	if got := sh(t, "curl -fsS http://localhost:%d/increase/41", rest); got != `{"number":42}` {
		t.Errorf("REST answers %s", got)
	}
	channel, calls := plaintext(t, port), int32(many(10_000, 300))
	simple, rust := studychain.NewSimplePythonPythonClient(channel), chainrust.NewPythonToRustSimpleServiceClient(channel)
	for n := int32(0); n < calls; n++ {
		reply, err := simple.Increase(t.Context(), &studychain.IncreaseRequest{Num: n})
		if err != nil || reply.Num != n+1 {
			t.Fatalf("increase %d: %v, %v", n, reply, err)
		}
		other, err := rust.Increase(t.Context(), &chainrust.IncreaseRequest{Num: n})
		if err != nil || other.Num != n+1 {
			t.Fatalf("increase %d of the service in Rust: %v, %v", n, other, err)
		}
	}
	stream, err := chainstream.NewTwoWayStreamPythonToPythonClient(channel).Increase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for n := range calls {
			_ = stream.Send(&chainstream.IncreaseRequest{Num: n})
		}
		_ = stream.CloseSend()
	}()
	for n := range calls {
		if reply, err := stream.Recv(); err != nil || reply.Num != n+1 {
			t.Fatalf("answer %d on the stream: %v, %v", n, reply, err)
		}
	}
	s := rpclab(t, "load", "--call", "python_to_python_simple.Simple_python_python/increase", "-d", `{"num": "{{.Number}}"}`, "-c", "1", "-n", "100",
		"--no-store", "--no-wait", "--assert", "errors == 0", "127.0.0.1:"+strconv.Itoa(port))
	if s.code != 0 {
		t.Errorf("rpclab load: exit code %d: %s", s.code, s.stderr)
	}
	interrupt(t, lab)
}

// k6Shim runs the script of the ladder as k6 does for one user of two iterations, and prints the requests.
const k6Shim = `
import { register } from 'node:module';
const shims = {
  'k6': "export const check = () => true; export const sleep = () => {};",
  'k6/http': "export default { post: (url, body) => { console.log(JSON.stringify({ url, body })); return { status: 200 }; } };",
  'k6/net/grpc': "class Client { load(_, path) { console.log(JSON.stringify({ load: path })); } connect() { console.log('{\"connect\": true}'); } close() { console.log('{\"close\": true}'); } invoke(method, order) { console.log(JSON.stringify({ method, order })); return { status: 0 }; } } export default { Client, StatusOK: 0 };",
};
const hooks = 'const shims = ' + JSON.stringify(shims) + "; export const resolve = (name, context, next) => name in shims ? { url: 'data:text/javascript,' + encodeURIComponent(shims[name]), shortCircuit: true } : next(name, context);";
register('data:text/javascript,' + encodeURIComponent(hooks));
globalThis.__ENV = process.env;
const script = await import('./ladder.mjs');
script.default();
script.default();
`

// runK6Script returns the requests of the script, one a line.
func runK6Script(t *testing.T, dir string, env ...string) []map[string]any {
	t.Helper()
	script, err := os.ReadFile(filepath.Join(dir, "ladder.js"))
	if err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	for name, text := range map[string][]byte{"ladder.mjs": script, "shim.mjs": []byte(k6Shim)} {
		if err := os.WriteFile(filepath.Join(work, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	node := exec.CommandContext(t.Context(), "node", "shim.mjs")
	node.Dir, node.Env = work, append(os.Environ(), env...)
	var stderr bytes.Buffer
	node.Stderr = &stderr
	out, err := node.Output()
	if err != nil {
		t.Fatalf("node: %v (install Node.js 20 or newer)\n%s", err, &stderr)
	}
	var requests []map[string]any
	for line := range strings.Lines(string(out)) {
		var request map[string]any
		if err := json.Unmarshal([]byte(line), &request); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		requests = append(requests, request)
	}
	return requests
}

var orderID = regexp.MustCompile(`"value":"([0-9a-f-]{36})"`)

func TestLabUpLadderServesTheStudysMessagesAndLoad(t *testing.T) {
	t.Parallel()
	rest, port, dir := unusedPorts(t, 1), unusedPorts(t, 1), filepath.Join(t.TempDir(), "k6")
	lab, _, _ := labUp(t, 2, "ladder", "--language", "go", "--cpus", "0", "--memory", "0", "--rest-port", strconv.Itoa(rest), "--port", strconv.Itoa(port), "--script", dir)
	answersTheStudysOrders(t, rest, port)
	if _, err := os.Stat(filepath.Join(dir, "order.proto")); err != nil {
		t.Error(err)
	}
	for _, published := range []bool{false, true} {
		articles, connections := 1000, 1
		env := []string{"PUBLISHED=0"}
		if published {
			articles, connections, env = 0, 2, []string{"PUBLISHED=1"}
		}
		requests := runK6Script(t, dir, append(env, "TARGET=127.0.0.1:"+strconv.Itoa(rest))...)
		body := requests[0]["body"].(string)
		file := filepath.Join(t.TempDir(), "order.json")
		if err := os.WriteFile(file, []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := sh(t, "curl -fsS -H 'content-type: application/json' -d @%s %s", file, requests[0]["url"]); !orderID.MatchString(got) || strings.Count(body, "unit_price") != articles {
			t.Errorf("published %t: an order of %d articles is answered %s, want %d articles", published, strings.Count(body, "unit_price"), got, articles)
		}
		opened := 0
		for _, request := range runK6Script(t, dir, append(env, "PROTOCOL=grpc")...) {
			if request["connect"] == true {
				opened++
			}
			if order, ok := request["order"].(map[string]any); ok && (len(order["articles"].([]any)) != articles || request["method"] != "rpclab.v1.OrderService/PlaceOrder") {
				t.Errorf("published %t: %v", published, request)
			}
		}
		if opened != connections {
			t.Errorf("published %t: a user opens %d connections for two calls, want %d", published, opened, connections)
		}
	}
	interrupt(t, lab)
}

func TestLabUpLadderCanBeRepeatedAfterItFailed(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	rest, dir := taken.Addr().(*net.TCPAddr).Port, filepath.Join(t.TempDir(), "k6")
	s := rpclab(t, "lab", "up", "ladder", "--language", "go", "--cpus", "0", "--memory", "0",
		"--rest-port", strconv.Itoa(rest), "--port", strconv.Itoa(unusedPorts(t, 1)), "--script", dir)
	if s.code != 3 || !strings.Contains(s.stderr, "cannot listen on") {
		t.Errorf("a port that is taken: exit code %d\n%s", s.code, s.stderr)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("a start that failed leaves its script, which keeps the same command from starting: %v", err)
	}
}

func TestLabUpLadderServesTheStudysMessagesInJava(t *testing.T) {
	t.Parallel()
	rest, port := unusedPorts(t, 1), unusedPorts(t, 1)
	lab, _, _ := labUp(t, 2, "ladder", "--cpus", "0", "--memory", "0", "--rest-port", strconv.Itoa(rest), "--port", strconv.Itoa(port))
	answersTheStudysOrders(t, rest, port)
	interrupt(t, lab)
}

func answersTheStudysOrders(t *testing.T, rest, port int) {
	t.Helper()
	began := time.Now()
	got := sh(t, `curl -fsS -H 'content-type: application/json' -d '{"customerId": "AAABBB", "createdAt": "2025-04-28T22:47:00+02:00", "paymentMethod": "CREDIT_CARD", "articles": [{"id": "0", "quantity": 1, "unitPrice": 10.5}]}' http://localhost:%d/orders`, rest)
	if took := time.Since(began); !orderID.MatchString(got) || took < 200*time.Millisecond {
		t.Errorf("POST /orders answers %s after %s, want a UUID after 200 ms", got, took)
	}
	order := &ladder.OrderRequest{CustomerId: "AAABBB", Articles: []*ladder.OrderedArticle{{Id: "0", Quantity: 1, UnitPrice: 10.5}}}
	if reply, err := ladder.NewOrderServiceClient(plaintext(t, port)).PlaceOrder(t.Context(), order); err != nil || uuid.Validate(reply.Id) != nil {
		t.Errorf("PlaceOrder: %v, %v", reply, err)
	}
}

// TestLabUpBalancingRunsInPython is the first scenario of the study.
func TestLabUpBalancingRunsInPython(t *testing.T) {
	t.Parallel()
	for _, scenario := range [][]string{{"--workers", "1", "--model", "one-thread"}, {"--model", "async"}} {
		lab, port := up(t, "clusterip,headless", append(scenario, "--language", "python")...)
		// Calls go to the servers that are connected, and the first calls begin when one is.
		testkit.Await(t, fmt.Sprintf("6 calls of the gateway of headless to 3 servers (%v)", scenario), func() bool {
			got := sh(t, "curl -fsS 'http://127.0.0.1:%d/fibonacci/random?iterations=6&fibo_start=800&fibo_end=10000'", port+1)
			if !strings.HasPrefix(got, "calls answered: 6 (headless-") {
				t.Errorf("%v: the gateway of headless answers %s, want 6 calls", scenario, got)
			}
			return strings.Count(got, "headless-") == 3
		})
		interrupt(t, lab)
	}
}
