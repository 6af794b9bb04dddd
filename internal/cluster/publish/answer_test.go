package publish

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"

	"rpclab/internal/testkit"
)

var greeterZone = zone{service: "greeter", server: netip.MustParseAddr("127.0.0.1")}

// ask answers a question about these endpoints, in their order. An ID in parentheses terminates.
func ask(name string, kind uint16, now ...string) *dns.Msg {
	s := snapshot(7)
	for i, id := range now {
		e := ready(strings.Trim(id, "()"), i)
		e.Terminating = strings.HasPrefix(id, "(")
		s.Endpoints = append(s.Endpoints, e)
	}
	return greeterZone.answer(new(dns.Msg).SetQuestion(name, kind), s, dns.MaxMsgSize, func([]dns.RR) {})
}

// brief prints the code, the flags and the records of a reply.
func brief(m *dns.Msg) string {
	out := dns.RcodeToString[m.Rcode]
	if m.Authoritative {
		out += " aa"
	}
	for _, section := range []struct {
		name    string
		records []dns.RR
	}{{"answer", m.Answer}, {"authority", m.Ns}, {"additional", m.Extra}} {
		for _, r := range section.records {
			out += "\n" + section.name + ": " + strings.ReplaceAll(r.String(), "\t", " ")
		}
	}
	return out
}

func TestAnswers(t *testing.T) {
	kinds := []uint16{dns.TypeA, dns.TypeAAAA, dns.TypeSRV}
	var out strings.Builder
	for _, q := range []struct {
		name  string
		kinds []uint16
		now   []string
	}{
		{"rpclab.local.", []uint16{dns.TypeSOA, dns.TypeNS, dns.TypeA}, []string{"a"}},
		{"ns.dns.rpclab.local.", kinds[:2], nil},
		{"dns.rpclab.local.", kinds[:1], nil},
		{"greeter.rpclab.local.", kinds, []string{"a", "(leaving)", "Not A Label"}},
		{"GREETER.rpclab.LOCAL.", kinds[:1], []string{"a"}},
		{"greeter.rpclab.local.", []uint16{dns.TypeANY}, []string{"a"}},
		{"greeter.rpclab.local.", kinds, []string{"(leaving)"}},
		{"_grpc._tcp.greeter.rpclab.local.", kinds, []string{"a", "b"}},
		{"_tcp.greeter.rpclab.local.", kinds[:1], []string{"a"}},
		{"a.greeter.rpclab.local.", kinds, []string{"a", "b"}},
		{"leaving.greeter.rpclab.local.", kinds[:1], []string{"a", "(leaving)"}},
		{"other.rpclab.local.", kinds, []string{"a"}},
		{"greeter.example.com.", kinds[:1], []string{"a"}},
		{"xrpclab.local.", kinds[:1], []string{"a"}},
		{"rpclab.local.", []uint16{dns.TypeAXFR}, []string{"a"}},
	} {
		for _, kind := range q.kinds {
			fmt.Fprintf(&out, "? %s %s with %q\n%s\n\n", q.name, dns.TypeToString[kind], q.now, brief(ask(q.name, kind, q.now...)))
		}
	}
	testkit.Golden(t, "answers.txt", out.String())
}

func TestUnsupportedQueriesGetTheirErrorCode(t *testing.T) {
	question := func() *dns.Msg { return new(dns.Msg).SetQuestion("greeter.rpclab.local.", dns.TypeA) }
	for want, change := range map[int]func(*dns.Msg){
		dns.RcodeSuccess:        func(*dns.Msg) {},
		dns.RcodeRefused:        func(m *dns.Msg) { m.Question[0].Qclass = dns.ClassCHAOS },
		dns.RcodeNotImplemented: func(m *dns.Msg) { m.Opcode = dns.OpcodeUpdate },
		dns.RcodeFormatError:    func(m *dns.Msg) { m.Question = nil },
		dns.RcodeBadVers:        func(m *dns.Msg) { m.SetEdns0(1232, false); m.IsEdns0().SetVersion(1) },
	} {
		q := question()
		change(q)
		m := greeterZone.answer(q, snapshot(1, ready("a", 0)), dns.MinMsgSize, func([]dns.RR) {})
		if m.Rcode != want {
			t.Errorf("the code is %s, want %s", dns.RcodeToString[m.Rcode], dns.RcodeToString[want])
		}
	}
}

func TestAnswerFitsTheTransport(t *testing.T) {
	for _, test := range []struct {
		name      string
		offered   uint16 // EDNS0, 0: none
		size      int
		truncated bool
		limit     int
	}{
		{"plain UDP", 0, dns.MinMsgSize, true, 512},
		{"EDNS0 of 1232", 1232, dns.MinMsgSize, true, 1232},
		{"EDNS0 below the minimum", 100, dns.MinMsgSize, true, 512},
		{"EDNS0 above our maximum", 65535, dns.MinMsgSize, true, maxUDP},
		{"TCP", 0, dns.MaxMsgSize, false, dns.MaxMsgSize},
		{"TCP with EDNS0", 1232, dns.MaxMsgSize, false, dns.MaxMsgSize},
	} {
		t.Run(test.name, func(t *testing.T) {
			q := new(dns.Msg).SetQuestion("greeter.rpclab.local.", dns.TypeSRV)
			if test.offered > 0 {
				q.SetEdns0(test.offered, false)
			}
			m := greeterZone.answer(q, snapshot(1, many(250)...), test.size, func([]dns.RR) {})
			wire, err := m.Pack()
			if err != nil {
				t.Fatal(err)
			}
			if m.Truncated != test.truncated || len(wire) > test.limit {
				t.Errorf("the answer has %d bytes and is truncated: %v; want at most %d, %v", len(wire), m.Truncated, test.limit, test.truncated)
			}
			if edns := m.IsEdns0() != nil; edns != (test.offered > 0) {
				t.Errorf("the reply has EDNS0: %v, want %v", edns, !edns)
			}
		})
	}
}

func TestAnswersAreShuffled(t *testing.T) {
	reverse := func(r []dns.RR) { r[0], r[1] = r[1], r[0] }
	m := greeterZone.answer(new(dns.Msg).SetQuestion("greeter.rpclab.local.", dns.TypeA), snapshot(1, many(2)...), dns.MaxMsgSize, reverse)
	got := []string{m.Answer[0].(*dns.A).A.String(), m.Answer[1].(*dns.A).A.String()}
	if diff := cmp.Diff([]string{"127.0.1.2", "127.0.1.1"}, got); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
}
