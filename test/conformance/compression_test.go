package conformance

import (
	"context"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/stats"

	rpclabv1 "rpclab/api/rpclab/v1"
	"rpclab/internal/language"
)

// encodings receives the encoding of each response.
type encodings chan string

func (encodings) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (encodings) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (encodings) HandleConn(context.Context, stats.ConnStats)                       {}

func (e encodings) HandleRPC(_ context.Context, event stats.RPCStats) {
	if header, ok := event.(*stats.InHeader); ok {
		e <- header.Compression
	}
}

// TestServersCompressResponsesToCompressedRequests makes a call with gzip and one without, both of a client that accepts gzip.
func TestServersCompressResponsesToCompressedRequests(t *testing.T) {
	eachServer(t, func(t *testing.T, m language.Model, command []string) {
		if m.REST {
			return
		}
		addr := free(t)
		start(t, addr, append(command, "--listen", addr, "--id", "b")...)
		seen := make(encodings, 1)
		channel, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithStatsHandler(seen))
		if err != nil {
			t.Fatal(err)
		}
		defer channel.Close()
		chain := rpclabv1.NewChainClient(channel)
		for _, compressor := range []string{"", gzip.Name} {
			var options []grpc.CallOption
			if compressor != "" {
				options = append(options, grpc.UseCompressor(compressor))
			}
			reply, err := chain.Increase(t.Context(), &rpclabv1.Number{Value: 1}, options...)
			if reply.GetValue() != 2 || err != nil {
				t.Fatalf("with the compressor %q the reply is %v, error %v", compressor, reply, err)
			}
			want := compressor
			if m.Name == "grpc-sync" || m.Name == "grpc-aio" { // grpcio does not tell a server how a request was encoded
				want = ""
			}
			if got := <-seen; got != want && (want != "" || got != "identity") {
				t.Errorf("a request with the compressor %q has a response with %q, want %q", compressor, got, want)
			}
		}
	})
}
