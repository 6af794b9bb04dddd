package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
)

// way is how a target is to be reached.
type way struct {
	target string
	secure bool
	http   int // version of plain requests; 0: gRPC
}

// unreachable says why nobody can connect to a target, and what can be done about it.
// An interrupt stays one.
func (w way) unreachable(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return fmt.Errorf("%w before the first call", ctx.Err())
	}
	why := w.bare(err)
	if remedy := w.remedy(why); remedy != "" {
		why += ": " + remedy
	}
	return fmt.Errorf("cannot connect to %s: %s", w.target, why)
}

// bare is why alone, without what the libraries put before it.
func (w way) bare(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "nobody answered in time"
	}
	if dial := new(net.OpError); errors.As(err, &dial) && dial.Op == "dial" {
		err = dial.Err
	}
	why := err.Error()
	for _, said := range []string{"wire: ", "cannot connect to " + w.target + ": ", "transport: ", "Error while dialing: ",
		"dial tcp " + w.target + ": ", "connect: ", "authentication handshake failed: ", "error reading server preface: ", "TLS: ", "tls: "} {
		why = strings.TrimPrefix(why, said)
	}
	return why
}

// remedy is what can be done about why; "": nobody knows.
func (w way) remedy(why string) string {
	says := func(parts ...string) bool {
		for _, part := range parts {
			if strings.Contains(why, part) {
				return true
			}
		}
		return false
	}
	switch {
	case says("connection refused"):
		return "nobody listens there; start the server, or give its address"
	case w.http == 2 && says("is this an HTTP/2 port?", "application protocol"):
		return "leave out --http2 to ask over HTTP/1.1"
	case says("unknown authority"):
		return "say whom to trust by --cacert FILE, or trust anybody by --insecure-skip-verify"
	case says("certificate is valid for", "cannot validate certificate for"):
		return "give a name that it has by --servername NAME"
	case says("certificate required", "bad certificate"):
		return "the server wants to know you: give --cert FILE and --key FILE"
	case says("does not look like a TLS handshake") && w.http > 0:
		return "it speaks clear text; write http:"
	case says("does not look like a TLS handshake"):
		return "it speaks clear text; leave out --tls and what goes with it"
	case !w.secure && w.http == 0 && says("EOF", "connection reset"):
		return "it hung up on clear text; does it want --tls?"
	}
	return ""
}
