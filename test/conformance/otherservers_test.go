package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/result"
	"rpclab/internal/result/resulttest"
	"rpclab/internal/testkit"
	"rpclab/internal/tool"
)

// note is a message of testdata/streams.proto: both have one field.
type note = rpclabv1.HelloRequest

// loadCalls is the number of calls of each load.
const loadCalls = 60

// kinds are the four kinds of calls of testdata/streams.proto, and how many answers a call gets.
var kinds = []struct {
	method  string
	args    []string
	answers int64 // 0: unary
}{
	{"Once", nil, 0},
	{"Repeat", nil, 3},
	{"Join", []string{"--messages", "5"}, 1},
	{"Echo", []string{"--messages", "5"}, 5},
}

// TestLoadsOfOtherServersCountTheirCalls makes all four kinds of calls with both engines to servers of other gRPC
// implementations. Each server must have counted as many calls as the load.
func TestLoadsOfOtherServersCountTheirCalls(t *testing.T) {
	for name, serve := range map[string]func(*testing.T) (target string, flags []string){
		"grpc-js":            nodeServer,
		"grpclib":            pythonServer,
		"connect-go":         connectServer,
		"a Unix socket":      socketServer,
		"nginx, server_name": virtualHost,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target, flags := serve(t)
			for _, kind := range kinds {
				for _, engine := range []string{"wire", "grpc-go"} {
					what := fmt.Sprintf("%s %v with %s", kind.method, kind.args, engine)
					before := callsOf(t, target, flags)[kind.method]
					args := append([]string{"--proto", "testdata/streams.proto", "--call", "test.Streams/" + kind.method, "-d", `{"name": "n"}`,
						"--calls", fmt.Sprint(loadCalls), "--concurrency", "4", "--connections", "2", "--engine", engine}, kind.args...)
					arm := runLoad(t, append(append(args, flags...), target)...)
					if arm.Calls != loadCalls || len(arm.Errors) > 0 {
						t.Errorf("%s: %d calls, errors %v; want %d calls without errors", what, arm.Calls, arm.Samples, loadCalls)
					}
					if counted := callsOf(t, target, flags)[kind.method] - before; counted != loadCalls {
						t.Errorf("%s: the server counts %d calls, want %d", what, counted, loadCalls)
					}
					if got := answersOf(t, arm); got != kind.answers*loadCalls {
						t.Errorf("%s: %d answers, want %d", what, got, kind.answers*loadCalls)
					}
				}
			}
		})
	}
}

// TestAServiceFileHasAllKindsOfCalls calls a server in Node by a service file, as a load and so with a caller.
func TestAServiceFileHasAllKindsOfCalls(t *testing.T) {
	t.Parallel()
	target, _ := nodeServer(t)
	proto, err := filepath.Abs("testdata/streams.proto")
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("service: streams\nserver: {addresses: [%q]}\nproto: [%q]\ncalls:\n", target, proto)
	for _, kind := range kinds {
		text += fmt.Sprintf("  %s: {method: test.Streams/%s, data: {name: n}", strings.ToLower(kind.method), kind.method)
		if len(kind.args) > 0 {
			text += ", stream: {requests: 5}"
		}
		text += "}\n"
	}
	file := filepath.Join(t.TempDir(), "streams.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, kind := range kinds {
		for _, engine := range []string{"wire", "grpc-go"} {
			before := callsOf(t, target, nil)[kind.method]
			arm := runLoad(t, "--service", file, "--call", strings.ToLower(kind.method), "--calls", fmt.Sprint(loadCalls), "--concurrency", "4", "--engine", engine)
			if arm.Calls != loadCalls || len(arm.Errors) > 0 {
				t.Errorf("%s with %s: %d calls, errors %v; want %d calls without errors", kind.method, engine, arm.Calls, arm.Samples, loadCalls)
			}
			if counted := callsOf(t, target, nil)[kind.method] - before; counted != loadCalls {
				t.Errorf("%s with %s: the server counts %d calls, want %d", kind.method, engine, counted, loadCalls)
			}
			if got := answersOf(t, arm); got != kind.answers*loadCalls {
				t.Errorf("%s with %s: %d answers, want %d", kind.method, engine, got, kind.answers*loadCalls)
			}
		}
	}
}

// runLoad runs rpclab load and returns its arm.
func runLoad(t *testing.T, args ...string) result.Arm {
	t.Helper()
	command := exec.CommandContext(t.Context(), testkit.Rpclab(t), append([]string{"load", "--no-store", "--json", "-"}, args...)...)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		t.Fatalf("rpclab load %s: %v\n%s", strings.Join(args, " "), err, &stderr)
	}
	return resulttest.Read(t, &stdout).Arms[0]
}

// answersOf returns the number of answers on the streams of an arm.
func answersOf(t *testing.T, arm result.Arm) int64 {
	t.Helper()
	if arm.Messages == nil {
		return 0
	}
	times, err := arm.Messages.Decode()
	if err != nil {
		t.Fatal(err)
	}
	return times.TotalCount()
}

