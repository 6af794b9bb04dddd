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
	CA          string `json:"ca"`          // the certificate of the authority that all trust
	Certificate string `json:"certificate"` // its own, which has its name
	Key         string `json:"key"`         // of that certificate
	Token       string `json:"token"`       // a client's private key for tokens, a server's public one
	Peer        string `json:"peer"`        // who has to sign what it reads; empty: any client
	Name        string `json:"name"`        // in its certificate
}

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
	form := certificateTemplate("rpclab run", Lifetime)
	form.IsCA, form.BasicConstraintsValid, form.KeyUsage = true, true, x509.KeyUsageCertSign
	raw, err := x509.CreateCertificate(rand.Reader, form, form, &a.key.PublicKey, a.key)
	if err != nil {
		return nil, err
	}
	a.certificate, err = x509.ParseCertificate(raw)
	return a, err
}

// Server issues the keys of the servers.
func (a *Authority) Server() (Keys, error) {
	public, err := x509.MarshalPKIXPublicKey(&a.token.PublicKey)
	if err != nil {
		return Keys{}, err
	}
	k, err := a.keys(ServerName, a.server, Lifetime)
	k.Token = encode("PUBLIC KEY", public)
	return k, err
}

// Client issues the keys of a client. They are valid for life from now; with a negative life they
// have expired.
func (a *Authority) Client(id string, life time.Duration) (Keys, error) {
	k, err := a.keys(id, a.client, life)
	k.Token, k.Peer = encode("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(a.token)), ServerName
	return k, err
}

// keys issues a certificate for a name.
func (a *Authority) keys(name string, key *rsa.PrivateKey, life time.Duration) (Keys, error) {
	form := certificateTemplate(name, life)
	form.KeyUsage = x509.KeyUsageDigitalSignature
	form.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if name == ServerName {
		form.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		form.DNSNames, form.IPAddresses = []string{ServerName, "localhost"}, []net.IP{net.IPv4(127, 0, 0, 1)}
	}
	raw, err := x509.CreateCertificate(rand.Reader, form, a.certificate, key.Public(), a.key)
	if err != nil {
		return Keys{}, fmt.Errorf("certificate of %s: %w", name, err)
	}
	return Keys{CA: encode("CERTIFICATE", a.certificate.Raw), Certificate: encode("CERTIFICATE", raw),
		Key: encode("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key)), Name: name}, nil
}

// certificateTemplate returns a certificate without its purpose.
func certificateTemplate(name string, life time.Duration) *x509.Certificate {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil { // unreachable: crypto/rand ends the process on failure
		serial = big.NewInt(time.Now().UnixNano())
	}
	end := time.Now().Add(life)
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(min(0, life) - clockSkew), NotAfter: end,
	}
}

func encode(kind string, raw []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}))
}

// decode returns the first block of a PEM text.
func decode(what, text string) ([]byte, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, fmt.Errorf("%s is not PEM", what)
	}
	return block.Bytes, nil
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
