package load

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"strings"

	"rpclab/internal/service/request"
)

// TLS are the settings of TLS connections.
type TLS struct {
	On         bool   // implied by any other field
	CACert     string // file of trusted certificates; empty: the system's
	Cert, Key  string // files of the client's certificate
	ServerName string // name in the server's certificate; empty: the authority of the calls
	Insecure   bool   // do not check the server's certificate
}

// withServerName sets the name to verify to the host of an authority.
func withServerName(security *tls.Config, authority string) *tls.Config {
	if security == nil {
		return nil
	}
	security = security.Clone()
	security.ServerName = hostOf(authority)
	return security
}

// hostOf returns an authority without its port.
func hostOf(authority string) string {
	if host, _, err := net.SplitHostPort(authority); err == nil {
		return host
	}
	return strings.Trim(authority, "[]")
}

// Config returns the TLS configuration; nil: clear text.
func (t TLS) Config() (*tls.Config, error) {
	if t == (TLS{}) {
		return nil, nil
	}
	config := &tls.Config{ServerName: t.ServerName, InsecureSkipVerify: t.Insecure, MinVersion: tls.VersionTLS12}
	if t.CACert != "" {
		pem, err := os.ReadFile(t.CACert)
		if err != nil {
			return nil, request.Invalidf("--cacert: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, request.Invalidf("--cacert: %s contains no PEM certificate", t.CACert)
		}
	}
	if (t.Cert == "") != (t.Key == "") {
		return nil, request.Invalidf("--cert and --key must be set together: set both or neither")
	}
	if t.Cert != "" {
		own, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		if err != nil {
			return nil, request.Invalidf("--cert and --key: %w", err)
		}
		config.Certificates = []tls.Certificate{own}
	}
	return config, nil
}