// callsOf asks a server how many calls of each method it has had.
func callsOf(t *testing.T, target string, flags []string) map[string]int {
	t.Helper()
	options := []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}
	if len(flags) == 2 && flags[0] == "--authority" {
		options = append(options, grpc.WithAuthority(flags[1]))
	}
	channel, err := grpc.NewClient(target, options...)
	if err != nil {
		t.Fatal(err)
	}
	defer channel.Close()
	answer := new(note)
	if err := channel.Invoke(t.Context(), "/test.Streams/Calls", new(note), answer, grpc.WaitForReady(true)); err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for text := range strings.FieldsSeq(answer.Name) {
		method, count, _ := strings.Cut(text, "=")
		if counts[method], err = strconv.Atoi(count); err != nil {
			t.Fatalf("the server answers %q: %v", answer.Name, err)
		}
	}
	return counts
}

func nodeServer(t *testing.T) (target string, flags []string) {
	addr := free(t)
	start(t, addr, "env", "NODE_PATH="+filepath.Join(testkit.Cached(t, "conformance", "node"), "node_modules"), "node", "servers/node/server.js", addr)
	return addr, nil
}

func pythonServer(t *testing.T) (target string, flags []string) {
	addr := free(t)
	start(t, addr, "env", "PYTHONPATH="+testkit.Cached(t, "conformance", "python"), "PYTHONDONTWRITEBYTECODE=1", "python3", "servers/python/server.py", addr)
	return addr, nil
}

func connectServer(t *testing.T) (target string, flags []string) {
	addr := free(t)
	start(t, addr, testkit.Cached(t, "conformance", "connect"), addr)
	return addr, nil
}

func socketServer(t *testing.T) (target string, flags []string) {
	dir, err := os.MkdirTemp("", "rpclab-") // the path of a socket has 108 bytes at most
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "streams.sock")
	serveStreams(t, "unix", path)
	return "unix://" + path, nil
}

// virtualHost is a server behind nginx, which has another server for other names.
func virtualHost(t *testing.T) (target string, flags []string) {
	p := proxy{Listen: free(t), Backends: []string{serveStreams(t, "tcp", "127.0.0.1:0")}, Dir: t.TempDir()}
	start(t, p.Listen, installed(t, tool.Nginx), "-p", p.Dir, "-c", p.configured(t, "nginx-names.conf"), "-e", "stderr")
	if arm := runLoad(t, "--proto", "testdata/streams.proto", "--call", "test.Streams/Once", "--calls", "5", p.Listen); arm.Errors["UNIMPLEMENTED"] != 5 {
		t.Errorf("calls without the name of the server have the errors %v, want 5 UNIMPLEMENTED", arm.Errors)
	}
	return p.Listen, []string{"--authority", "streams.example"}
}

// serveStreams serves testdata/streams.proto with grpc-go until the test ends.
func serveStreams(t *testing.T, network, address string) string {
	t.Helper()
	listener, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	counts := map[string]int{}
	count := func(method string) {
		mu.Lock()
		defer mu.Unlock()
		counts[method]++
	}
	// answerEach answers each message a number of times, and the end of the stream with the number of messages.
	answerEach := func(method string, times int) grpc.StreamHandler {
		return func(_ any, stream grpc.ServerStream) error {
			count(method)
			for n := 0; ; n++ {
				message := new(note)
				err := stream.RecvMsg(message)
				switch {
				case errors.Is(err, io.EOF) && times == 0:
					return stream.SendMsg(&note{Name: fmt.Sprint(n)})
				case errors.Is(err, io.EOF):
					return nil
				case err != nil:
					return err
				}
				for range times {
					if err := stream.SendMsg(message); err != nil {
						return err
					}
				}
			}
		}
	}
	unary := func(name string, answer func(*note) *note) grpc.MethodDesc {
		return grpc.MethodDesc{MethodName: name, Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			message := new(note)
			if err := decode(message); err != nil {
				return nil, err
			}
			return answer(message), nil
		}}
	}
	server := grpc.NewServer()
	server.RegisterService(&grpc.ServiceDesc{ServiceName: "test.Streams", HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{
		unary("Once", func(message *note) *note { count("Once"); return message }),
		unary("Calls", func(*note) *note {
			mu.Lock()
			defer mu.Unlock()
			var text strings.Builder
			for method, n := range counts {
				fmt.Fprintf(&text, "%s=%d ", method, n)
			}
			return &note{Name: text.String()}
		}),
	}, Streams: []grpc.StreamDesc{
		{StreamName: "Echo", Handler: answerEach("Echo", 1), ServerStreams: true, ClientStreams: true},
		{StreamName: "Repeat", Handler: answerEach("Repeat", 3), ServerStreams: true},
		{StreamName: "Join", Handler: answerEach("Join", 0), ClientStreams: true},
	}}, nil)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}
