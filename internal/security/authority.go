package security

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// Keys are the keys and certificates of one side, in PEM.
type Keys struct {
	CA          string `json:"ca"`          // the authority's certificate, which servers and clients trust
	Certificate string `json:"certificate"` // the certificate of this side
	Key         string `json:"key"`         // the private key of the certificate
	Token       string `json:"token"`       // the key for tokens: a client's private key, a server's public key
	Peer        string `json:"peer"`        // the name that must sign messages to this side; empty: any client
	Name        string `json:"name"`        // the name in the certificate
}

// ServerName is the name in every server's certificate, for all addresses.
const ServerName = "server.rpclab"

// Lifetime is how long certificates and tokens are valid, longer than any run.
const Lifetime = 7 * 24 * time.Hour

// clockSkew is how long before now certificates become valid.
const clockSkew = time.Hour

// rsaBits is the size of the RSA keys that sign messages and tokens.
const rsaBits = 2048

// Authority issues the keys and certificates of a run. It is safe for concurrent use.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	server      *rsa.PrivateKey
	client      *rsa.PrivateKey // shared by all clients; only their certificates differ
	token       *rsa.PrivateKey
}

// NewAuthority creates an authority, which takes a few tenths of a second.
func NewAuthority() (*Authority, error) {
	a := &Authority{}
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, err
	}
	for _, key := range []**rsa.PrivateKey{&a.server, &a.client, &a.token} {
		if *key, err = rsa.GenerateKey(rand.Reader, rsaBits); err != nil {
			return nil, err
		}
	}
	a.certificate, err = newAuthorityCertificate("rpclab run", a.key)
	return a, err
}

// newAuthorityCertificate returns a certificate that is signed with its own key and can sign others.
func newAuthorityCertificate(name string, key *ecdsa.PrivateKey) (*x509.Certificate, error) {
	template := certificateTemplate(name, Lifetime)
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// Server issues the keys of the servers.
func (a *Authority) Server() (Keys, error) {
	public, err := x509.MarshalPKIXPublicKey(&a.token.PublicKey)
	if err != nil {
		return Keys{}, err
	}
	keys, err := a.keys(ServerName, a.server, Lifetime)
	keys.Token = encode("PUBLIC KEY", public)
	return keys, err
}

// Client issues the keys of a client. They are valid from now for the lifetime; if the
// lifetime is negative, they have expired.
func (a *Authority) Client(id string, lifetime time.Duration) (Keys, error) {
	keys, err := a.keys(id, a.client, lifetime)
	keys.Token, keys.Peer = encode("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(a.token)), ServerName
	return keys, err
}

// keys issues a certificate for a name.
func (a *Authority) keys(name string, key *rsa.PrivateKey, lifetime time.Duration) (Keys, error) {
	template := certificateTemplate(name, lifetime)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if name == ServerName {
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		template.DNSNames, template.IPAddresses = []string{ServerName, "localhost"}, []net.IP{net.IPv4(127, 0, 0, 1)}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return Keys{}, fmt.Errorf("certificate of %s: %w", name, err)
	}
	return Keys{CA: encode("CERTIFICATE", a.certificate.Raw), Certificate: encode("CERTIFICATE", der),
		Key: encode("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key)), Name: name}, nil
}

// certificateTemplate returns a certificate without a key usage.
func certificateTemplate(name string, lifetime time.Duration) *x509.Certificate {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil { // unreachable: crypto/rand ends the process on failure
		serial = big.NewInt(time.Now().UnixNano())
	}
	end := time.Now().Add(lifetime)
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(min(0, lifetime) - clockSkew), NotAfter: end,
	}
}

func encode(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// decode returns the first block of a PEM text.
func decode(what, text string) ([]byte, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, fmt.Errorf("%s is not PEM", what)
	}
	return block.Bytes, nil
}

// parsePEM decodes a PEM text and parses its content.
func parsePEM[T any](what, text string, parse func([]byte) (T, error)) (t T, err error) {
	raw, err := decode(what, text)
	if err != nil {
		return t, err
	}
	return parse(raw)
}

// certificateAndKey parses the certificate and its key.
func (k Keys) certificateAndKey() (*x509.Certificate, *rsa.PrivateKey, error) {
	certificate, err := parsePEM("the certificate", k.Certificate, x509.ParseCertificate)
	if err != nil {
		return nil, nil, err
	}
	key, err := parsePEM("the key", k.Key, x509.ParsePKCS1PrivateKey)
	return certificate, key, err
}

// pool returns a pool with the authority's certificate.
func (k Keys) pool() (*x509.CertPool, error) {
	certificate, err := parsePEM("the authority's certificate", k.CA, x509.ParseCertificate)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AddCert(certificate)
	return pool, nil
}

// tokenKey parses the server's public key for tokens.
func (k Keys) tokenKey() (crypto.PublicKey, error) {
	return parsePEM("the key for tokens", k.Token, x509.ParsePKIXPublicKey)
}
