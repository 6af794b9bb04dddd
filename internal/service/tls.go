package service

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
)

// TLS is how a client of a service uses TLS. Certificates and the key are PEM; processes exchange them over
// pipes only.
type TLS struct {
	CACert     []byte `json:"cacert,omitempty"` // trusted certificates; empty: the system's
	Cert       []byte `json:"cert,omitempty"`   // of the client; empty: none
	Key        []byte `json:"key,omitempty"`
	ServerName string `json:"servername,omitempty"` // empty: the authority, or the target
	Insecure   bool   `json:"insecure,omitempty"`   // the server's certificate is not verified
}

// Config returns the configuration of connections; nil for clear text.
func (t *TLS) Config() (*tls.Config, error) {
	if t == nil {
		return nil, nil
	}
	config := &tls.Config{ServerName: t.ServerName, InsecureSkipVerify: t.Insecure, MinVersion: tls.VersionTLS12}
	if len(t.CACert) > 0 {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(t.CACert) {
			return nil, errors.New("tls.cacert contains no PEM certificate")
		}
	}
	if len(t.Cert) > 0 {
		own, err := tls.X509KeyPair(t.Cert, t.Key)
		if err != nil {
			return nil, fmt.Errorf("tls.cert and tls.key: %w", err)
		}
		config.Certificates = []tls.Certificate{own}
	}
	return config, nil
}
