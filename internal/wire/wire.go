// Package wire is a client engine for gRPC and HTTP that uses as little CPU per call as possible
// and measures every delay.
//
// A core is one thread with many connections. Each turn of its loop reads from all connections
// that have data, starts all calls that are due, and writes once to each connection. No call waits
// for others: calls share a write only when they are due in the same turn.
package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"runtime"
	"time"

	"rpclab/internal/service/stream"
	"rpclab/internal/wire/h2"
)

// Config is how an engine connects.
type Config struct {
	// Addresses are host:port; [Engine.SetAddresses] changes them. Nil: not yet resolved.
	Addresses []string
	// AddressIsBackend makes the address of its connection the backend of a response without an
	// identity.
	AddressIsBackend bool
	// Dial opens a connection to an address; nil: TCP.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	// TLS is nil for cleartext. The engine offers the protocol of the calls by ALPN.
	TLS *tls.Config
	// OnConnectionLost is called on a core's thread when a connection broke or could not be opened;
	// nil: it is not called. It must not block.
	OnConnectionLost func()
	// Channels is the number of channels, which calls use in turn; at least 1. A channel has one
	// connection to the first address that works or, with RoundRobin, one to each address. With
	// HTTP/1.1 it is the number of connections: a call uses a free one, and with RoundRobin each
	// connection goes to the next address.
	Channels   int
	RoundRobin bool
	// Shuffle makes each channel, or connection of a call, try the addresses in a random order of its own.
	Shuffle bool
	// OnDemand opens a connection of HTTP/1.1 when a call finds none free. Only the first is opened
	// in advance.
	OnDemand bool
	// ConnectionPerCall opens a connection for each call instead.
	ConnectionPerCall bool
	// ChannelPerUser gives each user of a closed pace a channel of one connection, opened at the
	// user's first call. Channels are then for calls without a user.
	ChannelPerUser bool
	// Sticky keeps each user of a closed pace on one channel that others share.
	Sticky bool
	// MaxStreams limits the calls in flight on a connection; 0: the server's limit.
	MaxStreams int
	// ConnectRate is the most connections opened per second; 0: no limit.
	ConnectRate float64
	// ConnectTimeout limits the time to open a connection, up to the server's SETTINGS; 0: 20 s.
	ConnectTimeout time.Duration
	// KeepAlive is the time without data after which the engine sends a PING; 0: never. The
	// connection is closed when nothing arrives within KeepAliveTimeout (0: 20 s). The time doubles
	// when a server complains of too many PINGs.
	KeepAlive, KeepAliveTimeout time.Duration
	// IdleClose closes a connection that had no call for this long; the next call opens it again.
	// 0: never.
	IdleClose time.Duration
	// Sources are local addresses, used in turn, for more connections than one address has ports.
	Sources []netip.Addr
	// Yield lets other processes, above all the server, run first on a core's processor. Calls that
	// are due then wait, so it is for closed paces: a thread that wakes up later finds more
	// responses at once.
	Yield bool
	// Cores is the number of threads; 0: 1. Channels and users are divided among them.
	Cores int
	// Timeout is the deadline of a call, once, from the time that it starts; 0: none. Waits for a
	// connection or stream and further attempts do not extend it.
	Timeout time.Duration
	// LateAfter is how long after its call was due a response counts as late; 0:
	// [measure.DefaultLateAfter].
	LateAfter time.Duration
	// MaxMessage is the largest message of a response, or its body over HTTP, in bytes; 0: 4 MiB.
	MaxMessage int
	// MaxHeaderList is the largest header list of a response in bytes, as RFC 9113 section 6.5.2
	// counts; 0: 16 MiB, as in grpc-go.
	MaxHeaderList int
}

// Call is what every call sends and expects. Its functions are called on the cores' threads.
type Call struct {
	Method string // /package.Service/Method
	HTTP   *HTTP  // nil: gRPC; else Method is not used
	// Stream makes each call a stream of messages, each of which is the call's Message or AppendMessage.
	// Check is called for each response. The recorder gets the time of each response since its request
	// message was sent: with PingPong the message before it, otherwise the first. Nil: calls are unary.
	Stream    *stream.Stream
	Session   *Session   // nil: each call has its own response
	Mix       *Mix       // nil: all calls are of one kind
	Authority string     // empty: the first address
	Metadata  []h2.Field // names in lower case
	Message   []byte     // the request
	// AppendMessage appends call n's message to dst instead of Message. No two calls in flight
	// share a worker: the user of a closed pace, otherwise the lowest number that is free. A call
	// whose message cannot be made is not sent and fails with INTERNAL.
	AppendMessage func(n uint64, worker int, dst []byte) ([]byte, error)
	// AppendMetadata appends call n's metadata, in addition to Metadata, to dst; nil: none. It costs a
	// header block for each call. A call whose metadata cannot be made is not sent and fails with
	// INTERNAL.
	AppendMetadata func(n uint64, worker int, dst []h2.Field) ([]h2.Field, error)
	Gzip           bool   // compress the messages of gRPC
	UserAgent      string // of gRPC, before the engine's own; empty: none
	// Check returns what is wrong with a response; nil: every response is right. The call then fails with
	// CHECK if the error is a [CheckError], and with DATA_LOSS otherwise. The response is valid during the
	// call of Check only.
	Check func(n uint64, response []byte, backend string) error
	// Decode returns why a response message, or the body of an HTTP response, cannot be decoded. The call
	// then fails with INVALID_RESPONSE. Nil: every response can be. It is called before Check.
	Decode func(response []byte, contentType string) error
	// AppendPath appends the path of HTTP request n, with its query, to dst; nil: that of HTTP. It costs as much as
	// AppendMetadata.
	AppendPath func(n uint64, worker int, dst []byte) ([]byte, error)
	// Backend is the key, in lower case, of the trailer or header field with the backend's
	// identity.
	Backend string
}

