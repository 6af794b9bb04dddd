package otlp

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"rpclab/internal/telemetry"
)

// signal is a kind of telemetry: its name, its path over HTTP and its method over gRPC.
type signal struct{ name, path, method string }

var (
	spansSignal   = signal{"spans", "/v1/traces", "/opentelemetry.proto.collector.trace.v1.TraceService/Export"}
	metricsSignal = signal{"metrics", "/v1/metrics", "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"}
)

// sender sends requests to a receiver.
type sender interface {
	send(ctx context.Context, s signal, request, response proto.Message) error
	close()
}

func newSender(o Options, version string) (sender, error) {
	if o.grpc {
		return newGRPCSender(o, version)
	}
	header := o.header.Clone()
	header.Set("Content-Type", "application/x-protobuf")
	header.Set("User-Agent", "rpclab/"+version)
	return &httpSender{o.url, header, telemetry.NewClient(o.tls)}, nil
}

// httpSender sends over HTTP (opentelemetry.io/docs/specs/otlp: "OTLP/HTTP").
type httpSender struct {
	base   *url.URL
	header http.Header
	client *http.Client
}

func (s *httpSender) send(ctx context.Context, to signal, request, response proto.Message) error {
	body, err := proto.Marshal(request)
	if err != nil {
		return err
	}
	address := *s.base
	address.Path = strings.TrimSuffix(address.Path, "/") + to.path
	text, err := telemetry.Post(ctx, s.client, address.String(), s.header, body)
	if err != nil {
		return err
	}
	return proto.Unmarshal(text, response)
}

func (s *httpSender) close() { s.client.CloseIdleConnections() }

// grpcSender sends over gRPC.
type grpcSender struct {
	connection *grpc.ClientConn
	metadata   metadata.MD
}

func newGRPCSender(o Options, version string) (*grpcSender, error) {
	secure := insecure.NewCredentials()
	if o.tls != nil {
		secure = credentials.NewTLS(o.tls)
	}
	connection, err := grpc.NewClient(o.url.Host, grpc.WithTransportCredentials(secure), grpc.WithUserAgent("rpclab/"+version))
	if err != nil {
		return nil, err
	}
	s := &grpcSender{connection, metadata.MD{}}
	for name, values := range o.header {
		s.metadata.Append(name, values...)
	}
	return s, nil
}

func (s *grpcSender) send(ctx context.Context, to signal, request, response proto.Message) error {
	err := s.connection.Invoke(metadata.NewOutgoingContext(ctx, s.metadata), to.method, request, response)
	if isTemporary(err) {
		return telemetry.Temporary{Reason: err}
	}
	return err
}

// isTemporary reports whether OTLP lets a client repeat the request (opentelemetry.io/docs/specs/otlp: "Failures"). A
// receiver of which a resource is exhausted must say that it recovers: a request that is too large has that code too.
func isTemporary(err error) bool {
	switch status.Code(err) {
	case codes.Canceled, codes.DeadlineExceeded, codes.Aborted, codes.OutOfRange, codes.Unavailable, codes.DataLoss:
		return true
	case codes.ResourceExhausted:
		return slices.ContainsFunc(status.Convert(err).Details(), func(detail any) bool { _, ok := detail.(*errdetails.RetryInfo); return ok })
	}
	return false
}

func (s *grpcSender) close() { _ = s.connection.Close() }
