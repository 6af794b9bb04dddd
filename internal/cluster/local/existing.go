package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"rpclab/internal/cluster"
	"rpclab/internal/cluster/publish"
	"rpclab/internal/measure"
)

// existingTimeout limits the first check of a backend that rpclab did not start, if its service file does not.
const existingTimeout = 5 * time.Second

// existing is a service that runs already. rpclab publishes its addresses and their readiness, and changes
// nothing.
type existing struct {
	cluster.AsItIs
	cluster   *Cluster
	endpoints *cluster.Endpoints
	publisher *publish.Publisher
	backends  []existingBackend
	listeners func() (pids []int, known bool) // when it was first asked: to find them takes milliseconds
	remove    func() error
}

type existingBackend struct {
	addr netip.AddrPort
	health
}

// deployExisting publishes addresses once all are ready.
func (c *Cluster) deployExisting(ctx context.Context, spec cluster.Spec) (cluster.Deployment, error) {
	if err := spec.Ready.Check(); err != nil {
		return nil, err
	}
	addresses, err := resolve(ctx, spec.Addresses)
	if err != nil {
		return nil, err
	}
	d := &existing{AsItIs: cluster.AsItIs{Name: spec.Name, Field: "server.addresses"}, cluster: c, endpoints: cluster.NewEndpoints()}
	if err := d.check(ctx, addresses, spec); err != nil {
		return nil, errors.Join(err, d.closeChecks())
	}
	var texts []string
	port := int(addresses[0].Port())
	for _, addr := range addresses {
		texts = append(texts, addr.String())
		if int(addr.Port()) != port {
			port = 0
		}
		d.publish(addr, true)
	}
	d.listeners = sync.OnceValues(func() ([]int, bool) { return measure.LocalListeners(texts) })
	d.publisher, err = publish.Serve(d.endpoints, publish.Names{Service: spec.Name, Namespace: "default", Port: port}, c.addresses.own)
	if err != nil {
		return nil, errors.Join(err, d.closeChecks())
	}
	done := make(chan struct{})
	var checks sync.WaitGroup
	for _, b := range d.backends {
		checks.Go(func() { follow(done, b.health, func(serving bool) { d.publish(b.addr, serving) }) })
	}
	d.remove = sync.OnceValue(func() error {
		close(done)
		checks.Wait()
		c.forget(d)
		return errors.Join(d.closeChecks(), d.publisher.Close())
	})
	c.mu.Lock()
	c.live[d] = true
	c.mu.Unlock()
	return d, nil
}

// resolve returns the IP addresses of host:port pairs, each once. A name stands for all its IPv4 addresses, or else
// for all its IPv6 addresses.
func resolve(ctx context.Context, hostports []string) (all []netip.AddrPort, err error) {
	for _, text := range hostports {
		host, port, err := net.SplitHostPort(text)
		if err != nil {
			return nil, fmt.Errorf("server.addresses: %q is not host:port", text)
		}
		number, err := net.DefaultResolver.LookupPort(ctx, "tcp", port)
		if err != nil || number == 0 || host == "" {
			return nil, fmt.Errorf("server.addresses: %q is not host:port", text)
		}
		ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		if err != nil {
			return nil, fmt.Errorf("server.addresses: %s: %w", text, err)
		}
		if four := slices.DeleteFunc(slices.Clone(ips), func(ip netip.Addr) bool { return !ip.Unmap().Is4() }); len(four) > 0 {
			ips = four
		}
		for _, ip := range ips {
			addr := netip.AddrPortFrom(ip.Unmap(), uint16(number))
			if slices.Contains(all, addr) {
				return nil, fmt.Errorf("server.addresses: %s is there twice", addr)
			}
			all = append(all, addr)
		}
	}
	return all, nil
}

// check opens the checks of all backends and returns an error unless all are ready in time.
func (d *existing) check(ctx context.Context, addresses []netip.AddrPort, spec cluster.Spec) error {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(spec.ReadyTimeout, existingTimeout))
	defer cancel()
	var checks errgroup.Group
	for _, addr := range addresses {
		var from netip.Addr
		if addr.Addr().Is4() && addr.Addr().IsLoopback() {
			from = d.cluster.addresses.probeSource()
		}
		h, err := healthOf(spec.Ready, addr, from)
		if err != nil {
			return errors.Join(err, checks.Wait())
		}
		d.backends = append(d.backends, existingBackend{addr, h})
		checks.Go(func() error {
			if err := probeUntil(ctx, h, spec.ReadyTimeout > 0); err != nil {
				return fmt.Errorf("server.addresses: %s of %s is not ready: %w", addr, d.Name, err)
			}
			return nil
		})
	}
	return checks.Wait()
}

// existingPause is the time between two checks of a backend that rpclab did not start.
const existingPause = 200 * time.Millisecond

// probeUntil checks a backend until it is ready or ctx ends, and returns the first error: a backend that has just
// started, or that a busy machine delays, may need a moment. If nothing listens, it fails at once, unless it may start.
func probeUntil(ctx context.Context, h health, mayStart bool) error {
	first := h.probe(ctx)
	for err := first; err != nil; err = h.probe(ctx) {
		if refused := errors.Is(err, syscall.ECONNREFUSED) || strings.Contains(err.Error(), syscall.ECONNREFUSED.Error()); refused && !mayStart {
			return first
		}
		select {
		case <-ctx.Done():
			return first
		case <-time.After(existingPause):
		}
	}
	return nil
}

// publish publishes an address, which is its identity too.
func (d *existing) publish(addr netip.AddrPort, serving bool) {
	d.endpoints.Set(cluster.Endpoint{ID: addr.String(), Addr: addr, Serving: serving})
}

func (d *existing) closeChecks() error {
	var errs []error
	for _, b := range d.backends {
		errs = append(errs, b.Close())
	}
	return errors.Join(errs...)
}

// Remove ends the checks.
func (d *existing) Remove() error { return d.remove() }

// FoundProcesses implements [cluster.FoundProcesses].
func (d *existing) FoundProcesses() (pids []int, known bool) { return d.listeners() }

// Service implements [cluster.Deployment].
func (d *existing) Service() cluster.Service { return d.publisher.Service() }

// Endpoints implements [cluster.Deployment].
func (d *existing) Endpoints() *cluster.Endpoints { return d.endpoints }

// SetDNSFault makes rpclab's own name server slow, or return wrong addresses.
func (d *existing) SetDNSFault(delay time.Duration, wrong bool) error {
	d.publisher.SetDNSFault(delay, wrong)
	return nil
}

// Recover ends SetDNSFault.
func (d *existing) Recover(context.Context) error { return d.SetDNSFault(0, false) }
