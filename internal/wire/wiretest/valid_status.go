package wiretest

import "golang.org/x/net/http2"

// validStatus are servers that say why a call failed, in each of the ways there are.
func validStatus() []Scenario {
	all := []Scenario{
		{Name: "status in the only header block", Source: "gRPC over HTTP/2, Trailers-Only",
			Want: Want{Codes: []string{"NOT_FOUND"}, Message: "no €100 here"},
			script: answers(func(p *serverConn, id uint32) error {
				return p.headers(id, true, fields(":status: 200", "content-type: application/grpc", "grpc-status: 5", "grpc-message: no %E2%82%AC100 here")...)
			})},
		{Name: "status after the message", Source: "gRPC over HTTP/2, Trailers",
			Want: Want{Codes: []string{"ABORTED"}, Message: "100%"},
			script: answers(func(p *serverConn, id uint32) error {
				if err := p.headers(id, false, opening...); err != nil {
					return err
				}
				if err := p.framer.WriteData(id, false, p.reply()); err != nil {
					return err
				}
				return p.headers(id, true, fields("grpc-status: 10", "grpc-message: 100%")...) // a bad escape is kept as it is
			})},
		{Name: "status that is not known", Source: "gRPC over HTTP/2, Status", Want: Want{Codes: []string{"CODE_4242"}, Message: "new"},
			script: answers(func(p *serverConn, id uint32) error {
				return p.headers(id, true, fields(":status: 200", "content-type: application/grpc", "grpc-status: 4242", "grpc-message: new")...)
			})},
	}
	// gRPC, http-grpc-status-mapping: what a proxy says that knows no gRPC.
	for _, c := range []struct{ http, code string }{
		{"400", "INTERNAL"}, {"401", "UNAUTHENTICATED"}, {"403", "PERMISSION_DENIED"}, {"404", "UNIMPLEMENTED"},
		{"429", "UNAVAILABLE"}, {"502", "UNAVAILABLE"}, {"503", "UNAVAILABLE"}, {"504", "UNAVAILABLE"}, {"418", "UNKNOWN"},
	} {
		all = append(all, Scenario{Name: "HTTP status " + c.http, Source: "gRPC, HTTP to gRPC Status Code Mapping", Calls: 4,
			Want: Want{Codes: []string{c.code}}, script: answers(func(p *serverConn, id uint32) error {
				if err := p.headers(id, false, fields(":status: "+c.http, "content-type: text/html")...); err != nil {
					return err
				}
				p.client.ended(id)
				return p.framer.WriteData(id, true, []byte("<h1>no</h1>"))
			})})
	}
	// gRPC over HTTP/2, Errors: what each RST_STREAM means.
	for _, c := range []struct {
		reset http2.ErrCode
		code  string
	}{
		{http2.ErrCodeProtocol, "INTERNAL"}, {http2.ErrCodeInternal, "INTERNAL"}, {http2.ErrCodeFlowControl, "INTERNAL"},
		{http2.ErrCodeFrameSize, "INTERNAL"}, {http2.ErrCodeCompression, "INTERNAL"}, {http2.ErrCodeConnect, "INTERNAL"},
		{http2.ErrCodeCancel, "CANCELLED"}, {http2.ErrCodeEnhanceYourCalm, "RESOURCE_EXHAUSTED"}, {http2.ErrCodeInadequateSecurity, "PERMISSION_DENIED"},
	} {
		all = append(all, Scenario{Name: "reset: " + c.reset.String(), Source: "gRPC over HTTP/2, Errors", Calls: 4,
			Want: Want{Codes: []string{c.code}}, script: answers(func(p *serverConn, id uint32) error { return p.reset(id, c.reset) })})
	}
	return all
}

// answers is a script whose only peculiarity is how it answers.
func answers(answer func(*serverConn, uint32) error) script { return script{answer: answer} }
