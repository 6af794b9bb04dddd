package workload

import (
	"net/http"
	"time"

	grpcprom "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"google.golang.org/grpc"
)

// Buckets are the histogram bounds of call durations in seconds, from 0.1 ms to 26 s.
var Buckets = prometheus.ExponentialBuckets(0.0001, 2, 19)

// metricsOptions returns server options that count calls, and starts serving metrics with further
// collectors until end. Without a listener for metrics it does nothing.
func (s *Server) metricsOptions(more ...prometheus.Collector) (options []grpc.ServerOption, end func()) {
	if s.Metrics == nil {
		return nil, func() {}
	}
	calls := grpcprom.NewServerMetrics(grpcprom.WithServerHandlingTimeHistogram(grpcprom.WithHistogramBuckets(Buckets)))
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(calls.UnaryServerInterceptor()), grpc.ChainStreamInterceptor(calls.StreamServerInterceptor()),
	}, s.serveMetrics(append(more, calls)...)
}

// serveMetrics serves collectors to Prometheus until end.
func (s *Server) serveMetrics(all ...prometheus.Collector) (end func()) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(append(all, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))...)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	server := &http.Server{Handler: s.requireToken(mux), ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(s.Metrics) // returns when closed
	}()
	return func() {
		_ = server.Close()
		<-ended
	}
}
