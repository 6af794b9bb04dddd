package load

import (
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	rpclabv1 "rpclab/api/rpclab/v1"
)

// serveLarge serves testdata/streams.proto's Repeat: a header of 100 kB and a message of 6 MB, and a
// status that gRPC does not define to a request named strange.
func serveLarge(t *testing.T) string {
	t.Helper()
	large := func(_ any, stream grpc.ServerStream) error {
		note := &rpclabv1.HelloRequest{}
		if err := stream.RecvMsg(note); err != nil {
			return err
		}
		if note.Name == "strange" {
			return status.Error(codes.Code(4242), "new")
		}
		if err := stream.SetHeader(metadata.Pairs("x-large", strings.Repeat("x", 100_000))); err != nil {
			return err
		}
		if note.Name == "large" {
			note.Name = strings.Repeat("x", 6_000_000)
		}
		return stream.SendMsg(note)
	}
	server := grpc.NewServer()
	server.RegisterService(&grpc.ServiceDesc{ServiceName: "test.Streams", HandlerType: (*any)(nil), Streams: []grpc.StreamDesc{
		{StreamName: "Repeat", Handler: large, ServerStreams: true},
		{StreamName: "Once", Handler: large},
	}}, nil)
	return serveGRPC(t, server)
}

func TestLimitsOfResponses(t *testing.T) {
	address := serveLarge(t)
	for what, test := range map[string]struct {
		name   string
		limits ResponseLimits
		want   string // code; empty: answered
		says   string
	}{
		"a header list of 100 kB": {"n", ResponseLimits{}, "", ""},
		"over --max-header-list":  {"n", ResponseLimits{MaxHeaderList: 50_000}, "INTERNAL", ""}, // grpc-go's server keeps to the limit that the client announces
		"a message of 6 MB":       {"large", ResponseLimits{}, "RESOURCE_EXHAUSTED", ""},
		"under --max-message":     {"large", ResponseLimits{MaxMessage: 7_000_000}, "", ""},
		"a status of its own":     {"strange", ResponseLimits{}, "CODE_4242", "new"},
	} {
		for _, engine := range []string{Wire, GRPCGo} {
			s := streaming(address, "Once", 0, false)
			s.Engine, s.Calls, s.Concurrency, s.Data, s.ResponseLimits = engine, 2, 1, `{"name": "`+test.name+`"}`, test.limits
			a := run(t, s).Arms[0]
			switch {
			case test.want == "" && len(a.Errors) == 0:
			case a.Errors[test.want] == 2 && strings.Contains(a.Samples[test.want], test.says):
			default:
				t.Errorf("%s, %s: errors %v %.300v, want %q %q", engine, what, a.Errors, a.Samples, test.want, test.says)
			}
		}
	}
}
