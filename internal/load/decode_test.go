package load

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"rpclab/internal/service/raw"
)

// serveInvalid serves testdata/streams.proto with messages that end within a string.
func serveInvalid(t *testing.T) (address string) {
	t.Helper()
	invalid := func(_ any, stream grpc.ServerStream) error {
		var size int
		if err := stream.RecvMsg(&size); err != nil {
			return err
		}
		return stream.SendMsg([]byte{0x0a, 5, 'x'})
	}
	server := grpc.NewServer(grpc.ForceServerCodecV2(raw.Codec{}))
	server.RegisterService(&grpc.ServiceDesc{ServiceName: "test.Streams", HandlerType: (*any)(nil), Streams: []grpc.StreamDesc{
		{StreamName: "Once", Handler: invalid}, {StreamName: "Repeat", Handler: invalid, ServerStreams: true},
	}}, nil)
	return serveGRPC(t, server)
}

func TestAResponseThatCannotBeDecodedIsAnError(t *testing.T) {
	address := serveInvalid(t)
	text := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		if r.Method == http.MethodHead || r.URL.Path == "/none" {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		_, _ = w.Write([]byte(`{"cut": "o`))
	}))
	t.Cleanup(text.Close)
	rest := validSettings()
	rest.Call, rest.HTTP, rest.Target, rest.Calls, rest.Data = "", http.MethodGet, text.URL, 20, ""
	head, none := rest, rest
	head.HTTP, none.Target = http.MethodHead, text.URL+"/none"
	for what, test := range map[string]struct {
		settings Settings
		want     string // in the first message; empty: no errors
	}{
		"gRPC":                      {streaming(address, "Once", 0, false), "the response is not a test.Note: "},
		"a stream":                  {streaming(address, "Repeat", 0, false), "the response is not a test.Note: "},
		"grpc-go":                   {withGRPCGo(streaming(address, "Once", 0, false)), "the response is not a test.Note: "},
		"a stream over grpc-go":     {withGRPCGo(streaming(address, "Repeat", 0, false)), "the response is not a test.Note: "},
		"REST":                      {rest, "the body is not JSON, but its content type is application/json"},
		"a response without a body": {none, ""},
		"HEAD":                      {head, ""},
	} {
		for _, noDecode := range []bool{false, true} {
			test.settings.NoDecode = noDecode
			a := run(t, test.settings).Arms[0]
			if wrong := a.Errors["INVALID_RESPONSE"]; test.want == "" || noDecode {
				if len(a.Errors) > 0 {
					t.Errorf("%s, --no-decode %v: errors %v %v, want none", what, noDecode, a.Errors, a.Samples)
				}
			} else if wrong != 20 || !strings.Contains(a.Samples["INVALID_RESPONSE"], test.want) {
				t.Errorf("%s: errors %v %v, want 20 of INVALID_RESPONSE: %s", what, a.Errors, a.Samples, test.want)
			}
		}
	}
}

func withGRPCGo(s Settings) Settings {
	s.Engine = GRPCGo
	return s
}
