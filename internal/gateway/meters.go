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

// meters count calls from one reset to the next.
type meters struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec      // of study 1
	standard grpc.UnaryClientInterceptor // the metrics that every gRPC client has
}

func newMeters(mode string) *meters {
	m := &meters{registry: prometheus.NewRegistry()}
	m.requests = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name:        requestsTotal,
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

// Reset sets every counter of calls to 0, for the next test. The servers known so far
// stay, because Prometheus' rate() sees only what grows in a series that is there.
func (g *Gateway) Reset() {
	next := newMeters(g.options.Mode)
	if last := g.meters.Load(); last != nil {
		last.known(next.requests)
	}
	g.meters.Store(next)
}

// known makes the series of the requests so far in others, at 0.
func (m *meters) known(others *prometheus.CounterVec) {
	families, _ := m.registry.Gather() // what it has; a lack is of the process' own figures
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
