// Package security implements what servers and clients require of each other: TLS, mutual TLS,
// tokens (JWT) and signed messages (CMS). Keys are created for one run.
package security

import (
	"cmp"
	"fmt"
	"slices"
)

// Transports of a connection.
const (
	Plain = "none"
	TLS   = "tls"  // the server has a certificate
	MTLS  = "mtls" // server and client have certificates
)

// Transports lists every transport.
var Transports = []string{Plain, TLS, MTLS}

// Policy is what a server requires of clients.
type Policy struct {
	Transport string `json:"transport,omitempty"` // one of [Transports]; empty: the first
	Tokens    bool   `json:"tokens,omitempty"`    // every call has a token
	Signing   bool   `json:"signing,omitempty"`   // every request and response is signed
	// NoAudience accepts tokens without an audience, as the client of the published study makes them.
	NoAudience bool `json:"no_audience,omitempty"`
}

// Required reports whether the policy requires anything.
func (p Policy) Required() bool { return p.Encrypted() || p.Tokens || p.Signing }

// Encrypted reports whether connections are encrypted.
func (p Policy) Encrypted() bool { return cmp.Or(p.Transport, Plain) != Plain }

// Check returns an error for an unknown transport.
func (p Policy) Check() error {
	if p.Transport != "" && !slices.Contains(Transports, p.Transport) {
		return fmt.Errorf("unknown transport %q: use one of %v", p.Transport, Transports)
	}
	return nil
}

// Config is a policy with the keys of one side. rpclab sends it to other processes as JSON, only
// over their standard input.
type Config struct {
	Policy Policy `json:"policy"`
	Keys   Keys   `json:"keys"`
}

// Audience is the audience of tokens.
const Audience = "rpclab"

// ClientKey is the metadata key that names the client of a call.
const ClientKey = "clientid"

// TokenKey is the metadata key of a token. Its value starts with [Bearer].
const (
	TokenKey = "authorization"
	Bearer   = "Bearer "
)
