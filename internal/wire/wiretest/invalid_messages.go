package wiretest

import (
	"bytes"
	"encoding/binary"
	"slices"
	"time"
)

// message is a script whose responses are right but for the bytes of their message.
func message(data func(*serverConn) []byte) script {
	return afterHeaders(func(p *serverConn, id uint32) error { return p.rest(id, data(p), 16<<10) })
}

// compressed is one whose messages claim an encoding.
func compressed(encoding string, data func(*serverConn) []byte) script {
	return answers(func(p *serverConn, id uint32) error { return p.encoded(id, encoding, data(p)) })
}

// invalidMessages are responses whose messages gRPC forbids.
func invalidMessages() []Scenario {
	const source = "gRPC over HTTP/2, Length-Prefixed-Message"
	over := Want{Codes: []string{"RESOURCE_EXHAUSTED"}}
	internal := Want{Codes: []string{"INTERNAL"}}
	encoding := Want{Codes: []string{"INTERNAL", "UNIMPLEMENTED"}}
	claims := func(n uint32) func(*serverConn) []byte {
		return func(*serverConn) []byte { return append(binary.BigEndian.AppendUint32([]byte{0}, n), "short"...) }
	}
	return []Scenario{
		{Name: "message of 4 GB, so it says", Source: source, Want: over, script: message(claims(1<<32 - 1))},
		{Name: "message one byte over the limit", Source: source, Want: over, MaxMessage: 1000, script: message(func(*serverConn) []byte {
			return prefixed(0, make([]byte, 1001))
		})},
		{Name: "message that is cut short", Source: source, Want: internal, script: message(claims(100))},
		{Name: "prefix that is cut short", Source: source, Want: internal, script: message(func(*serverConn) []byte { return []byte{0, 0, 0} })},
		{Name: "no message", Source: "gRPC over HTTP/2; unary has one answer", Want: Want{Codes: []string{"INTERNAL", "UNIMPLEMENTED"}}, script: message(func(*serverConn) []byte { return nil })},
		{Name: "status OK in the only header block", Source: "gRPC over HTTP/2; unary has one answer", Want: Want{Codes: []string{"INTERNAL", "UNIMPLEMENTED"}},
			script: answers(func(p *serverConn, id uint32) error {
				return p.headers(id, true, append(fields(":status: 200", "content-type: application/grpc"), trailing...)...)
			})},
		{Name: "two messages", Source: "gRPC over HTTP/2; unary has one answer", Want: Want{Codes: []string{"INTERNAL", "UNIMPLEMENTED"}}, script: message(func(p *serverConn) []byte {
			return slices.Concat(p.reply(), p.reply())
		})},
		{Name: "compressed flag of 2", Source: source, Want: encoding, script: message(func(p *serverConn) []byte { return prefixed(2, p.scenario.Reply()) })},
		{Name: "compressed without an encoding", Source: source, Want: encoding, script: message(func(p *serverConn) []byte { return prefixed(1, zipped(p.scenario.Reply())) })},
		{Name: "compressed by identity", Source: source, Want: encoding, script: compressed("identity", func(p *serverConn) []byte { return prefixed(1, p.scenario.Reply()) })},
		{Name: "encoding that nobody knows", Source: source, Want: encoding, script: compressed("hope", func(p *serverConn) []byte { return prefixed(1, p.scenario.Reply()) })},
		{Name: "gzip that is none", Source: "RFC 1952", Want: internal, script: compressed("gzip", func(p *serverConn) []byte { return prefixed(1, p.scenario.Reply()) })},
		{Name: "gzip that is cut short", Source: "RFC 1952", Want: internal, script: compressed("gzip", func(p *serverConn) []byte {
			z := zipped(p.scenario.Reply())
			return prefixed(1, z[:len(z)-6])
		})},
		{Name: "gzip bomb", Source: source, Want: over, MaxMessage: 1 << 20, Timeout: 20 * time.Second, script: compressed("gzip", func(*serverConn) []byte {
			return prefixed(1, zipped(bytes.Repeat([]byte{0}, 4<<20)))
		})},
	}
}
