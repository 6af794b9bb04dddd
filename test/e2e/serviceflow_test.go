package e2e

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"

	rpclabv1 "rpclab/api/rpclab/v1"
)

// tokenServer answers a name with a token. It answers a request for a name with its token only, and for names that end
// in 0 never.
type tokenServer struct {
	rpclabv1.UnimplementedGreeterServer
}

func (tokenServer) SayHello(ctx context.Context, r *rpclabv1.HelloRequest) (*rpclabv1.HelloReply, error) {
	name, get := strings.CutPrefix(r.Name, "get ")
	md, _ := metadata.FromIncomingContext(ctx)
	switch {
	case !get:
		_ = grpc.SetHeader(ctx, metadata.Pairs("x-token", "token of "+name)) // not over HTTP
		_ = grpc.SetTrailer(ctx, metadata.Pairs("x-kind", "Bearer"))
		return &rpclabv1.HelloReply{Message: "token of " + name}, nil
	case strings.Join(md["authorization"], "") != "Bearer token of "+name:
		return nil, status.Errorf(codes.Unauthenticated, "%v is not the token of %s", md["authorization"], name)
	case strings.HasSuffix(name, "0"):
		return nil, status.Error(codes.PermissionDenied, "not you")
	}
	return &rpclabv1.HelloReply{}, nil
}

// ServeHTTP does the same over HTTP.
func (s tokenServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var login struct {
		Name string
	}
	_ = json.NewDecoder(r.Body).Decode(&login)
	if name, get := strings.CutPrefix(r.URL.Path, "/get/"); get {
		login.Name = "get " + name
	}
	ctx := metadata.NewIncomingContext(r.Context(), metadata.Pairs("authorization", r.Header.Get("Authorization")))
	reply, err := s.SayHello(ctx, &rpclabv1.HelloRequest{Name: login.Name})
	if err != nil {
		w.WriteHeader(map[codes.Code]int{codes.Unauthenticated: http.StatusUnauthorized, codes.PermissionDenied: http.StatusForbidden}[status.Code(err)])
		return
	}
	w.Header().Set("Content-Type", "application/json")
	http.SetCookie(w, &http.Cookie{Name: "token", Value: reply.Message, Path: "/"})
	_ = json.NewEncoder(w).Encode(map[string]any{"session": map[string]string{"token": reply.Message}})
}

// overGRPC and overHTTP are service files of the server at ADDRESS.
const (
	overGRPC = `service: over-grpc
server: {addresses: ["ADDRESS"]}
calls:
  log-in: {method: rpclab.v1.Greeter/SayHello, data: {name: "{{.Number}}"}}
  get:
    method: rpclab.v1.Greeter/SayHello
    from: {token: log_in.message}
    data: {name: "get {{.Number}}"}
    metadata: {authorization: "Bearer {{.token}}"}
`
	overHTTP = `service: over-http
server: {addresses: ["ADDRESS"]}
calls:
  log-in: {http: POST, path: /login, data: {Name: "{{.Number}}"}}
  get: {http: GET, path: "/get/{{.Number}}", from: {token: log_in.session.token}, metadata: {authorization: "Bearer {{.token}}"}}
`
)

