package security

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// kept is an authority as it is written: who reads it may be any client.
type kept struct {
	Policy      Policy `json:"policy"`
	Certificate string `json:"certificate"`
	Key         string `json:"key"`
	Client      string `json:"client"`
	Token       string `json:"token"`
}

// Save writes what makes clients, and what a server asks of them, to a file that there is not yet and that nobody else may
// read. It is to go when the server does.
func (a *Authority) Save(path string, p Policy) error {
	key, err := x509.MarshalECPrivateKey(a.key)
	if err != nil {
		return err
	}
	text, err := json.Marshal(kept{
		Policy:      p,
		Certificate: encode("CERTIFICATE", a.certificate.Raw), Key: encode("EC PRIVATE KEY", key),
		Client: encode("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(a.client)),
		Token:  encode("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(a.token)),
	})
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("keep the keys: %w", err)
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}

// Load reads what Save wrote. The authority that it returns makes clients, and no servers.
func Load(path string) (*Authority, Policy, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, Policy{}, fmt.Errorf("read the keys: %w", err)
	}
	a, p, err := parse(text)
	if err != nil {
		return nil, Policy{}, fmt.Errorf("%s holds no keys of an rpclab server: %w", path, err)
	}
	return a, p, nil
}

func parse(text []byte) (a *Authority, p Policy, err error) {
	var k kept
	if err := json.Unmarshal(text, &k); err != nil {
		return nil, p, err
	}
	a = &Authority{}
	var errs [4]error
	a.certificate, errs[0] = block("certificate", k.Certificate, x509.ParseCertificate)
	a.key, errs[1] = block("key", k.Key, x509.ParseECPrivateKey)
	a.client, errs[2] = block("client", k.Client, x509.ParsePKCS1PrivateKey)
	a.token, errs[3] = block("token", k.Token, x509.ParsePKCS1PrivateKey)
	return a, k.Policy, errors.Join(errs[:]...)
}

// block parses what is in a PEM text.
func block[T any](what, text string, parse func([]byte) (T, error)) (t T, err error) {
	raw, err := decode(what, text)
	if err != nil {
		return t, err
	}
	return parse(raw)
}
