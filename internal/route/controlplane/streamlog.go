package controlplane

import (
	"context"
	"log/slog"
	"strings"
	"sync"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	xds "github.com/envoyproxy/go-control-plane/pkg/server/v3"
	status "google.golang.org/genproto/googleapis/rpc/status"
)

// streamLog logs clients, their refusals, and the resources that they receive.
type streamLog struct {
	log *slog.Logger

	mu      sync.Mutex
	clients map[streamID]client
}

// streamID identifies a stream. The two protocols, state of the world and delta, number their
// streams independently.
type streamID struct {
	delta bool
	id    int64
}

type client struct{ node, agent string }

func newStreamLog(log *slog.Logger) *streamLog {
	return &streamLog{log: log, clients: map[streamID]client{}}
}

func (l *streamLog) callbacks() xds.Callbacks {
	return xds.CallbackFuncs{
		StreamRequestFunc: func(id int64, r *discovery.DiscoveryRequest) error {
			l.request(streamID{false, id}, r.GetNode(), r.GetTypeUrl(), r.GetErrorDetail())
			return nil
		},
		StreamResponseFunc: func(_ context.Context, id int64, _ *discovery.DiscoveryRequest, r *discovery.DiscoveryResponse) {
			l.response(streamID{false, id}, r.GetTypeUrl(), r.GetVersionInfo(), len(r.GetResources()))
		},
		StreamClosedFunc: func(id int64, _ *core.Node) { l.closed(streamID{false, id}) },
		StreamDeltaRequestFunc: func(id int64, r *discovery.DeltaDiscoveryRequest) error {
			l.request(streamID{true, id}, r.GetNode(), r.GetTypeUrl(), r.GetErrorDetail())
			return nil
		},
		StreamDeltaResponseFunc: func(id int64, _ *discovery.DeltaDiscoveryRequest, r *discovery.DeltaDiscoveryResponse) {
			l.response(streamID{true, id}, r.GetTypeUrl(), r.GetSystemVersionInfo(), len(r.GetResources()))
		},
		DeltaStreamClosedFunc: func(id int64, _ *core.Node) { l.closed(streamID{true, id}) },
	}
}

// request logs a refusal, and the client of a stream's first request: later requests may omit
// the node.
func (l *streamLog) request(stream streamID, node *core.Node, typeURL string, refused *status.Status) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.clients[stream]; !ok {
		c := client{node: node.GetId(), agent: node.GetUserAgentName()}
		l.clients[stream] = c
		l.log.Info("connected", "node", c.node, "agent", c.agent, "delta", stream.delta)
	}
	if refused != nil {
		l.log.Warn("refused", "node", l.clients[stream].node, "type", shortType(typeURL), "error", refused.GetMessage())
	}
}

func (l *streamLog) response(stream streamID, typeURL, version string, resources int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.log.Info("served", "node", l.clients[stream].node, "type", shortType(typeURL), "version", version, "resources", resources)
}

func (l *streamLog) closed(stream streamID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c, ok := l.clients[stream]; ok {
		l.log.Info("disconnected", "node", c.node)
		delete(l.clients, stream)
	}
}

// shortType is the last word of a type URL: Cluster.
func shortType(typeURL string) string { return typeURL[strings.LastIndexAny(typeURL, "./")+1:] }
