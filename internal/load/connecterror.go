package load

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"
)

// endpoint is what a load connects to.
type endpoint struct {
	target
	security *tls.Config // nil: clear text
	dial     dialer      // nil: dialAddress
	http     int         // HTTP version of REST calls; 0: gRPC
	waited   time.Duration
}

// hasCertificate reports whether the client presents a certificate.
func (e endpoint) hasCertificate() bool { return e.security != nil && len(e.security.Certificates) > 0 }

// connectError explains why a target cannot be reached and what to do. After an interrupt the
// error matches [context.Canceled].
func (e endpoint) connectError(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return fmt.Errorf("%w before the first call", ctx.Err())
	}
	if alert := e.lostAlert(ctx, err); alert != nil {
		err = alert
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("cannot connect to %s: no answer within %s: %s", e.name, e.waited.Round(10*time.Millisecond), e.missing(ctx))
	}
	why := e.reason(err)
	if hint := e.hint(why); hint != "" {
		why += ": " + hint
	}
	return fmt.Errorf("cannot connect to %s: %s", e.name, why)
}

// alertTimeout limits how long lostAlert waits for a server.
const alertTimeout = 2 * time.Second

// lostAlert connects once more and returns the TLS alert of the server, or nil. With TLS 1.3 a server
// rejects a client certificate after the client's handshake, and the client's first write can break
// the connection before the client has read why.
func (e endpoint) lostAlert(ctx context.Context, err error) error {
	broken := slices.ContainsFunc([]string{"broken pipe", "connection reset", "EOF"}, func(text string) bool { return strings.Contains(err.Error(), text) })
	if e.security == nil || !broken {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, alertTimeout)
	defer cancel()
	for _, address := range e.addresses {
		if alert := new(net.OpError); errors.As(e.handshake(ctx, address), &alert) && alert.Op == "remote error" {
			return alert
		}
	}
	return nil
}

// missing says how far a connection to a server that has not answered gets, and what to do. It connects once more.
func (e endpoint) missing(ctx context.Context) string {
	if len(e.addresses) == 0 {
		return "the name was not looked up: check the name and the name servers of this machine"
	}
	ctx, cancel := context.WithTimeout(ctx, alertTimeout)
	defer cancel()
	dial := e.dial
	if dial == nil {
		dial = dialAddress
	}
	conn, err := dial(ctx, e.addresses[0])
	if err != nil {
		return "no connection to " + e.addresses[0] + ": check the address, and whether a firewall is in between"
	}
	defer conn.Close()
	connected := "TCP connected"
	if e.hasSockets() {
		connected = "connected"
	}
	if e.security != nil {
		if err := e.secure(conn, e.addresses[0]).HandshakeContext(ctx); errors.Is(err, context.DeadlineExceeded) {
			return connected + ", but the server made no TLS handshake: check that this port uses TLS and that the server is not stuck"
		}
	}
	if e.http == 1 {
		return connected + ": the server may be slow, so raise --timeout"
	}
	return connected + ", but the server sent no HTTP/2 settings: check that this is its HTTP/2 port and that the server is not stuck"
}

// handshake makes a TLS handshake, sends nothing, and returns why the connection ends.
func (e endpoint) handshake(ctx context.Context, address string) error {
	dial := e.dial
	if dial == nil {
		dial = dialAddress
	}
	conn, err := dial(ctx, address)
	if err != nil {
		return err
	}
	defer conn.Close()
	secure := e.secure(conn, address)
	if err := secure.HandshakeContext(ctx); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Now()) })()
	_, err = secure.Read(make([]byte, 1))
	return err
}

// secure is a connection with TLS.
func (e endpoint) secure(conn net.Conn, address string) *tls.Conn {
	settings := e.security.Clone()
	if settings.ServerName == "" {
		settings.ServerName, _, _ = net.SplitHostPort(address)
	}
	return tls.Client(conn, settings)
}

// reason returns the cause without the prefixes of libraries.
func (e endpoint) reason(err error) string {
	if dial := new(net.OpError); errors.As(err, &dial) && dial.Op == "dial" {
		err = dial.Err
	}
	why := err.Error()
	for _, prefix := range []string{"wire: ", "cannot connect to " + e.name + ": ", "transport: ", "Error while dialing: ",
		"dial tcp " + e.name + ": ", "connect: ", "authentication handshake failed: ", "error reading server preface: ", "TLS: ", "tls: "} {
		why = strings.TrimPrefix(why, prefix)
	}
	return why
}

// hint returns what to do about a cause, or "".
func (e endpoint) hint(why string) string {
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
		return "no server listens there; start the server or check the address"
	case e.http == 2 && says("is this an HTTP/2 port?", "application protocol"):
		return "leave out --http2 to use HTTP/1.1"
	case e.http == 0 && says("is this an HTTP/2 port?", "frame too large", "HTTP/1.1 header", "HTTP/1.x"):
		try := "use another port"
		if e.security == nil { // nginx answers clear text with HTTP/1.1 on a port that requires TLS
			try += ", add --tls if this one requires TLS"
		}
		return "the server does not speak HTTP/2, which gRPC needs: " + try + ", or call a REST server with 'rpclab load --http' or 'rpclab init --openapi'"
	case says("unknown authority"):
		return "trust its authority with --cacert FILE, or skip the check with --insecure-skip-verify"
	case says("certificate is valid for", "cannot validate certificate for"):
		return "set a name in the certificate with --servername NAME"
	case says("certificate is not valid for any names", "legacy Common Name"):
		return "the certificate names no host: use one with subject alternative names on the server, or skip the check with --insecure-skip-verify"
	case says("certificate has expired or is not yet valid"):
		return "renew the certificate of the server or set the clock of this machine, or skip the check with --insecure-skip-verify"
	case e.http == 0 && says("application protocol", "missing selected ALPN"):
		return "the server does not offer h2 (HTTP/2) by ALPN, which gRPC over TLS needs: enable HTTP/2 on the server or use another port"
	case e.hasCertificate() && says("certificate required", "bad certificate", "unknown certificate", "expired certificate", "revoked certificate", "unsupported certificate", "access denied", "handshake failure"):
		return "the server rejects the client certificate of --cert: use one that an authority of the server signed and that has not expired"
	case says("certificate required", "bad certificate", "handshake failure"):
		return "the server requires a client certificate: set --cert FILE and --key FILE"
	case says("does not look like a TLS handshake") && e.http > 0:
		return "the server does not use TLS; write http:"
	case says("does not look like a TLS handshake"):
		return "the server does not use TLS; leave out --tls and its flags"
	case e.security == nil && e.http == 0 && says("EOF", "connection reset"):
		return "the server closed the connection; it may require --tls"
	}
	return ""
}
