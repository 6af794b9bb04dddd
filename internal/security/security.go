// Package security is what services ask of each other: TLS and mutual TLS, tokens (JWT), and
// messages that are signed (CMS). Its keys are made for one run and written nowhere.
package security

import (
	"cmp"
	"fmt"
	"slices"
)

// How a connection is secured.
const (
	Plain = "none"
	TLS   = "tls"  // the server shows who it is
	MTLS  = "mtls" // and so does the client
)

// Transports are all of them.
var Transports = []string{Plain, TLS, MTLS}

// Policy is what a server asks of those who call it.
type Policy struct {
	Transport string `json:"transport,omitempty"` // one of [Transports]; empty: the first
	Tokens    bool   `json:"tokens,omitempty"`    // a token with every call
	Signing   bool   `json:"signing,omitempty"`   // every message is signed, answers too
}

// Any says whether it asks for anything.
func (p Policy) Any() bool { return p.Encrypted() || p.Tokens || p.Signing }

// Encrypted says whether connections are.
func (p Policy) Encrypted() bool { return cmp.Or(p.Transport, Plain) != Plain }

// Check says which transport there is not.
func (p Policy) Check() error {
	if p.Transport != "" && !slices.Contains(Transports, p.Transport) {
		return fmt.Errorf("there is no transport %q: take one of %v", p.Transport, Transports)
	}
	return nil
}

// Party is one end of a policy, with its keys. It crosses processes as JSON, on standard
// input alone.
type Party struct {
	Policy Policy `json:"policy"`
	Keys   Keys   `json:"keys"`
}

// ServerName is the name in every server's certificate, whatever its address.
const ServerName = "server.rpclab"

// Audience is whom tokens are for.
const Audience = "rpclab"

// ClientKey is the metadata that ties a client's answers to its stream.
const ClientKey = "clientid"

// TokenKey is the metadata that carries a token, after [Bearer].
const (
	TokenKey = "authorization"
	Bearer   = "Bearer "
)
