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

// alike takes every node for the same.
type alike struct{}

// ID implements cache.NodeHash.
func (alike) ID(*core.Node) string { return everyone }

// talk logs what is served to whom. Streams of the two protocols, state of the world
// and delta, count apart.
type talk struct {
	log *slog.Logger

	mu      sync.Mutex
	clients map[line]client
}

type line struct {
	delta bool
	id    int64
}

type client struct{ node, agent string }

func newTalk(log *slog.Logger) *talk { return &talk{log: log, clients: map[line]client{}} }

func (t *talk) callbacks() xds.Callbacks {
	return xds.CallbackFuncs{
		StreamRequestFunc: func(id int64, r *discovery.DiscoveryRequest) error {
			t.heard(line{false, id}, r.GetNode(), r.GetTypeUrl(), r.GetErrorDetail())
			return nil
		},
		StreamResponseFunc: func(_ context.Context, id int64, _ *discovery.DiscoveryRequest, r *discovery.DiscoveryResponse) {
			t.served(line{false, id}, r.GetTypeUrl(), r.GetVersionInfo(), len(r.GetResources()))
		},
		StreamClosedFunc: func(id int64, _ *core.Node) { t.left(line{false, id}) },
		StreamDeltaRequestFunc: func(id int64, r *discovery.DeltaDiscoveryRequest) error {
			t.heard(line{true, id}, r.GetNode(), r.GetTypeUrl(), r.GetErrorDetail())
			return nil
		},
		StreamDeltaResponseFunc: func(id int64, _ *discovery.DeltaDiscoveryRequest, r *discovery.DeltaDiscoveryResponse) {
			t.served(line{true, id}, r.GetTypeUrl(), r.GetSystemVersionInfo(), len(r.GetResources()))
		},
		DeltaStreamClosedFunc: func(id int64, _ *core.Node) { t.left(line{true, id}) },
	}
}

// heard notes who it is, which only the first request must say, and a refusal.
func (t *talk) heard(on line, node *core.Node, kind string, refused *status.Status) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.clients[on]; !ok {
		c := client{node: node.GetId(), agent: node.GetUserAgentName()}
		t.clients[on] = c
		t.log.Info("client", "node", c.node, "agent", c.agent, "delta", on.delta)
	}
	if refused != nil {
		t.log.Warn("refused", "node", t.clients[on].node, "type", short(kind), "why", refused.GetMessage())
	}
}

func (t *talk) served(on line, kind, version string, resources int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.log.Info("served", "node", t.clients[on].node, "type", short(kind), "version", version, "resources", resources)
}

func (t *talk) left(on line) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c, ok := t.clients[on]; ok {
		t.log.Info("left", "node", c.node)
		delete(t.clients, on)
	}
}

// short is the last word of a type URL: Cluster.
func short(kind string) string { return kind[strings.LastIndexAny(kind, "./")+1:] }
