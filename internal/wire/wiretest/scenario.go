// Package wiretest is an HTTP/2 and gRPC server for tests that does what the protocol allows and
// what it forbids, one [Scenario] each. The server also checks the client: a protocol error of the
// client fails the test.
package wiretest

import (
	"bytes"
	"errors"
	"net"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/proto"

	rpclabv1 "rpclab/api/rpclab/v1"
)

// Backend is the backend identity in every response and its trailers.
const Backend = "wiretest"

// Scenario is one behaviour of a server. A client makes Calls calls of [Method] with the message
// Request, InFlight at a time, over one connection at a time.
type Scenario struct {
	Name   string
	Source string // where the protocol allows or forbids it
	// Valid says that the server conforms to HTTP/2 and gRPC, so that calls must not fail because
	// of it.
	Valid bool
	Want  Want
	// Calls and InFlight are what the scenario needs.
	Calls, InFlight int
	// Timeout is the deadline of each call.
	Timeout time.Duration
	// MaxMessage is the client's limit for responses in bytes.
	MaxMessage int

	name   int // bytes of the name in the request
	answer int // bytes of the greeting in the response
	script script
}

// Want is how every call of a scenario ends.
type Want struct {
	Codes []string // one of these, as the gRPC specification spells them
	// Message is part of the status message; empty: any that is not empty, unless OK.
	Message string
}

// Accepts reports whether a call may end with a code and a message.
func (w Want) Accepts(code, message string) bool {
	if !slices.Contains(w.Codes, code) {
		return false
	}
	return code == "OK" || message != "" && strings.Contains(message, w.Message)
}

// Request is the message of each call.
func (s Scenario) Request() []byte {
	return marshal(&rpclabv1.HelloRequest{Name: strings.Repeat("n", s.name)})
}

// Reply is the message of each response that is OK.
func (s Scenario) Reply() []byte {
	return marshal(&rpclabv1.HelloReply{Message: strings.Repeat("m", s.answer), Backend: Backend})
}

func marshal(m proto.Message) []byte {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return nil // of messages with nothing but valid strings there is none
	}
	return b
}

// broken are the codes of calls whose connection or stream failed: UNAVAILABLE for the former and
// INTERNAL for most of the latter, by the gRPC specification.
var broken = []string{"UNAVAILABLE", "INTERNAL"}

// script is what a server does at each event of a connection; nil: what an ordinary server does.
// An error closes the connection.
type script struct {
	settings    []http2.Setting                                // of the first SETTINGS frame
	first       func(*serverConn) error                        // instead of that frame
	acked       func(p *serverConn, n int) error               // the client acknowledged SETTINGS frame n, from 1
	headers     func(p *serverConn, id uint32) error           // a request has begun
	data        func(p *serverConn, id uint32, n uint32) error // n bytes of flow control were used
	answer      func(p *serverConn, id uint32) error           // a request has ended
	pong        func(p *serverConn) error                      // the client acknowledged a PING
	ping        func(p *serverConn) (answer bool, err error)   // the client sent one
	idleTimeout time.Duration                                  // how long the client may say nothing; 0: for ever
	output      func(*output)                                  // how bytes are written
	connections int                                            // connections that do so; later ones are plain. 0: all
}

// serverConn is the server's side of one connection. One goroutine reads, decides and writes, so
// that a script has no data races.
type serverConn struct {
	scenario *Scenario
	script   script
	conn     net.Conn
	framer   *http2.Framer
	out      *output
	client   client

	block   bytes.Buffer
	encoder *hpack.Encoder

	pinged   time.Time                   // when the last PING arrived
	answered int                         // requests that have ended
	waiting  []uint32                    // requests that a script holds back
	pending  map[uint32]*pendingResponse // responses that wait for the client's windows
}

// errEnd closes the connection as the script wants.
var errEnd = errors.New("the scenario ends the connection")

// pendingResponse is DATA and trailers that wait for the client's windows.
type pendingResponse struct {
	data     []byte
	frame    int // bytes of DATA a frame
	trailers []hpack.HeaderField
}
