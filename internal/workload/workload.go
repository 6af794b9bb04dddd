// Package workload defines what a call does: the Go servers under test, and the requests that
// callers send to them.
package workload

import (
	"errors"

	"google.golang.org/protobuf/proto"
)

// BackendTrailer is the trailing metadata key with the identity of the backend, in every answer.
const BackendTrailer = "rpclab-backend"

// Spec selects a workload; exactly one field is set. It is sent to other processes as JSON.
type Spec struct {
	Greet     *Greet     `json:"greet,omitempty"`
	Fibonacci *Fibonacci `json:"fibonacci,omitempty"`
	Increment *Increment `json:"increment,omitempty"`
	Increase  *Increase  `json:"increase,omitempty"`
	Orders    *Orders    `json:"orders,omitempty"`
	Calculate *Calculate `json:"calculate,omitempty"`
}

// definition is implemented by every workload.
type definition interface {
	unary() (Unary, error)
	args() []string // flags of `rpclab server`
}

func (s Spec) definition() (definition, error) {
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
	return nil, errors.New("no workload: use greet, fibonacci, increment, increase, orders or calculate")
}

// Unary describes a workload's calls to callers.
type Unary struct {
	Method string // full name with slashes
	// Stream is the streaming method that answers the same requests as messages; empty: none.
	// The identity is in its header.
	Stream string
	// Path accepts the request as a JSON POST and returns the reply as JSON; empty: none.
	Path string
	// SameRequest means that every call sends the same request. ConstantReply means that each
	// backend also answers every call with the same reply.
	SameRequest, ConstantReply bool
	// Request returns call n's message, which may be shared and must not be modified.
	Request func(n uint64) proto.Message
	// Reply returns an empty message for an answer.
	Reply func() proto.Message
	// Check returns what is wrong with call n's answer, given the identity in its trailer. It is
	// safe for concurrent use.
	Check func(n uint64, reply proto.Message, backend string) error
}

// Unary returns the workload's calls.
func (s Spec) Unary() (Unary, error) {
	chosen, err := s.definition()
	if err != nil {
		return Unary{}, err
	}
	return chosen.unary()
}

// ServerArgs returns the flags of `rpclab server` for the workload.
func (s Spec) ServerArgs() []string {
	chosen, err := s.definition()
	if err != nil {
		return nil
	}
	return chosen.args()
}
