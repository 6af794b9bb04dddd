package security

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"net"
	"sync"
)

// IssuerKeys are the certificate and the private key of an [Issuer], in PEM. Processes exchange them over pipes only.
type IssuerKeys struct {
	Certificate string `json:"certificate"` // which clients trust
	Key         string `json:"key"`
}

// NewIssuerKeys creates the keys of an issuer.
func NewIssuerKeys() (k IssuerKeys, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return k, err
	}
	certificate, err := newAuthorityCertificate("rpclab fault proxies", key)
	if err != nil {
		return k, err
	}
	secret, err := x509.MarshalECPrivateKey(key)
	return IssuerKeys{Certificate: encode("CERTIFICATE", certificate.Raw), Key: encode("EC PRIVATE KEY", secret)}, err
}

// Issuer issues certificates of servers for the names by which clients call them. It is safe for concurrent use.
type Issuer struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey

	mu     sync.Mutex
	issued map[string]*tls.Certificate
}

// Issuer returns the issuer of the keys.
func (k IssuerKeys) Issuer() (*Issuer, error) {
	certificate, err := parsePEM("the issuer's certificate", k.Certificate, x509.ParseCertificate)
	if err != nil {
		return nil, err
	}
	key, err := parsePEM("the issuer's key", k.Key, x509.ParseECPrivateKey)
	return &Issuer{certificate: certificate, key: key, issued: map[string]*tls.Certificate{}}, err
}

// For returns the certificate of a host, which is a name or an IP address.
func (i *Issuer) For(host string) (*tls.Certificate, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if known := i.issued[host]; known != nil {
		return known, nil
	}
	template := certificateTemplate(host, Lifetime)
	template.KeyUsage, template.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, i.certificate, &i.key.PublicKey, i.key)
	if err != nil {
		return nil, err
	}
	i.issued[host] = &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: i.key}
	return i.issued[host], nil
}
