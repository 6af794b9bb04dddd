package security

import (
	"crypto"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Tokens issues tokens (RFC 7519, RS256) for one client.
type Tokens struct {
	client string
	key    *rsa.PrivateKey
}

// NewTokens returns an issuer of tokens for the client that the keys name.
func (k Keys) NewTokens() (*Tokens, error) {
	key, err := parsePEM("the key for tokens", k.Token, x509.ParsePKCS1PrivateKey)
	return &Tokens{k.Name, key}, err
}

// Issue returns a token for an audience. The token is valid from now for the lifetime.
func (t *Tokens) Issue(audience string, lifetime time.Duration) (string, error) {
	now := time.Now()
	return jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.RegisteredClaims{
		Subject: t.client, Audience: jwt.ClaimStrings{audience},
		IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(lifetime)),
	}).SignedString(t.key)
}

// tokenReader validates tokens.
type tokenReader struct {
	key        crypto.PublicKey
	parser     *jwt.Parser
	noAudience bool // a token may have no audience
}

func newTokenReader(c Config) (tokenReader, error) {
	key, err := c.Keys.tokenKey()
	return tokenReader{key, jwt.NewParser(jwt.WithValidMethods([]string{jwt.SigningMethodRS256.Alg()}), jwt.WithExpirationRequired()),
		c.Policy.NoAudience}, err
}

// subject returns the token's client. An error is a [Rejection].
func (r tokenReader) subject(token string) (string, error) {
	var claims jwt.RegisteredClaims
	_, err := r.parser.ParseWithClaims(token, &claims, func(*jwt.Token) (any, error) { return r.key, nil })
	switch {
	case errors.Is(err, jwt.ErrTokenExpired):
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
