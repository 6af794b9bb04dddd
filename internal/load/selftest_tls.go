package load

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"time"
)

// testKeys are the certificate of a test server, which it signs itself, and its private key; empty: no TLS.
type testKeys struct{ Certificate, Key []byte } // DER

// newTestKeys returns keys for 127.0.0.1.
func newTestKeys() (keys testKeys, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keys, err
	}
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	if keys.Certificate, err = x509.CreateCertificate(rand.Reader, form, form, key.Public(), key); err != nil {
		return keys, err
	}
	keys.Key, err = x509.MarshalECPrivateKey(key)
	return keys, err
}

// client returns the configuration of a client that trusts the server.
func (k testKeys) client() (*tls.Config, error) {
	certificate, err := x509.ParseCertificate(k.Certificate)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	config.RootCAs.AddCert(certificate)
	return config, nil
}

// listen encrypts the connections of a listener, for HTTP/2 and HTTP/1.1.
func (k testKeys) listen(listener net.Listener) (net.Listener, error) {
	key, err := x509.ParseECPrivateKey(k.Key)
	if err != nil {
		return nil, err
	}
	return tls.NewListener(listener, &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{k.Certificate}, PrivateKey: key}}, NextProtos: []string{"h2", "http/1.1"}, MinVersion: tls.VersionTLS12,
	}), nil
}
