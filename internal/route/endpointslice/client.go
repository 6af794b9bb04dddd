package endpointslice

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// account is where the kubelet puts a pod's service account: its token, and the certificate
// of the API server's authority.
const account = "/var/run/secrets/kubernetes.io/serviceaccount"

// Client is an HTTP client for the API at a base URL. For https, a Kubernetes API server, it
// uses the service account of the pod that this process runs in, and fails outside of a pod.
// The caller closes its idle connections.
func Client(api string) (*http.Client, error) { return clientAs(api, account) }

func clientAs(api, account string) (*http.Client, error) {
	transport := &http.Transport{} // no HTTP proxy: the API is on this machine or in this cluster
	if !strings.HasPrefix(api, "https://") {
		return &http.Client{Transport: transport}, nil
	}
	authority, err := os.ReadFile(filepath.Join(account, "ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("%s needs the service account of a pod: %w; outside of a pod run `kubectl proxy` and use its address, http://127.0.0.1:8001", api, err)
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(authority) {
		return nil, fmt.Errorf("%s needs the service account of a pod: %s/ca.crt has no certificate", api, account)
	}
	transport.TLSClientConfig = &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}
	return &http.Client{
		Transport: pod{transport, filepath.Join(account, "token")},
		// A redirect must not carry the token to another server.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// pod adds the pod's token to every request.
type pod struct {
	*http.Transport
	token string // path; the kubelet replaces the file long before the token expires
}

// RoundTrip implements [http.RoundTripper].
func (p pod) RoundTrip(r *http.Request) (*http.Response, error) {
	token, err := os.ReadFile(p.token)
	if err != nil {
		return nil, fmt.Errorf("read the pod's token: %w", err)
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	return p.Transport.RoundTrip(r)
}
