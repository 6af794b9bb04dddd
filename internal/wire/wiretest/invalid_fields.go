package wiretest

import "golang.org/x/net/http2/hpack"

// opens is a script whose responses are right but for their first header block.
func opens(lines ...string) script {
	return answers(func(p *serverConn, id uint32) error {
		if err := p.headers(id, false, fields(lines...)...); err != nil {
			return err
		}
		return p.rest(id, p.reply(), 16<<10)
	})
}

// closes is a script whose responses are right but for their trailers.
func closes(trailers ...hpack.HeaderField) script {
	return afterHeaders(func(p *serverConn, id uint32) error {
		if err := p.framer.WriteData(id, false, p.reply()); err != nil {
			return err
		}
		return p.headers(id, true, trailers...)
	})
}

// invalidFields are header blocks that decode well and mean nothing.
func invalidFields() []Scenario {
	unknown := Want{Codes: append([]string{"UNKNOWN"}, broken...)}
	const kind = "content-type: application/grpc"
	return []Scenario{
		{Name: "no :status", Source: "RFC 9113, section 8.3.2", Want: unknown, script: opens(kind)},
		{Name: "two of :status", Source: "RFC 9113, section 8.3", Want: unknown, script: opens(":status: 200", ":status: 200", kind)},
		{Name: ":status that is no number", Source: "RFC 9110, section 15", Want: unknown, script: opens(":status: fine", kind)},
		{Name: ":status after other fields", Source: "RFC 9113, section 8.3", Want: unknown, script: opens(kind, ":status: 200")},
		{Name: "unknown pseudo-header", Source: "RFC 9113, section 8.3", Want: unknown, script: opens(":status: 200", ":mood: bad", kind)},
		{Name: "pseudo-header of a request", Source: "RFC 9113, section 8.3", Want: unknown, script: opens(":status: 200", ":path: /", kind)},
		{Name: "field name in upper case", Source: "RFC 9113, section 8.2.1", Want: unknown, script: opens(":status: 200", "X-Upper: case", kind)},
		{Name: "field of the connection", Source: "RFC 9113, section 8.2.2", Want: unknown, script: opens(":status: 200", "connection: close", kind)},
		{Name: "line break in a field value", Source: "RFC 9113, section 8.2.1", Want: unknown, script: opens(":status: 200", "x-break: a\r\nb", kind)},
		{Name: "web page", Source: "gRPC over HTTP/2, Content-Type", Want: unknown, script: opens(":status: 200", "content-type: text/html")},
		{Name: "gRPC for browsers", Source: "gRPC over HTTP/2, Content-Type", Want: unknown, script: opens(":status: 200", "content-type: application/grpc-web")},
		{Name: "no content type", Source: "gRPC over HTTP/2, Content-Type", Want: unknown, script: opens(":status: 200")},
		{Name: "pseudo-header in trailers", Source: "RFC 9113, section 8.1", Want: unknown, script: closes(fields(":status: 200", "grpc-status: 0")...)},
		{Name: "no grpc-status", Source: "gRPC over HTTP/2, Trailers", Want: unknown, script: closes(fields("x-other: 1")...)},
		{Name: "no trailers but their frame", Source: "gRPC over HTTP/2, Trailers", Want: unknown, script: closes()},
		{Name: "grpc-status that is no number", Source: "gRPC over HTTP/2, Status", Want: unknown, script: closes(fields("grpc-status: banana")...)},
		{Name: "grpc-status below zero", Source: "gRPC over HTTP/2, Status", Want: unknown, script: closes(fields("grpc-status: -1")...)},
		{Name: "grpc-status of nothing", Source: "gRPC over HTTP/2, Status", Want: unknown, script: closes(fields("grpc-status: ")...)},
		{Name: "grpc-status beyond 32 bits", Source: "gRPC over HTTP/2, Status", Want: unknown, script: closes(fields("grpc-status: 4294967296")...)},
	}
}
