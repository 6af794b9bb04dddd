package security

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// ClientTLS returns the client's TLS configuration; nil: connections are not encrypted.
func (p Config) ClientTLS() (*tls.Config, error) {
	if !p.Policy.Encrypted() {
		return nil, p.Policy.Check()
	}
	config, err := p.tls()
	if err != nil {
		return nil, err
	}
	config.RootCAs, config.ServerName = config.ClientCAs, ServerName
	if p.Policy.Transport != MTLS {
		config.Certificates = nil
	}
	return config, nil
}

// ClientCredentials returns the client's gRPC credentials.
func (p Config) ClientCredentials() (credentials.TransportCredentials, error) {
	config, err := p.ClientTLS()
	if err != nil {
		return nil, err
	}
	if config == nil {
		return insecure.NewCredentials(), nil
	}
	return credentials.NewTLS(config), nil
}

// serverTLS returns the server's TLS configuration.
func (p Config) serverTLS() (*tls.Config, error) {
	config, err := p.tls()
	if err != nil {
		return nil, err
	}
	config.NextProtos = []string{"h2"}
	if p.Policy.Transport == MTLS {
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return config, nil
}

func (p Config) tls() (*tls.Config, error) {
	certificate, key, err := p.Keys.certificateAndKey()
	if err != nil {
		return nil, err
	}
	trusted, err := p.Keys.pool()
	return &tls.Config{
		MinVersion: tls.VersionTLS13, ClientCAs: trusted,
		Certificates: []tls.Certificate{{Certificate: [][]byte{certificate.Raw}, PrivateKey: key, Leaf: certificate}},
	}, err
}

// countingCredentials are server credentials that count failed handshakes by reason.
type countingCredentials struct {
	credentials.TransportCredentials
	onFailure func(Reason)
}

// ServerHandshake implements [credentials.TransportCredentials].
func (c countingCredentials) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secured, info, err := c.TransportCredentials.ServerHandshake(conn)
	if err != nil {
		c.onFailure(handshakeReason(err))
	}
	return secured, info, err
}

// Clone implements [credentials.TransportCredentials].
func (c countingCredentials) Clone() credentials.TransportCredentials {
	return countingCredentials{c.TransportCredentials.Clone(), c.onFailure}
}

// handshakeReason returns why a handshake failed.
func handshakeReason(err error) Reason {
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return UnknownCA
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return ExpiredCertificate
	}
	return BadHandshake
}

// certificateName returns the name in a client's certificate, or "".
func certificateName(info credentials.AuthInfo) string {
	state, ok := info.(credentials.TLSInfo)
	if !ok || len(state.State.PeerCertificates) == 0 {
		return ""
	}
	return state.State.PeerCertificates[0].Subject.CommonName
}