// tokenServices starts the server over both protocols and returns their service files.
func tokenServices(t *testing.T) (grpcFile, httpFile string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	rpclabv1.RegisterGreeterServer(server, tokenServer{})
	reflection.Register(server)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	web := httptest.NewServer(tokenServer{})
	t.Cleanup(web.Close)
	write := func(name, text, address string) string {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(strings.Replace(text, "ADDRESS", address, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	return write("grpc.yaml", overGRPC, listener.Addr().String()), write("http.yaml", overHTTP, strings.TrimPrefix(web.URL, "http://"))
}

// The same values are in headers, trailers and a cookie.
func TestAFlowReadsHeadersAndTrailers(t *testing.T) {
	t.Parallel()
	grpcFile, httpFile := tokenServices(t)
	for file, changes := range map[string][]string{
		grpcFile: {"{token: log_in.message}", `{kind: 'trailers.log_in["x-kind"]', token: 'headers.log_in["x-token"]'}`, "Bearer {{.token}}", "{{.kind}} {{.token}}"},
		httpFile: {"{token: log_in.session.token}", `{token: 'headers.log_in["set-cookie"].split("\"")[1]'}`},
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(strings.NewReplacer(changes...).Replace(string(text))), 0o600); err != nil {
			t.Fatal(err)
		}
		args := []string{"--service", file, "--flow", "log-in,get", "-c", "2", "-n", "20"}
		if file == grpcFile {
			args = append(args, "--engine", "grpc-go") // HTTP requests have a caller of their own
		}
		d, _ := runLoad(t, args...)
		if a := d.Arms[0]; a.Calls != 20 || a.Failed() != 2 || a.ByName["get"].Answered != 18 {
			t.Errorf("%d flows with errors %v %v; want 2 that the server refuses", a.Calls, a.Errors, a.Samples)
		}
	}
}

// TestAFlowSendsTheTokenOfItsLogin makes flows of two calls over gRPC and over HTTP. A tenth fails at the second call.
func TestAFlowSendsTheTokenOfItsLogin(t *testing.T) {
	t.Parallel()
	grpcFile, httpFile := tokenServices(t)
	for file, code := range map[string]string{grpcFile: "PERMISSION_DENIED", httpFile: "HTTP_403"} {
		d, _ := document(t, "channels", "--quick", "--rounds", "1", "--no-wait", "--arms", "shared", "--set", "load.burst=20", "--service", file, "--flow", "log-in,get")
		a := arm(t, d, "shared")
		if login, get := a.ByName["log-in"], a.ByName["get"]; a.Calls != 20 || a.Errors[code] != 2 || login.Due != 20 || login.Answered != 20 || get.Due != 20 || get.Errors[code] != 2 {
			t.Errorf("%d flows with errors %v %v; %+v", a.Calls, a.Errors, a.Samples, a.ByName)
		}
		if !strings.HasPrefix(a.Samples[code], "step get: ") || len(a.Backends) != 1 {
			t.Errorf("samples %v, backends %v; want that of the step get, and one backend", a.Samples, a.Backends)
		}
	}
}

// The engine makes the same flows.
func TestALoadOfAFlowByTheEngine(t *testing.T) {
	t.Parallel()
	grpcFile, httpFile := tokenServices(t)
	for file, code := range map[string]string{grpcFile: "PERMISSION_DENIED", httpFile: "HTTP_403"} {
		d, _ := runLoad(t, "--service", file, "--flow", "log-in,get", "--engine", "wire", "-c", "2", "-n", "20")
		a := d.Arms[0]
		if kind := a.Config["caller"].(map[string]any)["kind"]; kind != "wire" || a.Calls != 20 || a.Errors[code] != 2 || a.ByName["get"].Answered != 18 {
			t.Errorf("the caller %v: %d flows with errors %v %v; want wire and 2 of %s", kind, a.Calls, a.Errors, a.Samples, code)
		}
	}
	if s := rpclab(t, "load", "--service", httpFile, "--call", "log-in", "--engine", "grpc-go"); s.code != 2 || !strings.Contains(s.stderr, "call log-in of the service over-http is REST, but the caller grpc-go speaks gRPC: set caller.kind to wire, http") {
		t.Errorf("HTTP requests by grpc-go: exit code %d\n%s", s.code, s.stderr)
	}
}

func TestWrongFlowsOfAService(t *testing.T) {
	t.Parallel()
	grpcFile, httpFile := tokenServices(t)
	wrong := func(file, old, changed string) string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		file = filepath.Join(t.TempDir(), "wrong.yaml")
		if err := os.WriteFile(file, []byte(strings.Replace(string(text), old, changed, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	for _, c := range []struct {
		file, flow, want string
		code             int
	}{
		{grpcFile, "--flow=log-in,got", `the service over-grpc has no call "got"; did you mean "get"?`, 2},
		{grpcFile, "--call=get", ":7:11: call get takes values from the answers of earlier calls, which only a flow has: set workload to flow: [OTHER, get] (rpclab run --flow OTHER,get), or remove from", 2},
		{grpcFile, "--flow=get,log-in", `from.token of call get: "log_in.message": column 1: undeclared reference to 'log_in' (in container ''); no call is before get in the flow`, 2},
		{wrong(httpFile, "token: log_in.session.token", "token: login.token"), "--flow=log-in,get", `from.token of call get: "login.token": column 1: undeclared reference to 'login' (in container ''); the answers before get in the flow are log_in`, 2},
		{wrong(httpFile, "Bearer {{.token}}", "Bearer {{.tokn}}"), "--flow=log-in,get", `metadata authorization: 1:9: {{.tokn}}: the call has .Number, and .token by its from`, 2},
		{wrong(grpcFile, "log_in.message", "log_in.mesage"), "--flow=log-in,get", `from.token of call get: "log_in.mesage": column 7: undefined field 'mesage'; the answers before get in the flow are log_in`, 2},
	} {
		s := rpclab(t, "run", "channels", "--quick", "--rounds", "1", "--no-wait", "--no-store", "--arms", "shared", "--set", "load.burst=20", "--service", c.file, c.flow)
		if s.code != c.code || !strings.Contains(s.stderr, c.want) {
			t.Errorf("%s: exit code %d\n%s\nwant %d and %s", c.flow, s.code, s.stderr, c.code, c.want)
		}
	}
}
