//go:build linux

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
)

// authority signs the certificates of one cluster.
type authority struct{ pair }

type pair struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority() (authority, error) {
	p, err := sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "rpclab test cluster"}, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		IsCA: true, BasicConstraintsValid: true,
	}, nil)
	return authority{p}, err
}

// issue creates a key and a certificate for a user of the API, or for a server with hosts.
func (a authority) issue(user, group string, hosts ...string) (pair, error) {
	form := &x509.Certificate{
		Subject: pkix.Name{CommonName: user}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	if group != "" {
		form.Subject.Organization = []string{group}
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			form.IPAddresses = append(form.IPAddresses, ip)
		} else {
			form.DNSNames = append(form.DNSNames, host)
		}
	}
	return sign(form, &a.pair)
}

// sign creates a key and a certificate, signed by the issuer or by itself.
func sign(form *x509.Certificate, issuer *pair) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, err
	}
	if issuer == nil {
		issuer = &pair{form, key}
	}
	if form.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return pair{}, err
	}
	form.NotBefore, form.NotAfter = time.Now().Add(-time.Hour), time.Now().AddDate(0, 1, 0)
	raw, err := x509.CreateCertificate(rand.Reader, form, issuer.cert, &key.PublicKey, issuer.key)
	if err != nil {
		return pair{}, err
	}
	cert, err := x509.ParseCertificate(raw)
	return pair{cert, key}, err
}

func (p pair) pem() (cert, key []byte, err error) {
	raw, err := x509.MarshalECPrivateKey(p.key)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.cert.Raw}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: raw}), err
}

// save writes NAME.crt and NAME.key.
func (p pair) save(dir, name string) error {
	cert, key, err := p.pem()
	return errors.Join(err,
		os.WriteFile(filepath.Join(dir, name+".crt"), cert, 0o600),
		os.WriteFile(filepath.Join(dir, name+".key"), key, 0o600))
}

// setLoadCommand writes to the current context of a kubeconfig the command with which rpclab loads images.
func setLoadCommand(kubeconfig string, command []string) error {
	config, err := clientcmd.LoadFromFile(kubeconfig)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(map[string][]string{"load-image": command})
	if err != nil {
		return err
	}
	config.Contexts[config.CurrentContext].Extensions = map[string]runtime.Object{"rpclab": &runtime.Unknown{Raw: raw}}
	return clientcmd.WriteToFile(*config, kubeconfig)
}

// kubeconfig writes a kubeconfig for a user of the API at a URL.
func (a authority) kubeconfig(file, server, user, group string) error {
	own, err := a.issue(user, group)
	if err != nil {
		return err
	}
	cert, key, err := own.pem()
	if err != nil {
		return err
	}
	ca, _, err := a.pem()
	if err != nil {
		return err
	}
	text := base64.StdEncoding.EncodeToString
	return os.WriteFile(file, fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: rpclab
contexts: [{name: rpclab, context: {cluster: rpclab, user: rpclab}}]
clusters:
- name: rpclab
  cluster: {server: %q, certificate-authority-data: %s}
users:
- name: rpclab
  user: {client-certificate-data: %s, client-key-data: %s}
`, server, text(ca), text(cert), text(key)), 0o600)
}
