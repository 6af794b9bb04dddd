package security

import (
	"crypto"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Tokens makes tokens (RFC 7519, RS256) for one client.
type Tokens struct {
	client string
	key    *rsa.PrivateKey
}

// NewTokens makes those of the party's name.
func (k Keys) NewTokens() (*Tokens, error) {
	key, err := block("the key for tokens", k.Token, x509.ParsePKCS1PrivateKey)
	return &Tokens{k.Name, key}, err
}

// Make makes a token for an audience that holds for so long from now.
func (t *Tokens) Make(audience string, life time.Duration) (string, error) {
	now := time.Now()
	return jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.RegisteredClaims{
		Subject: t.client, Audience: jwt.ClaimStrings{audience},
		IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(life)),
	}).SignedString(t.key)
}

// reader checks tokens.
type reader struct {
	key    crypto.PublicKey
	parser *jwt.Parser
}

func newReader(k Keys) (reader, error) {
	key, err := k.public()
	return reader{key, jwt.NewParser(jwt.WithValidMethods([]string{jwt.SigningMethodRS256.Alg()}),
		jwt.WithAudience(Audience), jwt.WithExpirationRequired())}, err
}

// subject is whose token it is; the error is a [Refusal].
func (r reader) subject(token string) (string, error) {
	var claims jwt.RegisteredClaims
	_, err := r.parser.ParseWithClaims(token, &claims, func(*jwt.Token) (any, error) { return r.key, nil })
	switch {
	case errors.Is(err, jwt.ErrTokenExpired):
		return "", Refusal{ExpiredToken, err}
	case errors.Is(err, jwt.ErrTokenInvalidAudience):
		return "", Refusal{WrongAudience, err}
	case err != nil:
		return "", Refusal{BadToken, err}
	case claims.Subject == "":
		return "", Refusal{BadToken, fmt.Errorf("the token has no subject")}
	}
	return claims.Subject, nil
}
