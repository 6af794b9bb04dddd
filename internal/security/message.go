package security

import (
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"

	"github.com/smallstep/pkcs7"
)

// Signer signs messages with one key. It is safe for concurrent use.
type Signer struct {
	certificate *x509.Certificate
	key         *rsa.PrivateKey
}

// NewSigner returns a signer with these keys.
func (k Keys) NewSigner() (*Signer, error) {
	certificate, key, err := k.certificateAndKey()
	return &Signer{certificate, key}, err
}

// Sign returns a CMS SignedData message (RFC 5652) in DER with the content, signed with SHA-256,
// and the signer's certificate.
func (s *Signer) Sign(content []byte) ([]byte, error) {
	message, err := pkcs7.NewSignedData(content)
	if err != nil {
		return nil, err
	}
	message.SetDigestAlgorithm(pkcs7.OIDDigestAlgorithmSHA256)
	if err := message.AddSigner(s.certificate, s.key, pkcs7.SignerInfoConfig{}); err != nil {
		return nil, fmt.Errorf("sign a message: %w", err)
	}
	return message.Finish()
}

// Verifier verifies signed messages. It is safe for concurrent use.
type Verifier struct {
	trusted *x509.CertPool
	peer    string
}

// NewVerifier returns a verifier that trusts certificates of the keys' authority.
func (k Keys) NewVerifier() (*Verifier, error) {
	trusted, err := k.pool()
	return &Verifier{trusted, k.Peer}, err
}

// Verify returns the content of a message and its signer. An error is a [Rejection].
func (v *Verifier) Verify(message []byte) (content []byte, signer string, err error) {
	parsed, err := pkcs7.Parse(message)
	if err != nil {
		return nil, "", Rejection{BadSignature, fmt.Errorf("not a signed message: %w", err)}
	}
	certificate := parsed.GetOnlySigner()
	if certificate == nil {
		return nil, "", Rejection{BadSignature, errors.New("the message does not have exactly one signer")}
	}
	if err := parsed.VerifyWithChain(v.trusted); err != nil {
		return nil, "", Rejection{BadSignature, err}
	}
	signer = certificate.Subject.CommonName
	if v.peer != "" && signer != v.peer {
		return nil, "", Rejection{BadSignature, fmt.Errorf("signed by %q, must be signed by %q", signer, v.peer)}
	}
	return parsed.Content, signer, nil
}
