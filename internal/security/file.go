package security

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// savedAuthority is the content of the file that Save writes. A program that reads the file can act
// as any client.
type savedAuthority struct {
	Policy      Policy `json:"policy"`
	Certificate string `json:"certificate"`
	Key         string `json:"key"`
	Client      string `json:"client"`
	Token       string `json:"token"`
}

// Save writes what Load needs to issue client keys, and the policy, to a new file that only this
// user may read. Remove the file when the server exits.
func (a *Authority) Save(path string, p Policy) error {
	key, err := x509.MarshalECPrivateKey(a.key)
	if err != nil {
		return err
	}
	text, err := json.Marshal(savedAuthority{
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
		return fmt.Errorf("save the keys: %w", err)
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}

// Load reads a file of Save. The authority returned issues client keys but no server keys.
func Load(path string) (*Authority, Policy, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, Policy{}, fmt.Errorf("read the keys: %w", err)
	}
	a, p, err := parse(text)
	if err != nil {
		return nil, Policy{}, fmt.Errorf("%s is not a key file of rpclab server: %w", path, err)
	}
	return a, p, nil
}

func parse(text []byte) (a *Authority, p Policy, err error) {
	var k savedAuthority
	if err := json.Unmarshal(text, &k); err != nil {
		return nil, p, err
	}
	a = &Authority{}
	var errs [4]error
	a.certificate, errs[0] = parsePEM("certificate", k.Certificate, x509.ParseCertificate)
	a.key, errs[1] = parsePEM("key", k.Key, x509.ParseECPrivateKey)
	a.client, errs[2] = parsePEM("client", k.Client, x509.ParsePKCS1PrivateKey)
	a.token, errs[3] = parsePEM("token", k.Token, x509.ParsePKCS1PrivateKey)
	return a, k.Policy, errors.Join(errs[:]...)
}
