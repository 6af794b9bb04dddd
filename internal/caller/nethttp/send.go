package nethttp

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
)

// maxBody is the longest body of a response, in bytes, as of gRPC messages.
const maxBody = 4 << 20

// errSentAgain is the error of a call whose request the server may have received more than once. Other clients return
// an error when a connection breaks, so an answer to the second request is no success of the call.
var errSentAgain = errors.New("the server closed the connection before it answered, and Go's HTTP client sent the request again")

// countedConn counts the bytes that were written to a connection. HTTP/1.1 has one request at a time on it.
type countedConn struct {
	net.Conn
	written atomic.Int64
}

func (c *countedConn) Write(data []byte) (int, error) {
	n, err := c.Conn.Write(data)
	c.written.Add(int64(n))
	return n, err
}

type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// counted returns a dial function whose connections count what is written to them. dial may be nil: TCP.
func counted(dial dialFunc) dialFunc {
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		opened, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &countedConn{Conn: opened}, nil
	}
}

// attempts are the connections that a client uses for one request.
type attempts struct {
	server net.Addr
	last   *countedConn
	before int64 // what had been written to the last connection before the request
	again  bool
}

// gotConn notes the connection of the next attempt. The client calls it after the attempt before has ended.
func (a *attempts) gotConn(got httptrace.GotConnInfo) {
	a.server = got.Conn.RemoteAddr()
	a.again = a.again || a.last != nil && a.last.written.Load() > a.before
	raw := got.Conn
	if secure, ok := raw.(*tls.Conn); ok {
		raw = secure.NetConn()
	}
	if a.last, _ = raw.(*countedConn); a.last != nil {
		a.before = a.last.written.Load()
	}
}

// send sends a request and returns the server's address and its answer. It fails if Go's HTTP client sent the
// request again because a connection that it used before had broken.
func send(client *http.Transport, request *http.Request) (server net.Addr, answer *http.Response, err error) {
	var made attempts
	ctx := httptrace.WithClientTrace(request.Context(), &httptrace.ClientTrace{GotConn: made.gotConn})
	answer, err = client.RoundTrip(request.WithContext(ctx))
	if err == nil && made.again {
		_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, maxBody)) // so that the connection stays open
		return nil, nil, errors.Join(errSentAgain, answer.Body.Close())
	}
	return made.server, answer, err
}
