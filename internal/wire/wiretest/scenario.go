// Package wiretest is an HTTP/2 and gRPC server for tests that does everything the
// protocol allows and everything that it forbids: one [Scenario] each. It also holds
// the client to the protocol: what a client must not do fails the test.
package wiretest

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/protobuf/proto"

	rpclabv1 "rpclab/api/rpclab/v1"
)

// Method is the path of the calls that every scenario expects.
const Method = rpclabv1.Greeter_SayHello_FullMethodName

// Backend is the identity in every answer and its trailer.
const Backend = "wiretest"

// Scenario is one way in which a server behaves. A client makes Calls calls of
// [Method] with the message Request, InFlight at a time, over one connection at a time.
type Scenario struct {
	Name   string
	Source string // where the protocol allows or forbids it
	// Legal says that the server keeps to HTTP/2 and to gRPC; a client has to cope.
	Legal bool
	Want  Want
	// Calls and InFlight are what the scenario needs to unfold.
	Calls, InFlight int
	// Timeout is the deadline that each call has to have.
	Timeout time.Duration
	// MaxMessage is the limit in bytes that the client has to set for answers.
	MaxMessage int

	name   int // bytes of the name in the request
	answer int // bytes of the greeting in the answer
	script script
}

// Want is how every call of a scenario ends.
type Want struct {
	Codes []string // one of these, as the gRPC specification spells them
	// Message is part of the status message; empty: any that is not empty, unless OK.
	Message string
}

// Accepts says whether a call may end with a code and a message.
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

// Reply is the message of each answer that is OK.
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

// Scenarios are all of them: the legal ones, then the illegal ones.
func Scenarios() []Scenario {
	return slices.Concat(
		legal(legalSettings()), legal(legalFlow()), legal(legalFrames()), legal(legalHeaders()),
		legal(legalWrites()), legal(legalEnds()), legal(legalStatus()),
		illegal(illegalStarts()), illegal(illegalLengths()), illegal(illegalStreams()),
		illegal(illegalBlocks()), illegal(illegalFields()), illegal(illegalMessages()),
	)
}

func legal(all []Scenario) []Scenario {
	for i := range all {
		s := &all[i]
		s.Legal = true
		if s.Want.Codes == nil {
			s.Want.Codes = []string{"OK"}
		}
		s.fill(24, 4)
	}
	return all
}

// broken are the codes of calls that died with their connection or stream: the gRPC
// specification has UNAVAILABLE for the former and INTERNAL for most of the latter.
var broken = []string{"UNAVAILABLE", "INTERNAL"}

func illegal(all []Scenario) []Scenario {
	for i := range all {
		s := &all[i]
		if s.Want.Codes == nil {
			s.Want.Codes = broken
		}
		s.Timeout = cmp.Or(s.Timeout, 10*time.Second)
		s.fill(2, 1)
	}
	return all
}

func (s *Scenario) fill(calls, inFlight int) {
	s.Calls = cmp.Or(s.Calls, calls)
	s.InFlight = cmp.Or(s.InFlight, inFlight)
	s.Timeout = cmp.Or(s.Timeout, 10*time.Second)
	s.MaxMessage = cmp.Or(s.MaxMessage, 4<<20)
	s.name = cmp.Or(s.name, len("rpclab"))
	s.answer = cmp.Or(s.answer, len("Hello, rpclab"))
}

// script is what a server does at each turn of a connection; nil is what a plain one
// does. An error ends the connection.
type script struct {
	settings []http2.Setting                          // of the first SETTINGS frame
	first    func(*peer) error                        // instead of that frame
	acked    func(p *peer, n int) error               // the client acknowledged SETTINGS frame n, from 1
	headers  func(p *peer, id uint32) error           // a request has begun
	data     func(p *peer, id uint32, n uint32) error // n bytes of flow control were used
	answer   func(p *peer, id uint32) error           // a request has ended
	pong     func(p *peer) error                      // the client acknowledged a PING
	ping     func(p *peer) (answer bool, err error)   // the client sent one
	patience time.Duration                            // how long the client may say nothing; 0: for ever
	output   func(*output)                            // how bytes are written
	only     int                                      // connections that do so; later ones are plain. 0: all
}
