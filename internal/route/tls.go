package route

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	"rpclab/internal/route/settings"
	"rpclab/internal/service"
)

// Proxies read certificates and keys from files.
const (
	trustedFile = "trusted.pem"
	clientFile  = "client.pem"
)

// writeTLS writes the certificates and the key of connections to backends into a directory that is not shared.
func writeTLS(dir string, t service.TLS) (*settings.TLS, error) {
	written := &settings.TLS{ServerName: t.ServerName}
	write := func(name string, text []byte) (path string, err error) {
		path = filepath.Join(dir, name)
		return path, os.WriteFile(path, text, 0o600)
	}
	var err error
	if len(t.Cert) > 0 {
		if written.Client, err = write(clientFile, slices.Concat(t.Cert, []byte("\n"), t.Key)); err != nil {
			return nil, err
		}
	}
	switch {
	case t.Insecure:
	case len(t.CACert) > 0:
		written.CACert, err = write(trustedFile, t.CACert)
	default:
		written.CACert, err = systemCertificates()
	}
	return written, err
}

// systemCertificates returns the file of certificates that this system trusts, as package crypto/x509 finds it.
func systemCertificates() (string, error) {
	for _, path := range []string{
		os.Getenv("SSL_CERT_FILE"),
		"/etc/ssl/certs/ca-certificates.crt",                // Debian
		"/etc/pki/tls/certs/ca-bundle.crt",                  // Fedora
		"/etc/ssl/ca-bundle.pem",                            // SUSE
		"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", // RHEL
		"/etc/ssl/cert.pem",                                 // Alpine, macOS
	} {
		if file, err := os.Stat(path); err == nil && file.Mode().IsRegular() {
			return path, nil
		}
	}
	return "", errors.New("no file with the certificates that this system trusts was found, and proxies read them from a file: set tls.cacert")
}
