package faultproxy

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"time"

	"rpclab/internal/security"
	"rpclab/internal/service"
)

// TLS is how a proxy encrypts connections. It reads the calls in between.
type TLS struct {
	Issuer  security.IssuerKeys `json:"issuer"`  // of the certificates that clients see
	Service service.TLS         `json:"service"` // of connections to the backend
}

// handshakeTimeout limits the handshakes of a connection.
const handshakeTimeout = 10 * time.Second

// encryption encrypts the connections of a proxy.
type encryption struct {
	issuer  *security.Issuer
	backend *tls.Config
	client  []byte // the only certificate of clients that is accepted; nil: clients need none
}

// UseTLS encrypts the connections that follow. Call it before Serve.
func (p *Proxy) UseTLS(t TLS) error {
	issuer, err := t.Issuer.Issuer()
	if err != nil {
		return err
	}
	config, err := t.Service.Config()
	if err != nil {
		return err
	}
	p.encryption = &encryption{issuer: issuer, backend: config}
	for _, own := range config.Certificates {
		p.encryption.client = own.Certificate[0]
	}
	return nil
}

// handshake encrypts both connections. A client is answered once the backend has accepted the proxy, with the
// protocol and the version of TLS that the backend chose from what the client offers.
func (e *encryption) handshake(client, backend net.Conn) (secureClient, secureBackend *tls.Conn, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), handshakeTimeout)
	defer cancel()
	secureClient = tls.Server(client, &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		config := e.backend.Clone()
		config.NextProtos = hello.SupportedProtos
		config.ServerName = cmp.Or(config.ServerName, hello.ServerName, hostOf(backend.RemoteAddr()))
		secureBackend = tls.Client(backend, config)
		if err := secureBackend.HandshakeContext(ctx); err != nil {
			return nil, fmt.Errorf("the backend: %w", err)
		}
		return e.forClient(cmp.Or(hello.ServerName, hostOf(client.LocalAddr())), secureBackend.ConnectionState())
	}})
	return secureClient, secureBackend, secureClient.HandshakeContext(ctx)
}

// forClient returns the configuration that answers a client, which calls the proxy by the name of a host.
func (e *encryption) forClient(host string, backend tls.ConnectionState) (*tls.Config, error) {
	certificate, err := e.issuer.For(host)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{Certificates: []tls.Certificate{*certificate}, MinVersion: backend.Version, MaxVersion: backend.Version}
	if backend.NegotiatedProtocol != "" {
		config.NextProtos = []string{backend.NegotiatedProtocol}
	}
	if e.client != nil { // nobody else may use the connections that the proxy makes with its key
		config.ClientAuth = tls.RequireAnyClientCert
		config.VerifyPeerCertificate = func(given [][]byte, _ [][]*x509.Certificate) error {
			if !bytes.Equal(given[0], e.client) {
				return errors.New("the client's certificate is not that of the service file")
			}
			return nil
		}
	}
	return config, nil
}

func hostOf(address net.Addr) string {
	host, _, err := net.SplitHostPort(address.String())
	if err != nil { // unreachable: it is the address of a TCP connection
		return address.String()
	}
	return host
}
