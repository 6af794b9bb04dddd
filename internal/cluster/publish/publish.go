// Package publish serves a cluster's endpoints by the two protocols of Kubernetes that
// clients use: DNS, as CoreDNS answers for a headless service, and the EndpointSlice API
// (discovery.k8s.io/v1), as the API server lists and watches it.
package publish

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"rpclab/internal/cluster"
)

// Publisher publishes one service until it is closed.
type Publisher struct {
	service cluster.Service
	dns     *DNS
	api     *API
}

// Serve publishes endpoints under names, on free ports of ip. It fails when it
// cannot listen there.
func Serve(endpoints *cluster.Endpoints, names Names, ip netip.Addr) (*Publisher, error) {
	if !isLabel(names.Service) {
		return nil, fmt.Errorf("publish: service name %q is not a DNS label: use lower-case letters, digits and '-'", names.Service)
	}
	if names.Port < 0 || names.Port > 65535 {
		return nil, fmt.Errorf("publish: port %d of service %s is not in 0 to 65535", names.Port, names.Service)
	}
	at := netip.AddrPortFrom(ip, 0)
	dns, err := ServeDNS(endpoints, names, at)
	if err != nil {
		return nil, fmt.Errorf("publish %s: %w", names.Service, err)
	}
	api, err := ServeAPI(endpoints, names, at)
	if err != nil {
		return nil, fmt.Errorf("publish %s: %w", names.Service, errors.Join(err, dns.Close()))
	}
	return &Publisher{dns: dns, api: api, service: cluster.Service{
		Name:      names.Service,
		Namespace: names.Namespace,
		Port:      names.Port,
		Host:      names.Service + "." + zoneName,
		DNS:       dns.Addr().String(),
		API:       "http://" + api.Addr().String(),
	}}, nil
}

// Service says where the endpoints are published.
func (p *Publisher) Service() cluster.Service { return p.service }

// SetDNSFault makes the name server slow, or with wrong answer with addresses at which
// nothing listens.
func (p *Publisher) SetDNSFault(delay time.Duration, wrong bool) { p.dns.SetFault(delay, wrong) }

// Close ends both servers and all watches, and returns when they have ended.
func (p *Publisher) Close() error {
	return errors.Join(p.api.Close(context.Background()), p.dns.Close())
}
