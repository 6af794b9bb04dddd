// Package wire is our own client engine: gRPC over HTTP/2 at the least CPU per call
// that we know how to spend, with times that hide nothing.
//
// A core is one thread with many connections. A turn of it reads what has come on
// any of them, starts all calls that are due, and ends with one write a connection.
// Nothing waits for a fuller batch: calls share a write only when they were due at
// the same turn.
package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"runtime"
	"time"

	"rpclab/internal/measure"
	"rpclab/internal/wire/h2"
)

// Config says over which connections calls are made.
type Config struct {
	// Addresses are host:port; [Engine.SetAddresses] changes them. Nil: not known yet.
	Addresses []string
	// Dial opens a connection to an address; nil: TCP.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	// TLS is nil for clear text. The protocol of the calls is asked for (ALPN).
	TLS *tls.Config
	// Lost is called on a core's thread when a connection broke or could not be
	// opened; nil: nobody asks. It must not wait.
	Lost func()
	// Channels are taken in turn by the calls; 1 at least. A channel has one
	// connection to the first address that works or, with Spread, one to each. Over
	// HTTP/1.1 they are the connections, of which a call takes one that is free and,
	// with Spread, each goes to the next address.
	Channels int
	Spread   bool
	// OnDemand opens a connection of HTTP/1.1 when a call finds none that is free,
	// and only the first without one.
	OnDemand bool
	// PerCall opens a connection for each call instead.
	PerCall bool
	// PerUser gives each user of a closed pace a channel of one connection, opened at his
	// first call. Channels are for calls that are no user's then.
	PerUser bool
	// Sticky keeps each user of a closed pace on one channel, if that has many calls.
	Sticky bool
	// Streams bounds the calls in flight on a connection; 0: what the server admits.
	Streams int
	// ConnectRate is the most connections opened per second; 0: no bound.
	ConnectRate float64
	// ConnectTimeout bounds the opening of a connection, up to the server's settings; 0: 20 s.
	ConnectTimeout time.Duration
	// KeepAlive asks a server that has said nothing for so long whether it is there,
	// by a PING; 0: never. One that says nothing for KeepAliveTimeout either (0: 20 s)
	// loses the connection. A server that complains of too many is asked half as often.
	KeepAlive, KeepAliveTimeout time.Duration
	// IdleClose closes a connection that had no call for so long; the next call opens
	// it again. 0: never.
	IdleClose time.Duration
	// Sources are local addresses taken in turn, for more connections than one has ports.
	Sources []netip.Addr
	// Yield lets whoever else wants a core's processor go first, the server above all.
	// Calls that are due then wait, so it is for closed paces that are to be cheap:
	// when both want the same processor, a thread finds more answers at a time.
	Yield bool
	// Cores is the number of threads; 0: 1. Channels and users are split among them.
	Cores int
	// Timeout is the deadline of a call, from the moment it is sent; 0: none.
	Timeout time.Duration
	// Late is how long after it was due an answer is late; 0: [measure.Late].
	Late time.Duration
	// MaxMessage is the largest answer in bytes; 0: 4 MiB.
	MaxMessage int
}

// Call is what every call asks for.
type Call struct {
	Method    string     // /package.Service/Method
	HTTP      *HTTP      // nil: gRPC; else Method is not used
	Stream    *Stream    // nil: unary
	Talk      *Talk      // nil: calls answer themselves
	Authority string     // empty: the first address
	Metadata  []h2.Field // names in lower case
	Message   []byte     // the request
	// Make appends call n's message to dst instead. No two calls in flight share a
	// worker: the user of a closed pace, else one of the lowest numbers that are free. A
	// call whose message cannot be made is not sent and fails with INTERNAL.
	Make func(n uint64, worker int, dst []byte) ([]byte, error)
	// Began and Ended are told of each call; nil: nobody asks. All functions of a Call
	// are called on the cores' threads.
	Began func()
	Ended func(measure.Call)
	// Check says what is wrong with the answer of a call; nil: every answer is right.
	// The answer is valid during the call only.
	Check func(n uint64, answer []byte, backend string) error
	// Backend is the key, in lower case, of the trailer or header field that names who answered.
	Backend string
}

// Pace says when calls are due; see pace.Pace, which implements it.
type Pace interface {
	Next(n uint64, after time.Duration) (due time.Duration, more bool)
	InFlight() int
	Open() bool
	First(user int) time.Duration
}

func (c Config) withDefaults(call Call) (Config, error) {
	c.Channels = max(c.Channels, 1)
	c.Cores = max(c.Cores, 1)
	if !c.PerCall {
		c.Cores = min(c.Cores, c.Channels)
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = 20 * time.Second
	}
	if c.MaxMessage == 0 {
		c.MaxMessage = 4 << 20
	}
	if c.KeepAliveTimeout == 0 {
		c.KeepAliveTimeout = 20 * time.Second
	}
	if c.KeepAlive > 0 && call.old() {
		return c, errors.New("wire: HTTP/1.1 has no PING to keep connections alive by")
	}
	if c.KeepAlive < 0 || c.KeepAliveTimeout < 0 || c.IdleClose < 0 {
		return c, errors.New("wire: the times of keep-alive and idle connections cannot be negative")
	}
	if c.Streams < 0 || c.ConnectRate < 0 || c.Timeout < 0 || c.MaxMessage < 0 {
		return c, errors.New("wire: streams, connect rate, timeout and the largest message cannot be negative")
	}
	if c.Cores > runtime.NumCPU() {
		return c, errors.New("wire: more cores were asked for than this machine has")
	}
	if c.TLS != nil {
		c.TLS = c.TLS.Clone()
		c.TLS.NextProtos = []string{"h2"}
		if call.old() {
			c.TLS.NextProtos = []string{"http/1.1"}
		}
	}
	return c, nil
}
