package security

import (
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"

	"github.com/smallstep/pkcs7"
)

// Signer signs messages as one party. Many goroutines may use it at once.
type Signer struct {
	certificate *x509.Certificate
	key         *rsa.PrivateKey
}

// NewSigner signs as the party.
func (k Keys) NewSigner() (*Signer, error) {
	certificate, key, err := k.own()
	return &Signer{certificate, key}, err
}

// Sign makes of a content a CMS SignedData (RFC 5652) in DER, with SHA-256 and the
// certificate of who signs.
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

// Verifier reads signed messages. Many goroutines may use it at once.
type Verifier struct {
	trusted *x509.CertPool
	peer    string
}

// NewVerifier trusts those whom the party's authority signed.
func (k Keys) NewVerifier() (*Verifier, error) {
	trusted, err := k.trusted()
	return &Verifier{trusted, k.Peer}, err
}

// Verify returns the content of a message and who signed it; the error is a [Refusal].
func (v *Verifier) Verify(message []byte) (content []byte, signer string, err error) {
	parsed, err := pkcs7.Parse(message)
	if err != nil {
		return nil, "", Refusal{BadSignature, fmt.Errorf("no signed message: %w", err)}
	}
	by := parsed.GetOnlySigner()
	if by == nil {
		return nil, "", Refusal{BadSignature, errors.New("the message has not one signer")}
	}
	if err := parsed.VerifyWithChain(v.trusted); err != nil {
		return nil, "", Refusal{BadSignature, err}
	}
	if v.peer != "" && by.Subject.CommonName != v.peer {
		return nil, "", Refusal{BadSignature, fmt.Errorf("signed by %q, not by %q", by.Subject.CommonName, v.peer)}
	}
	return parsed.Content, by.Subject.CommonName, nil
}
