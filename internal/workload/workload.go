// Package workload is what a call does: the Go servers under test, and the requests
// that callers send them.
package workload

import (
	"errors"

	"google.golang.org/protobuf/proto"
)

// Trailer is the key of the trailing metadata in which every answer carries the
// identity of its backend.
const Trailer = "rpclab-backend"

// Spec is a workload as it crosses a process: exactly one field is set.
type Spec struct {
	Greet     *Greet     `json:"greet,omitempty"`
	Fibonacci *Fibonacci `json:"fibonacci,omitempty"`
	Increment *Increment `json:"increment,omitempty"`
	Increase  *Increase  `json:"increase,omitempty"`
	Orders    *Orders    `json:"orders,omitempty"`
	Calculate *Calculate `json:"calculate,omitempty"`
}

// work is what each workload says of itself.
type work interface {
	unary() (Unary, error)
	args() []string // of `rpclab server`
}

func (s Spec) work() (work, error) {
	switch {
	case s.Greet != nil:
		return s.Greet, nil
	case s.Fibonacci != nil:
		return s.Fibonacci, nil
	case s.Increment != nil:
		return s.Increment, nil
	case s.Increase != nil:
		return s.Increase, nil
	case s.Orders != nil:
		return s.Orders, nil
	case s.Calculate != nil:
		return s.Calculate, nil
	}
	return nil, errors.New("a workload has to be named: greet, fibonacci, increment, increase, orders or calculate")
}

// Unary is a workload as a caller sees it.
type Unary struct {
	Method string // full, with slashes
	// Stream is the method that answers the same requests as messages of a stream;
	// empty: there is none. Its header carries the identity.
	Stream string
	// Path is where a POST of the request as JSON gets the reply as JSON; empty: nowhere.
	Path string
	// Same says that every call has the same request; Constant, that a backend answers all of
	// them alike besides.
	Same, Constant bool
	// Request is call n's message; it may be shared by calls and is not to be changed.
	Request func(n uint64) proto.Message
	// Reply is a message to read an answer into.
	Reply func() proto.Message
	// Check says what is wrong with call n's answer, given the identity in its trailer.
	// Many goroutines may use it at once.
	Check func(n uint64, reply proto.Message, backend string) error
}

// Unary returns the calls of the workload.
func (s Spec) Unary() (Unary, error) {
	w, err := s.work()
	if err != nil {
		return Unary{}, err
	}
	return w.unary()
}

// ServerArgs are the arguments of `rpclab server` that make it serve the workload.
func (s Spec) ServerArgs() []string {
	w, err := s.work()
	if err != nil {
		return nil
	}
	return w.args()
}
