package slicewatch

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// account is where every pod finds who it is to the API: token, and the certificate of
// whom to trust.
const account = "/var/run/secrets/kubernetes.io/serviceaccount"

// Client asks the EndpointSlice API at a base URL: one of https, a Kubernetes' own, as the
// pod in which this runs. It fails where this runs in none. Close its idle connections.
func Client(api string) (*http.Client, error) { return clientAs(api, account) }

func clientAs(api, account string) (*http.Client, error) {
	transport := &http.Transport{} // no proxy: the API is on this machine or in this cluster
	if !strings.HasPrefix(api, "https://") {
		return &http.Client{Transport: transport}, nil
	}
	authority, err := os.ReadFile(filepath.Join(account, "ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("%s is asked as a pod's service account: %w; outside of a pod run kubectl proxy and give its address, http://127.0.0.1:8001", api, err)
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(authority) {
		return nil, fmt.Errorf("%s is asked as a pod's service account: there is no certificate in %s/ca.crt", api, account)
	}
	transport.TLSClientConfig = &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}
	return &http.Client{
		Transport: pod{transport, filepath.Join(account, "token")},
		// The token is for nobody to whom an answer points.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// pod sends every request with the pod's token.
type pod struct {
	*http.Transport
	token string // its file, which the kubelet replaces long before it expires
}

// RoundTrip implements [http.RoundTripper].
func (p pod) RoundTrip(r *http.Request) (*http.Response, error) {
	token, err := os.ReadFile(p.token)
	if err != nil {
		return nil, fmt.Errorf("the pod's token: %w", err)
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	return p.Transport.RoundTrip(r)
}
