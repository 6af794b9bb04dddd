package experiment

import (
	"slices"
	"strings"
	"testing"
)

// calculating is a document whose arm a has the workload calculate and these fields.
func calculating(arm string) string {
	return strings.Replace(head, "a: {}", "a: {workload: {calculate: {operation: add}}, "+arm+"}", 1)
}

func TestSupportedCalculationsAreAccepted(t *testing.T) {
	for _, arm := range []string{
		"caller: {style: bidi, streams: 3}", "caller: {style: unary-stream}", "caller: {style: unary-stream, ahead: taken}", "caller: {style: bidi, ahead: sent}",
		"caller: {kind: wire, style: bidi}", "caller: {style: bidi, jwt: every, signing: true, metadata: 3}, server: {security: mtls}", "caller: {style: bidi, channel: {pool: 3}}",
	} {
		mustExpand(t, calculating(arm), Options{})
	}
}

func TestUnsupportedCalculationsAreRejected(t *testing.T) {
	for _, c := range []struct{ doc, want string }{
		{calculating("caller: {}"), "calculate needs caller.style: bidi or unary-stream"},
		{calculating("caller: {style: unary-stream, streams: 3}"), "caller.streams needs caller.style bidi"},
		{calculating("caller: {style: bidi, ahead: taken}"), "caller.style bidi does not support caller.ahead taken: set caller.ahead to sent"},
		{calculating("caller: {kind: wire, style: bidi, ahead: sent}"), "the caller wire does not support caller.ahead: remove it, or use grpc-go"},
		{calculating("caller: {kind: http, style: bidi}, server: {model: rest}"), "the caller http does not support calculate: use the caller grpc-go or wire"},
		{calculating("caller: {style: bidi, channel: per-call}"), "calculate uses the same streams for all calls"},
		{calculating("caller: {style: bidi, retry: {}}"), "calculate does not support caller.retry and caller.hedge"},
		{strings.Replace(head, "a: {}", "a: {caller: {style: bidi}}", 1), "caller.style needs the workload calculate"},
		{strings.Replace(head, "a: {}", "a: {caller: {metadata: 3}}", 1), "caller.metadata needs the workload calculate"},
		{strings.Replace(head, "a: {}", "a: {server: {security: tls}}", 1), "server.security needs the workload calculate"},
	} {
		_, err := Expand("x.yaml", []byte(c.doc), Options{}, vocabulary)
		if !slices.ContainsFunc(lines(err), func(line string) bool { return strings.Contains(line, c.want) }) {
			t.Errorf("the error is\n%v\nwant %s, for\n%s", err, c.want, c.doc)
		}
	}
}
