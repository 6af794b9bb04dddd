package security

import (
	"errors"
	"os"
	"path/filepath"
	"time"
)

// WritePublished writes the keys of a client and of the servers below a directory, in files of the names that the
// client of the published streams study has. The certificate of the client also signs its messages.
func (a *Authority) WritePublished(dir, client string, lifetime time.Duration) error {
	server, err := a.Server()
	if err != nil {
		return err
	}
	keys, err := a.Client(client, lifetime)
	if err != nil {
		return err
	}
	var errs []error
	for name, text := range map[string]string{
		"certs/ca.crt": keys.CA, "certs/client.crt": keys.Certificate, "certs/client.key": keys.Key,
		"certs/server.crt": server.Certificate, "certs/server.key": server.Key,
		"cms/ca.crt": keys.CA, "cms/signer.crt": keys.Certificate, "cms/signer.key": keys.Key,
		"jwt/jwt.key": keys.Token, "jwt/jwt.pub": server.Token,
	} {
		path := filepath.Join(dir, name)
		errs = append(errs, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600))
	}
	return errors.Join(errs...)
}
