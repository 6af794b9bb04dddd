package gateway

import (
	"context"
	"net/http"
	"strings"

	grpcprom "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"rpclab/internal/workload"
)

// meters count calls from one reset to the next.
type meters struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec      // of study 1
	standard grpc.UnaryClientInterceptor // the metrics that every gRPC client has
}

func newMeters(mode string) *meters {
	m := &meters{registry: prometheus.NewRegistry()}
	m.requests = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name:        "grpc_requests_total",
		Help:        "Calls answered, by who answered them.",
		ConstLabels: prometheus.Labels{"mode": mode},
	}, []string{"method", "server_name"})
	standard := grpcprom.NewClientMetrics(grpcprom.WithClientHandlingTimeHistogram(
		grpcprom.WithHistogramBuckets(workload.Buckets)))
	m.standard = standard.UnaryClientInterceptor()
	m.registry.MustRegister(m.requests, standard, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Reset sets every counter of calls to 0, for the next test.
func (g *Gateway) Reset() { g.meters.Store(newMeters(g.options.Mode)) }

func (g *Gateway) metrics(w http.ResponseWriter, r *http.Request) {
	promhttp.HandlerFor(g.meters.Load().registry, promhttp.HandlerOpts{}).ServeHTTP(w, r)
}

// count makes a call and counts it, in the meters that were there when it began.
func (g *Gateway) count(ctx context.Context, method string, request, reply any, channel *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	m := g.meters.Load()
	var trailer metadata.MD
	err := m.standard(ctx, method, request, reply, channel, invoke, append(options, grpc.Trailer(&trailer))...)
	if err == nil {
		method = method[strings.LastIndex(method, ".")+1:] // Fibonacci/Compute
		m.requests.WithLabelValues(method, strings.Join(trailer[workload.Trailer], "")).Inc()
	}
	return err
}
