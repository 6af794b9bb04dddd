package security

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// ClientTLS is how a client of the policy connects; nil: in clear text.
func (p Party) ClientTLS() (*tls.Config, error) {
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

// ClientCredentials are those of gRPC for the same.
func (p Party) ClientCredentials() (credentials.TransportCredentials, error) {
	config, err := p.ClientTLS()
	if err != nil {
		return nil, err
	}
	if config == nil {
		return insecure.NewCredentials(), nil
	}
	return credentials.NewTLS(config), nil
}

// serverTLS is how a server of the policy is connected to.
func (p Party) serverTLS() (*tls.Config, error) {
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

func (p Party) tls() (*tls.Config, error) {
	certificate, key, err := p.Keys.own()
	if err != nil {
		return nil, err
	}
	trusted, err := p.Keys.trusted()
	return &tls.Config{
		MinVersion: tls.VersionTLS13, ClientCAs: trusted,
		Certificates: []tls.Certificate{{Certificate: [][]byte{certificate.Raw}, PrivateKey: key, Leaf: certificate}},
	}, err
}

// counting are server credentials that say why a handshake came to nothing.
type counting struct {
	credentials.TransportCredentials
	refuse func(Reason)
}

// ServerHandshake implements [credentials.TransportCredentials].
func (c counting) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secured, info, err := c.TransportCredentials.ServerHandshake(conn)
	if err != nil {
		c.refuse(handshake(err))
	}
	return secured, info, err
}

// Clone implements [credentials.TransportCredentials].
func (c counting) Clone() credentials.TransportCredentials {
	return counting{c.TransportCredentials.Clone(), c.refuse}
}

// handshake is why one failed.
func handshake(err error) Reason {
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return UnknownCA
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return ExpiredCertificate
	}
	return BadHandshake
}

// shown is who a client's certificate says that it is; "": it showed none.
func shown(info credentials.AuthInfo) string {
	state, ok := info.(credentials.TLSInfo)
	if !ok || len(state.State.PeerCertificates) == 0 {
		return ""
	}
	return state.State.PeerCertificates[0].Subject.CommonName
}
