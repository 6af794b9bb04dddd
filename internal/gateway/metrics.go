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

const requestsTotal = "grpc_requests_total"

// callCounters count calls between two resets.
type callCounters struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec      // grpc_requests_total
	standard grpc.UnaryClientInterceptor // standard metrics of a gRPC client
}

func newCallCounters(mode string) *callCounters {
	m := &callCounters{registry: prometheus.NewRegistry()}
	m.requests = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name:        requestsTotal,
		Help:        "Calls answered, by method and server.",
		ConstLabels: prometheus.Labels{"mode": mode},
	}, []string{"method", "server_name"})
	standard := grpcprom.NewClientMetrics(grpcprom.WithClientHandlingTimeHistogram(
		grpcprom.WithHistogramBuckets(workload.Buckets)))
	m.standard = standard.UnaryClientInterceptor()
	m.registry.MustRegister(m.requests, standard, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Reset sets all counters of calls to 0 for the next test. Known series stay, because
// Prometheus' rate() ignores the first value of a new series.
func (g *Gateway) Reset() {
	next := newCallCounters(g.options.Mode)
	if last := g.counters.Load(); last != nil {
		last.copySeries(next.requests)
	}
	g.counters.Store(next)
}

// copySeries creates the known series of requests in another vector, at 0.
func (m *callCounters) copySeries(others *prometheus.CounterVec) {
	families, _ := m.registry.Gather() // an error concerns only the process metrics
	for _, family := range families {
		if family.GetName() != requestsTotal {
			continue
		}
		for _, series := range family.Metric {
			labels := prometheus.Labels{}
			for _, l := range series.Label {
				labels[l.GetName()] = l.GetValue()
			}
			others.WithLabelValues(labels["method"], labels["server_name"])
		}
	}
}

func (g *Gateway) metrics(w http.ResponseWriter, r *http.Request) {
	promhttp.HandlerFor(g.counters.Load().registry, promhttp.HandlerOpts{}).ServeHTTP(w, r)
}

// count makes a call and counts it in the counters that were current when it began.
func (g *Gateway) count(ctx context.Context, method string, request, reply any, channel *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	m := g.counters.Load()
	var trailer metadata.MD
	err := m.standard(ctx, method, request, reply, channel, invoke, append(options, grpc.Trailer(&trailer))...)
	if err == nil {
		method = method[strings.LastIndex(method, ".")+1:] // Fibonacci/Compute
		m.requests.WithLabelValues(method, strings.Join(trailer[workload.BackendTrailer], "")).Inc()
	}
	return err
}
