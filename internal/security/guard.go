package security

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
)

// Guard enforces a server's policy and counts rejected calls and connections. It is safe for
// concurrent use.
type Guard struct {
	policy    Policy
	transport credentials.TransportCredentials
	tokens    tokenReader
	signer    *Signer
	verifier  *Verifier

	mu       sync.Mutex
	rejected map[Reason]uint64
}

// NewGuard returns the guard of a server.
func NewGuard(p Config) (*Guard, error) {
	g := &Guard{policy: p.Policy, rejected: map[Reason]uint64{}}
	if !p.Policy.Required() {
		return g, nil
	}
	var errs [4]error
	g.tokens, errs[0] = newTokenReader(p)
	g.signer, errs[1] = p.Keys.NewSigner()
	g.verifier, errs[2] = p.Keys.NewVerifier()
	if p.Policy.Encrypted() {
		config, err := p.serverTLS()
		g.transport, errs[3] = countingCredentials{credentials.NewTLS(config), g.CountRejected}, err
	}
	if err := errors.Join(append(errs[:], p.Policy.Check())...); err != nil {
		return nil, fmt.Errorf("the server's keys: %w", err)
	}
	return g, nil
}

// Policy returns the policy that the guard enforces.
func (g *Guard) Policy() Policy { return g.policy }

// Transport returns the server's credentials; nil: connections are not encrypted.
func (g *Guard) Transport() credentials.TransportCredentials { return g.transport }

// Authenticate returns the client that makes a call. The client in the metadata must match the
// token and the certificate. An error is a [Rejection], which Authenticate counts.
func (g *Guard) Authenticate(ctx context.Context) (client string, err error) {
	client, err = g.authenticate(ctx)
	return client, g.countRejection(err)
}

func (g *Guard) authenticate(ctx context.Context) (string, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	client := first(md[ClientKey])
	if client == "" {
		return "", Rejection{Malformed, fmt.Errorf("the call does not name its client: send metadata %s", ClientKey)}
	}
	if g.policy.Tokens {
		token, ok := strings.CutPrefix(first(md[TokenKey]), Bearer)
		if !ok {
			return "", Rejection{NoToken, fmt.Errorf("the call has no token: send metadata %s: %s…", TokenKey, Bearer)}
		}
		subject, err := g.tokens.subject(token)
		if err != nil {
			return "", err
		}
		if subject != client {
			return "", Rejection{WrongClient, fmt.Errorf("the token belongs to %q, but the call to %q", subject, client)}
		}
	}
	if p, ok := peer.FromContext(ctx); ok && g.policy.Transport == MTLS {
		if name := certificateName(p.AuthInfo); name != client {
			return "", Rejection{WrongClient, fmt.Errorf("the certificate belongs to %q, but the call to %q", name, client)}
		}
	}
	return client, nil
}

// Verify returns the content of a client's message, whose signature it verifies if the policy
// requires one. An error is a [Rejection], which Verify counts.
func (g *Guard) Verify(client string, message []byte) ([]byte, error) {
	if !g.policy.Signing {
		return message, nil
	}
	content, signer, err := g.verifier.Verify(message)
	if err == nil && signer != client {
		err = Rejection{Replayed, fmt.Errorf("the message is signed by %q, but the call belongs to %q", signer, client)}
	}
	return content, g.countRejection(err)
}

// Sign signs a response if the policy requires it.
func (g *Guard) Sign(response []byte) ([]byte, error) {
	if !g.policy.Signing {
		return response, nil
	}
	return g.signer.Sign(response)
}

// countRejection counts an error that is a Rejection.
func (g *Guard) countRejection(err error) error {
	var rejection Rejection
	if errors.As(err, &rejection) {
		g.CountRejected(rejection.Reason)
	}
	return err
}

// CountRejected counts a rejected call or connection.
func (g *Guard) CountRejected(r Reason) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rejected[r]++
}

// Rejected returns how many calls and connections were rejected for a reason.
func (g *Guard) Rejected(r Reason) uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.rejected[r]
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}
