package security

import (
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// Tokens issues tokens (RFC 7519, RS256) for one client.
type Tokens struct {
	client string
	signer jose.Signer
}

// NewTokens returns an issuer of tokens for the client that the keys name.
func (k Keys) NewTokens() (*Tokens, error) {
	key, err := parsePEM("the key for tokens", k.Token, x509.ParsePKCS1PrivateKey)
	if err != nil {
		return nil, err
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: key}, new(jose.SignerOptions).WithType("JWT"))
	return &Tokens{k.Name, signer}, err
}

// Issue returns a token for an audience. The token is valid from now for the lifetime.
func (t *Tokens) Issue(audience string, lifetime time.Duration) (string, error) {
	now := time.Now()
	return jwt.Signed(t.signer).Claims(jwt.Claims{
		Subject: t.client, Audience: jwt.Audience{audience},
		IssuedAt: jwt.NewNumericDate(now), Expiry: jwt.NewNumericDate(now.Add(lifetime)),
	}).Serialize()
}

// tokenReader validates tokens.
type tokenReader struct {
	key        crypto.PublicKey
	noAudience bool // a token may have no audience
}

func newTokenReader(c Config) (tokenReader, error) {
	key, err := c.Keys.tokenKey()
	return tokenReader{key, c.Policy.NoAudience}, err
}

// subject returns the token's client. An error is a [Rejection].
func (r tokenReader) subject(token string) (string, error) {
	claims, err := r.claims(token)
	switch {
	case errors.Is(err, jwt.ErrExpired):
		return "", Rejection{ExpiredToken, err}
	case err != nil:
		return "", Rejection{BadToken, err}
	case !slices.Contains(claims.Audience, Audience) && !(r.noAudience && len(claims.Audience) == 0):
		return "", Rejection{WrongAudience, fmt.Errorf("the token is for the audience %q, want %q", []string(claims.Audience), Audience)}
	case claims.Subject == "":
		return "", Rejection{BadToken, fmt.Errorf("the token has no subject")}
	}
	return claims.Subject, nil
}

// claims verifies the signature and the times of a token.
func (r tokenReader) claims(token string) (claims jwt.Claims, err error) {
	signed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		return claims, err
	}
	if err := signed.Claims(r.key, &claims); err != nil {
		return claims, err
	}
	if claims.Expiry == nil {
		return claims, errors.New("the token does not expire")
	}
	claims.IssuedAt = nil // by the client's clock, which may be ahead
	return claims, claims.ValidateWithLeeway(jwt.Expected{Time: time.Now()}, 0)
}
