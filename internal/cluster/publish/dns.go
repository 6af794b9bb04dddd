package publish

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"

	"rpclab/internal/cluster"
)

// bindTries is how often listenBoth looks for a port that is free for TCP and UDP.
const bindTries = 20

// DNS is an authoritative name server for the zone rpclab.local, over UDP and
// TCP on one address.
type DNS struct {
	addr    netip.AddrPort
	servers []*dns.Server
	done    chan error // one from each server
	close   func() error
	closing chan struct{} // closes before the servers do
	fault   atomic.Pointer[dnsFault]
}

// ServeDNS answers for names from endpoints at an address; port 0: a port
// that is free for both transports.
func ServeDNS(endpoints *cluster.Endpoints, names Names, at netip.AddrPort) (*DNS, error) {
	tcp, udp, err := listenBoth(at)
	if err != nil {
		return nil, err
	}
	addr := tcp.Addr().(*net.TCPAddr).AddrPort()
	z := zone{service: names.Service, server: addr.Addr()}
	d := &DNS{addr: addr, done: make(chan error, 2), closing: make(chan struct{})}
	d.SetFault(0, false)
	handler := func(size int) dns.HandlerFunc {
		return func(w dns.ResponseWriter, query *dns.Msg) {
			now, _ := endpoints.Current()
			now = d.applyFault(now)
			// When a reply cannot be written, the client asks again.
			_ = w.WriteMsg(z.answer(query, now, size, shuffle))
		}
	}
	d.servers = []*dns.Server{
		{Listener: tcp, Handler: handler(dns.MaxMsgSize)},
		{PacketConn: udp, Handler: handler(dns.MinMsgSize)},
	}
	for _, s := range d.servers {
		started := make(chan struct{})
		s.NotifyStartedFunc = func() { close(started) }
		go func() { d.done <- s.ActivateAndServe() }()
		<-started // Shutdown refuses a server that has not started
	}
	d.close = sync.OnceValue(d.shutdown)
	return d, nil
}

// Addr is where the server answers, over UDP and TCP.
func (d *DNS) Addr() netip.AddrPort { return d.addr }

// Close ends the server and returns when all queries are answered. A second call returns
// the same error.
func (d *DNS) Close() error { return d.close() }

func (d *DNS) shutdown() error {
	close(d.closing)
	var errs []error
	for _, s := range d.servers {
		errs = append(errs, s.Shutdown())
	}
	for range d.servers {
		errs = append(errs, <-d.done)
	}
	return errors.Join(errs...)
}

// listenBoth binds TCP and UDP to the same port.
func listenBoth(at netip.AddrPort) (net.Listener, net.PacketConn, error) {
	for try := 1; ; try++ {
		tcp, err := net.Listen("tcp", at.String())
		if err != nil {
			return nil, nil, fmt.Errorf("DNS server: %w", err)
		}
		udp, err := net.ListenPacket("udp", tcp.Addr().String())
		if err == nil {
			return tcp, udp, nil
		}
		err = errors.Join(err, tcp.Close())
		if at.Port() != 0 || try == bindTries {
			return nil, nil, fmt.Errorf("DNS server: the port is free for TCP, not for UDP: %w", err)
		}
	}
}

func shuffle(records []dns.RR) {
	rand.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
}

// dnsFault is how a name server misbehaves.
type dnsFault struct {
	delay time.Duration // before every answer
	wrong bool          // addresses
}

// SetFault delays every answer from now on, and with wrong answers with addresses at which
// nothing listens. Zero values end the fault.
func (d *DNS) SetFault(delay time.Duration, wrong bool) { d.fault.Store(&dnsFault{delay, wrong}) }

// applyFault waits for the delay and returns the endpoints to answer with.
func (d *DNS) applyFault(now cluster.Snapshot) cluster.Snapshot {
	if delay := d.fault.Load().delay; delay > 0 {
		select {
		case <-time.After(delay):
		case <-d.closing:
		}
	}
	if !d.fault.Load().wrong {
		return now
	}
	now.Endpoints = slices.Clone(now.Endpoints)
	for i, e := range now.Endpoints {
		now.Endpoints[i].Addr = netip.AddrPortFrom(unused(e.Addr.Addr()), e.Addr.Port())
	}
	return now
}

// unused is an address in 127.32.0.0/16 for another address. The cluster never uses that
// range, so connections are refused at once.
func unused(of netip.Addr) netip.Addr {
	if !of.Is4() {
		return of
	}
	ip := of.As4()
	ip[1] = 32
	return netip.AddrFrom4(ip)
}
