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

// Keys are those of one party, in PEM.
type Keys struct {
	CA          string `json:"ca"`          // the certificate of the authority that all trust
	Certificate string `json:"certificate"` // its own, which has its name
	Key         string `json:"key"`         // of that certificate
	Token       string `json:"token"`       // a client's private key for tokens, a server's public one
	Peer        string `json:"peer"`        // who has to sign what it reads; empty: any client
	Name        string `json:"name"`        // in its certificate
}

// Life is how long what an authority signs holds, longer than any run.
const Life = 7 * 24 * time.Hour

// early is how long before now it begins to hold: clocks differ.
const early = time.Hour

// bits of the RSA keys that sign messages and tokens.
const bits = 2048

// Authority makes the keys and certificates of a run. Many goroutines may use it at once.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	server      *rsa.PrivateKey
	client      *rsa.PrivateKey // of every client: only their certificates differ
	token       *rsa.PrivateKey
}

// NewAuthority makes one that nobody trusts yet. It takes some tenths of a second.
func NewAuthority() (*Authority, error) {
	a := &Authority{}
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, err
	}
	for _, key := range []**rsa.PrivateKey{&a.server, &a.client, &a.token} {
		if *key, err = rsa.GenerateKey(rand.Reader, bits); err != nil {
			return nil, err
		}
	}
	form := form("rpclab run", Life)
	form.IsCA, form.BasicConstraintsValid, form.KeyUsage = true, true, x509.KeyUsageCertSign
	raw, err := x509.CreateCertificate(rand.Reader, form, form, &a.key.PublicKey, a.key)
	if err != nil {
		return nil, err
	}
	a.certificate, err = x509.ParseCertificate(raw)
	return a, err
}

// Server are the keys of the servers.
func (a *Authority) Server() (Keys, error) {
	public, err := x509.MarshalPKIXPublicKey(&a.token.PublicKey)
	if err != nil {
		return Keys{}, err
	}
	k, err := a.keys(ServerName, a.server, Life)
	k.Token = encode("PUBLIC KEY", public)
	return k, err
}

// Client are the keys of the client with an identity, which hold for so long from now;
// negative: they have expired.
func (a *Authority) Client(id string, life time.Duration) (Keys, error) {
	k, err := a.keys(id, a.client, life)
	k.Token, k.Peer = encode("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(a.token)), ServerName
	return k, err
}

// keys are those of a name, under a certificate of this authority.
func (a *Authority) keys(name string, key *rsa.PrivateKey, life time.Duration) (Keys, error) {
	form := form(name, life)
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

// form is a certificate to be filled in.
func form(name string, life time.Duration) *x509.Certificate {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil { // never: crypto/rand ends the process first
		serial = big.NewInt(time.Now().UnixNano())
	}
	end := time.Now().Add(life)
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(min(0, life) - early), NotAfter: end,
	}
}

func encode(kind string, raw []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}))
}

// decode is the first block of a PEM text.
func decode(what, text string) ([]byte, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, fmt.Errorf("%s is no PEM", what)
	}
	return block.Bytes, nil
}

// own are a party's certificate and key.
func (k Keys) own() (*x509.Certificate, *rsa.PrivateKey, error) {
	certificate, err := block("the certificate", k.Certificate, x509.ParseCertificate)
	if err != nil {
		return nil, nil, err
	}
	key, err := block("the key", k.Key, x509.ParsePKCS1PrivateKey)
	return certificate, key, err
}

// trusted is the authority, as a pool.
func (k Keys) trusted() (*x509.CertPool, error) {
	certificate, err := block("the authority's certificate", k.CA, x509.ParseCertificate)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AddCert(certificate)
	return pool, nil
}

// public is a server's key for tokens.
func (k Keys) public() (crypto.PublicKey, error) {
	return block("the key for tokens", k.Token, x509.ParsePKIXPublicKey)
}
