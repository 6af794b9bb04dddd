package load

import (
	"crypto/tls"
	"crypto/x509"
	"os"

	"rpclab/internal/load/request"
)

// TLS is how connections are secured.
type TLS struct {
	On         bool   // also when any other field is set
	CACert     string // file of the certificates to trust; empty: those of the system
	Cert, Key  string // files of the client's own
	ServerName string // whom the certificate has to name; empty: the host of the target
	Insecure   bool   // do not check the server's certificate
}

// Config is nil for clear text.
func (t TLS) Config() (*tls.Config, error) {
	if t == (TLS{}) {
		return nil, nil
	}
	config := &tls.Config{ServerName: t.ServerName, InsecureSkipVerify: t.Insecure, MinVersion: tls.VersionTLS12}
	if t.CACert != "" {
		pem, err := os.ReadFile(t.CACert)
		if err != nil {
			return nil, request.Wrongf("--cacert: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, request.Wrongf("--cacert: %s has no certificate in PEM form", t.CACert)
		}
	}
	if (t.Cert == "") != (t.Key == "") {
		return nil, request.Wrongf("--cert and --key go together: one is missing")
	}
	if t.Cert != "" {
		own, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		if err != nil {
			return nil, request.Wrongf("--cert and --key: %w", err)
		}
		config.Certificates = []tls.Certificate{own}
	}
	return config, nil
}
