package workload

import (
	"net"
	"net/http"
	"time"

	grpcprom "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"google.golang.org/grpc"
)

// Buckets are the bounds of histograms of calls, in seconds: 0.1 ms to 26 s.
var Buckets = prometheus.ExponentialBuckets(0.0001, 2, 19)

// observed are the options of a server that counts its calls, with more beside, and the function that ends
// what shows them; without a place for its metrics it counts nothing.
func (s *Server) observed(more ...prometheus.Collector) (options []grpc.ServerOption, end func()) {
	if s.Metrics == nil {
		return nil, func() {}
	}
	calls := grpcprom.NewServerMetrics(grpcprom.WithServerHandlingTimeHistogram(grpcprom.WithHistogramBuckets(Buckets)))
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(calls.UnaryServerInterceptor()), grpc.ChainStreamInterceptor(calls.StreamServerInterceptor()),
	}, show(s.Metrics, append(more, calls)...)
}

// show answers Prometheus on a listener until end.
func show(listener net.Listener, all ...prometheus.Collector) (end func()) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(append(all, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))...)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener) // until it is closed
	}()
	return func() {
		_ = server.Close()
		<-ended
	}
}
