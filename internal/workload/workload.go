// Package workload defines what a call does: the Go servers under test, and the requests that
// callers send to them.
package workload

import (
	"errors"
)

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
