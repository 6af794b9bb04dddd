package gateway

import (
	grpcprom "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"rpclab/internal/workload"
)

const requestsTotal = "grpc_requests_total"

// callCounters count calls between two resets.
type callCounters struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec // grpc_requests_total, as published
}

// newClientMetrics are the usual metrics of a gRPC client (go-grpc-middleware).
func newClientMetrics() *grpcprom.ClientMetrics {
	return grpcprom.NewClientMetrics(grpcprom.WithClientHandlingTimeHistogram(grpcprom.WithHistogramBuckets(workload.Buckets)))
}

// newCallCounters also publishes the metrics of the client.
func newCallCounters(mode string, client *grpcprom.ClientMetrics) *callCounters {
	m := &callCounters{registry: prometheus.NewRegistry()}
	m.requests = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name:        requestsTotal,
		Help:        "Calls answered, by method and server.",
		ConstLabels: prometheus.Labels{"mode": mode},
	}, []string{"method", "server_name"})
	m.registry.MustRegister(m.requests, client, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// copySeries creates the series of the requests in another vector, at 0.
func (m *callCounters) copySeries(to *prometheus.CounterVec) {
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
			to.WithLabelValues(labels["method"], labels["server_name"])
		}
	}
}