// Mix makes the calls of a load calls of several kinds, each of which has its own method and metadata. All other
// functions of a [Call] find out from a call's number of which kind it is. Calls are unary calls of gRPC, or HTTP
// requests.
type Mix struct {
	// KindOf returns the kind of call n. Nil: each call of the load is a flow, which makes a call of each kind in their
	// order until one fails. The calls of flow n have the numbers n·k to n·k+k-1, for k kinds.
	KindOf func(n uint64) int
	Kinds  []Kind
}

// Kind is one kind of calls.
type Kind struct {
	Name     string     // in what is recorded
	Method   string     // of gRPC, or of HTTP
	Path     string     // of an HTTP request, with the query
	Metadata []h2.Field // in addition to that of the [Call]
}

func (m *Mix) isFlow() bool { return m != nil && m.KindOf == nil }

// kindOf returns the kind of the call with a number.
func (m *Mix) kindOf(number uint64) int {
	if m.KindOf == nil {
		return int(number % uint64(len(m.Kinds)))
	}
	return m.KindOf(number)
}

// CheckError is an error of a response that does not meet a condition of the user.
type CheckError struct{ error }

// NewCheckError returns err as a CheckError.
func NewCheckError(err error) CheckError { return CheckError{err} }

// HTTP makes a [Call] an HTTP request instead of a gRPC call: Message is its body and Metadata its
// header fields. A response with a status below 400 is right. Redirects are not followed.
type HTTP struct {
	Method  string // GET, POST, …
	Path    string // with the query
	Version int    // 1: HTTP/1.1 with connections kept alive; 2: HTTP/2
	// ErrorStatus converts a response with a status of 400 or more; nil: the HTTP status itself.
	ErrorStatus func(status int, body []byte) h2.Status
	// Judge returns the status of call n from its response; nil: the two above and Check do.
	Judge func(n uint64, head *h2.Headers, body []byte) h2.Status
}

// Session makes each call of a [Call] a request whose response arrives over a stream that outlives
// the call. An id in the response says which request it belongs to. An engine with a session has
// one core and uses channels.
type Session struct {
	// Streams is the number of bidirectional streams of the call's method, which carry requests and
	// responses in turn. 0: a request is a unary call. It ends when the server has accepted it and
	// its response has arrived over a stream of ResponseMethod on the same connection.
	Streams        int
	ResponseMethod string
	// AppendRequest appends the next request to dst and returns its id.
	AppendRequest func(dst []byte) (message []byte, id uint64, err error)
	// MatchResponse returns the id of the request that a message responds to, and what is wrong
	// with the response. After an error the stream ends, and the requests that wait for its
	// responses fail.
	MatchResponse func(response []byte, backend string) (id uint64, wrong, err error)
	// Metadata is sent with each stream or unary call, in addition to the call's; nil: none.
	Metadata func() ([]h2.Field, error)
}

// Pace says when calls are due; pace.Pace implements it.
type Pace interface {
	Next(n uint64, after time.Duration) (due time.Duration, more bool)
	InFlight() int
	Open() bool
	First(user int) time.Duration
	Window() time.Duration
}

// ErrClosed is the error of an engine that is closed.
var ErrClosed = errors.New("wire: the engine is closed")

func (c Call) isHTTP1() bool { return c.HTTP != nil && c.HTTP.Version == 1 }

func (c Config) withDefaults(call Call) (Config, error) {
	c.Channels = max(c.Channels, 1)
	c.Cores = max(c.Cores, 1)
	if !c.ConnectionPerCall {
		c.Cores = min(c.Cores, c.Channels)
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = 20 * time.Second
	}
	if c.MaxMessage == 0 {
		c.MaxMessage = 4 << 20
	}
	if c.MaxHeaderList == 0 {
		c.MaxHeaderList = 16 << 20
	}
	if c.KeepAliveTimeout == 0 {
		c.KeepAliveTimeout = 20 * time.Second
	}
	if c.KeepAlive > 0 && call.isHTTP1() {
		return c, errors.New("wire: HTTP/1.1 has no PING for keepalive")
	}
	if c.KeepAlive < 0 || c.KeepAliveTimeout < 0 || c.IdleClose < 0 {
		return c, errors.New("wire: keepalive and idle times cannot be negative")
	}
	if c.MaxStreams < 0 || c.ConnectRate < 0 || c.Timeout < 0 || c.MaxMessage < 0 || c.MaxHeaderList < 0 {
		return c, errors.New("wire: the limits of streams, connect rate, timeout, message and header size cannot be negative")
	}
	if c.Cores > runtime.NumCPU() {
		return c, errors.New("wire: this machine has fewer cores than were asked for")
	}
	if c.TLS != nil {
		c.TLS = c.TLS.Clone()
		c.TLS.NextProtos = []string{"h2"}
		if call.isHTTP1() {
			c.TLS.NextProtos = []string{"http/1.1"}
		}
	}
	return c, nil
}
