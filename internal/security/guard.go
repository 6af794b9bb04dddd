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

// Guard holds callers of a server to its policy, and counts those whom it turns away. Many
// goroutines may use it at once.
type Guard struct {
	policy    Policy
	transport credentials.TransportCredentials
	tokens    reader
	signer    *Signer
	verifier  *Verifier

	mu      sync.Mutex
	refused map[Reason]uint64
}

// NewGuard guards a server.
func NewGuard(p Party) (*Guard, error) {
	g := &Guard{policy: p.Policy, refused: map[Reason]uint64{}}
	if !p.Policy.Any() {
		return g, nil
	}
	var errs [4]error
	g.tokens, errs[0] = newReader(p.Keys)
	g.signer, errs[1] = p.Keys.NewSigner()
	g.verifier, errs[2] = p.Keys.NewVerifier()
	if p.Policy.Encrypted() {
		config, err := p.serverTLS()
		g.transport, errs[3] = counting{credentials.NewTLS(config), g.Refuse}, err
	}
	if err := errors.Join(append(errs[:], p.Policy.Check())...); err != nil {
		return nil, fmt.Errorf("the server's keys: %w", err)
	}
	return g, nil
}

// Policy is what it holds callers to.
func (g *Guard) Policy() Policy { return g.policy }

// Transport are the server's credentials; nil: connections are not encrypted.
func (g *Guard) Transport() credentials.TransportCredentials { return g.transport }

// Admit returns the client that a call is of, as its metadata says and its token and its
// certificate confirm. The error is a [Refusal], and counted.
func (g *Guard) Admit(ctx context.Context) (client string, err error) {
	client, err = g.admit(ctx)
	return client, g.counted(err)
}

func (g *Guard) admit(ctx context.Context) (string, error) {
	said, _ := metadata.FromIncomingContext(ctx)
	client := first(said[ClientKey])
	if client == "" {
		return "", Refusal{Garbled, fmt.Errorf("a call has to say whose it is: metadata %s", ClientKey)}
	}
	if g.policy.Tokens {
		token, is := strings.CutPrefix(first(said[TokenKey]), Bearer)
		if !is {
			return "", Refusal{NoToken, fmt.Errorf("a call has to have a token: metadata %s: %s…", TokenKey, Bearer)}
		}
		subject, err := g.tokens.subject(token)
		if err != nil {
			return "", err
		}
		if subject != client {
			return "", Refusal{WrongClient, fmt.Errorf("the token is of %q, and the call of %q", subject, client)}
		}
	}
	if p, ok := peer.FromContext(ctx); ok && g.policy.Transport == MTLS {
		if name := shown(p.AuthInfo); name != client {
			return "", Refusal{WrongClient, fmt.Errorf("the certificate is of %q, and the call of %q", name, client)}
		}
	}
	return client, nil
}

// Read returns the content of a client's message. The error is a [Refusal], and counted.
func (g *Guard) Read(client string, message []byte) ([]byte, error) {
	if !g.policy.Signing {
		return message, nil
	}
	content, signer, err := g.verifier.Verify(message)
	if err == nil && signer != client {
		err = Refusal{Replayed, fmt.Errorf("the message is signed by %q, and the call of %q", signer, client)}
	}
	return content, g.counted(err)
}

// Write signs an answer, where they are signed.
func (g *Guard) Write(answer []byte) ([]byte, error) {
	if !g.policy.Signing {
		return answer, nil
	}
	return g.signer.Sign(answer)
}

// counted counts an error that is a refusal.
func (g *Guard) counted(err error) error {
	var refusal Refusal
	if errors.As(err, &refusal) {
		g.Refuse(refusal.Reason)
	}
	return err
}

// Refuse counts somebody who was turned away.
func (g *Guard) Refuse(r Reason) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refused[r]++
}

// Refused is how many were turned away for a reason.
func (g *Guard) Refused(r Reason) uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.refused[r]
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}
