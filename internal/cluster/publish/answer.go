package publish

import (
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"rpclab/internal/cluster"
)

const (
	zoneName = "rpclab.local" // without the final dot
	origin   = zoneName + "."
	// ttl is CoreDNS's default for records of the kubernetes plugin, in seconds.
	ttl = 5
	// maxUDP bounds an answer over UDP, whatever the client offers (RFC 6891, 6.2.5).
	maxUDP = 4096
)

// zone is the zone for which the name server is authoritative.
type zone struct {
	service string
	server  netip.Addr // of the name server itself
}

// answer replies to a query from the present endpoints. It is pure, except for shuffle,
// which orders address records as CoreDNS's loadbalance plugin does.
// size is the largest reply in bytes that the transport allows without EDNS0.
func (z zone) answer(query *dns.Msg, now cluster.Snapshot, size int, shuffle func([]dns.RR)) *dns.Msg {
	reply := new(dns.Msg).SetReply(query)
	if opt := query.IsEdns0(); opt != nil {
		if size < dns.MaxMsgSize {
			size = min(max(int(opt.UDPSize()), dns.MinMsgSize), maxUDP)
		}
		reply.SetEdns0(maxUDP, opt.Do())
		if opt.Version() != 0 {
			reply.Rcode = dns.RcodeBadVers // RFC 6891, 6.1.3
			return reply
		}
	}
	switch {
	case query.Opcode != dns.OpcodeQuery:
		reply.Rcode = dns.RcodeNotImplemented
	case len(query.Question) != 1:
		reply.Rcode = dns.RcodeFormatError
	default:
		z.fill(reply, query.Question[0], now, shuffle)
	}
	reply.Truncate(size)
	return reply
}

// fill adds the answer to one question to a reply.
func (z zone) fill(reply *dns.Msg, question dns.Question, now cluster.Snapshot, shuffle func([]dns.RR)) {
	name := strings.ToLower(question.Name)
	if question.Qclass != dns.ClassINET || !dns.IsSubDomain(origin, name) || question.Qtype == dns.TypeAXFR || question.Qtype == dns.TypeIXFR {
		reply.Rcode = dns.RcodeRefused
		return
	}
	reply.Authoritative = true
	records, exists := z.records(question.Name, strings.TrimSuffix(strings.TrimSuffix(name, origin), "."), now)
	switch {
	case !exists:
		reply.Rcode = dns.RcodeNameError
	case question.Qtype == dns.TypeANY: // RFC 8482, 4.2
		reply.Answer = []dns.RR{&dns.HINFO{Hdr: header(question.Name, dns.TypeHINFO), Cpu: "RFC8482"}}
	default:
		reply.Answer = slices.DeleteFunc(records, func(r dns.RR) bool { return r.Header().Rrtype != question.Qtype })
	}
	if len(reply.Answer) == 0 {
		reply.Ns = []dns.RR{z.soa(now)} // NXDOMAIN and NODATA alike: RFC 2308, 2.1 and 2.2
		return
	}
	shuffle(reply.Answer)
	if question.Qtype == dns.TypeSRV {
		for _, e := range now.Ready() {
			reply.Extra = append(reply.Extra, address(z.target(e), e.Addr.Addr()))
		}
	}
}

// records are all records of a name, and whether the name exists. A name that only has subdomains
// exists without records (RFC 8020). A service without a ready endpoint does not exist (Kubernetes
// DNS specification, 2.4.1).
func (z zone) records(owner, relative string, now cluster.Snapshot) (records []dns.RR, exists bool) {
	ready := now.Ready()
	switch relative {
	case "":
		return []dns.RR{z.soa(now), &dns.NS{Hdr: header(owner, dns.TypeNS), Ns: "ns.dns." + origin}}, true
	case "dns":
		return nil, true
	case "ns.dns":
		return []dns.RR{address(owner, z.server)}, true
	case z.service:
		for _, e := range ready {
			records = append(records, address(owner, e.Addr.Addr()))
		}
		return append(records, z.srv(owner, ready)...), len(ready) > 0
	case "_tcp." + z.service:
		return nil, len(ready) > 0
	case "_grpc._tcp." + z.service:
		return z.srv(owner, ready), len(ready) > 0
	}
	for _, e := range ready {
		if relative == label(e)+"."+z.service {
			records = append(records, address(owner, e.Addr.Addr()))
		}
	}
	return records, len(records) > 0
}

// srv has one record for each endpoint; the weights share 100, as in CoreDNS.
func (z zone) srv(owner string, ready []cluster.Endpoint) []dns.RR {
	var records []dns.RR
	for _, e := range ready {
		records = append(records, &dns.SRV{
			Hdr: header(owner, dns.TypeSRV), Weight: uint16(max(1, 100/len(ready))),
			Port: e.Addr.Port(), Target: z.target(e),
		})
	}
	return records
}

func (z zone) soa(now cluster.Snapshot) dns.RR {
	return &dns.SOA{
		Hdr: header(origin, dns.TypeSOA), Ns: "ns.dns." + origin, Mbox: "hostmaster." + origin,
		Serial: uint32(now.Version), Refresh: 7200, Retry: 1800, Expire: 86400, Minttl: ttl,
	}
}

func (z zone) target(e cluster.Endpoint) string { return label(e) + "." + z.service + "." + origin }

// label names an endpoint below its service: by its identity where that is a DNS
// label, else by its address, as CoreDNS does for a pod without a host name.
func label(e cluster.Endpoint) string {
	if isLabel(e.ID) {
		return e.ID
	}
	return strings.NewReplacer(".", "-", ":", "-").Replace(e.Addr.Addr().String())
}

func address(owner string, ip netip.Addr) dns.RR {
	if ip.Unmap().Is4() {
		return &dns.A{Hdr: header(owner, dns.TypeA), A: net.IP(ip.Unmap().AsSlice())}
	}
	return &dns.AAAA{Hdr: header(owner, dns.TypeAAAA), AAAA: net.IP(ip.AsSlice())}
}

func header(owner string, kind uint16) dns.RR_Header {
	return dns.RR_Header{Name: owner, Rrtype: kind, Class: dns.ClassINET, Ttl: ttl}
}
