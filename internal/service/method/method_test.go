package method_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/service/method"
	"rpclab/internal/service/request"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server starts a greeter and returns a channel to the greeter.
func server(t *testing.T, reflect func(*grpc.Server), options ...grpc.ServerOption) *grpc.ClientConn {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	grpcServer := grpc.NewServer(options...)
	rpclabv1.RegisterGreeterServer(grpcServer, rpclabv1.UnimplementedGreeterServer{})
	reflect(grpcServer)
	go func() { _ = grpcServer.Serve(listener) }()
	t.Cleanup(grpcServer.Stop)
	channel, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = channel.Close() })
	return channel
}

func v1(s *grpc.Server) { reflection.RegisterV1(s) }
func v1alpha(s *grpc.Server) {
	alpha.RegisterServerReflectionServer(s, reflection.NewServer(reflection.ServerOptions{Services: s}))
}

func sources(t *testing.T) map[string]method.Source {
	t.Helper()
	compiled, err := method.FromProto(t.Context(), []string{"../../../api/rpclab/v1/greeter.proto"}, []string{"../../../api"})
	if err != nil {
		t.Fatal(err)
	}
	alone, err := method.FromProto(t.Context(), []string{"../../../api/rpclab/v1/greeter.proto"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	set, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{
		protodesc.ToFileDescriptorProto(rpclabv1.File_rpclab_v1_greeter_proto),
	}})
	path := filepath.Join(t.TempDir(), "greeter.binpb")
	if err == nil {
		err = os.WriteFile(path, set, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	fromSet, err := method.FromSet(path)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]method.Source{
		"reflection v1":       method.FromServer(server(t, v1), nil),
		"reflection v1alpha":  method.FromServer(server(t, v1alpha), nil),
		"proto with imports":  compiled,
		"proto and no import": alone,
		"protoset":            fromSet,
	}
}

func TestEverySourceFindsTheMethod(t *testing.T) {
	for name, source := range sources(t) {
		for _, call := range []string{"rpclab.v1.Greeter/SayHello", "rpclab.v1.Greeter.SayHello", "/rpclab.v1.Greeter/SayHello"} {
			found, err := method.Find(t.Context(), source, call)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if method.Path(found) != rpclabv1.Greeter_SayHello_FullMethodName || found.Input().Fields().ByName("name") == nil {
				t.Errorf("%s: found %s with %v", name, method.Path(found), found.Input())
			}
		}
	}
}

func TestErrorsOfUnknownNamesSuggestASimilarName(t *testing.T) {
	for name, source := range sources(t) {
		for call, want := range map[string]string{
			"rpclab.v1.Greter/SayHello":  `no service "rpclab.v1.Greter"; did you mean "rpclab.v1.Greeter"?`,
			"rpclab.v1.Greeter/SayHallo": `no method "SayHallo" in rpclab.v1.Greeter; did you mean "SayHello"?`,
			"rpclab.v1.Greeter/Zap":      `no method "Zap" in rpclab.v1.Greeter; known names: SayHello, Greetings`,
			"SayHello":                   `"SayHello" is not a method: use the form package.Service/Method`,
		} {
			_, err := method.Find(t.Context(), source, call)
			if err == nil || err.Error() != want || !errors.Is(err, request.ErrInvalid) {
				t.Errorf("%s, %s: %v\nwant %s", name, call, err, want)
			}
		}
	}
}

func TestFindReturnsStreamingMethods(t *testing.T) {
	source := method.FromServer(server(t, v1), nil)
	m, err := method.Find(t.Context(), source, "grpc.reflection.v1.ServerReflection/ServerReflectionInfo")
	if err != nil || !m.IsStreamingClient() || !m.IsStreamingServer() {
		t.Errorf("the method is %v, %v; want one that streams in both directions", m, err)
	}
}

func TestAServerWithoutReflectionIsReportedWithAHint(t *testing.T) {
	_, err := method.Find(t.Context(), method.FromServer(server(t, func(*grpc.Server) {}), nil), "rpclab.v1.Greeter/SayHello")
	if err == nil || !strings.Contains(err.Error(), "--proto FILE") || errors.Is(err, request.ErrInvalid) {
		t.Errorf("the error is %v, want a hint to set --proto FILE", err)
	}
}

func TestASilentReflectionServiceIsReportedWithAHint(t *testing.T) {
	silent := grpc.StreamInterceptor(func(_ any, s grpc.ServerStream, _ *grpc.StreamServerInfo, _ grpc.StreamHandler) error {
		<-s.Context().Done()
		return s.Context().Err()
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := method.Find(ctx, method.FromServer(server(t, v1, silent), nil), "rpclab.v1.Greeter/SayHello")
	if want := "server reflection: no answer in time; describe the methods with --proto FILE or --protoset FILE"; err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
}

func TestAServerThatRefusesConnectionsIsNotSilent(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err = method.Find(ctx, method.FromServer(conn, nil), "rpclab.v1.Greeter/SayHello")
	if err == nil || !errors.Is(err, method.ErrNoAnswer) || !strings.Contains(err.Error(), "connection refused") || strings.Contains(err.Error(), "--proto") {
		t.Errorf("the error is %v, want that the connection is refused", err)
	}
}

// hostileReflection answers each question by a function.
type hostileReflection struct {
	reflectionv1.UnimplementedServerReflectionServer
	answer func(*reflectionv1.ServerReflectionRequest) (*reflectionv1.ServerReflectionResponse, error)
}

func (h hostileReflection) ServerReflectionInfo(stream reflectionv1.ServerReflection_ServerReflectionInfoServer) error {
	for {
		question, err := stream.Recv()
		if err != nil {
			return err
		}
		answer, err := h.answer(question)
		if err != nil {
			return err
		}
		if err := stream.Send(answer); err != nil {
			return err
		}
	}
}

func TestErrorsOfAHostileReflectionService(t *testing.T) {
	asked := 0
	// Each file imports another one, without end.
	endless := func(*reflectionv1.ServerReflectionRequest) (*reflectionv1.ServerReflectionResponse, error) {
		asked++
		file, err := proto.Marshal(&descriptorpb.FileDescriptorProto{
			Name: proto.String(strconv.Itoa(asked) + ".proto"), Dependency: []string{strconv.Itoa(asked+1) + ".proto"}, Package: proto.String(strings.Repeat("a", 3<<20)),
		})
		return &reflectionv1.ServerReflectionResponse{MessageResponse: &reflectionv1.ServerReflectionResponse_FileDescriptorResponse{
			FileDescriptorResponse: &reflectionv1.FileDescriptorResponse{FileDescriptorProto: [][]byte{file}},
		}}, err
	}
	cancelled := func(*reflectionv1.ServerReflectionRequest) (*reflectionv1.ServerReflectionResponse, error) {
		return nil, status.Error(codes.Canceled, "the upstream was reset")
	}
	for want, answer := range map[string]func(*reflectionv1.ServerReflectionRequest) (*reflectionv1.ServerReflectionResponse, error){
		"server reflection: the files have more than 67108864 bytes; describe the methods with --proto": endless,
		"server reflection: the upstream was reset (Canceled); send the metadata":                       cancelled,
	} {
		channel := server(t, func(s *grpc.Server) {
			reflectionv1.RegisterServerReflectionServer(s, hostileReflection{answer: answer})
		})
		_, err := method.Find(t.Context(), method.FromServer(channel, nil), "rpclab.v1.Greeter/SayHello")
		if err == nil || !strings.HasPrefix(err.Error(), want) || errors.Is(err, context.Canceled) {
			t.Errorf("the error is %v, want %s, and no interrupt", err, want)
		}
	}
	if asked > 30 {
		t.Errorf("the server was asked for %d files of 3 MiB, want at most 30", asked)
	}
}

func TestReflectionSendsTheMetadataOfTheLoad(t *testing.T) {
	guard := grpc.StreamInterceptor(func(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		if headers, _ := metadata.FromIncomingContext(stream.Context()); len(headers["token"]) == 0 {
			return status.Error(codes.Unauthenticated, "no token")
		}
		return next(srv, stream)
	})
	channel := server(t, v1, guard)
	const want = "server reflection: no token (Unauthenticated); send the metadata"
	if _, err := method.Find(t.Context(), method.FromServer(channel, nil), "rpclab.v1.Greeter/SayHello"); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("without the token the error is %v, want %s", err, want)
	}
	if _, err := method.Find(t.Context(), method.FromServer(channel, metadata.Pairs("token", "x")), "rpclab.v1.Greeter/SayHello"); err != nil {
		t.Errorf("with the token the error is %v, want none", err)
	}
}

func TestInvalidFilesAreReported(t *testing.T) {
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken.proto")
	if err := os.WriteFile(broken, []byte("syntax = \"proto3\";\nmessage {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := method.FromProto(t.Context(), []string{broken}, nil)
	if err == nil || !strings.Contains(err.Error(), "broken.proto:2:9") || !errors.Is(err, request.ErrInvalid) {
		t.Errorf("a file that does not compile: the error is %v, want one that names broken.proto:2:9", err)
	}
	lost := filepath.Join(dir, "lost.proto")
	if err := os.WriteFile(lost, []byte("syntax = \"proto3\";\nimport \"shop/orders.proto\";\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := method.FromProto(t.Context(), []string{lost}, nil); err == nil || !strings.HasSuffix(err.Error(), "; set --import-path to the directory of its imports") {
		t.Errorf("a missing import: the error is %v, want a hint to set --import-path", err)
	}
	for _, path := range []string{broken, filepath.Join(dir, "nowhere")} {
		if _, err := method.FromSet(path); err == nil || !errors.Is(err, request.ErrInvalid) {
			t.Errorf("%s is not a descriptor set: the error is %v, want %v", path, err, request.ErrInvalid)
		}
	}
}
