package endpointslice

import (
	"crypto/tls"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rpclab/internal/cluster"
	"rpclab/internal/testkit"
)

// inPod starts an API over HTTPS, and writes the service account files of a pod that trusts it.
func inPod(t *testing.T, handle http.HandlerFunc) (api, account string) {
	t.Helper()
	certificate, _ := testkit.Certificate(t, "127.0.0.1")
	server := httptest.NewUnstartedServer(handle)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	server.StartTLS()
	t.Cleanup(server.Close)
	account = t.TempDir()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]})
	if err := os.WriteFile(filepath.Join(account, "ca.crt"), authority, 0o600); err != nil {
		t.Fatal(err)
	}
	setToken(t, account, "first")
	return server.URL, account
}

func setToken(t *testing.T, account, token string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(account, "token"), []byte(token+"\n"), 0o600); err != nil {
		t.Error(err)
	}
}

func TestHTTPSRequestsCarryThePodsCurrentToken(t *testing.T) {
	var api, account string
	var bearers []string // one request after another
	api, account = inPod(t, func(_ http.ResponseWriter, r *http.Request) {
		bearers = append(bearers, r.Header.Get("Authorization"))
	})
	client, err := clientAs(api, account)
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	for _, token := range []string{"first", "second", "second"} {
		setToken(t, account, token)
		answer, err := client.Get(api)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
	}
	if want := []string{"Bearer first", "Bearer second", "Bearer second"}; !slices.Equal(bearers, want) {
		t.Errorf("the requests carried %q, want %q", bearers, want)
	}
}

func TestThePodsTokenIsNotSentToAnotherServer(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another server received a request with the token %q", r.Header.Get("Authorization"))
	}))
	defer other.Close()
	api, account := inPod(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, http.StatusFound) })
	client, err := clientAs(api, account)
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	answer, err := client.Get(api)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusFound {
		t.Errorf("the status is %s, want 302", answer.Status)
	}
}

func TestClientRejectsAnUntrustedCertificate(t *testing.T) {
	api, _ := inPod(t, func(http.ResponseWriter, *http.Request) { t.Error("the API received a request") })
	_, account := inPod(t, func(http.ResponseWriter, *http.Request) {}) // it trusts another authority
	client, err := clientAs(api, account)
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	if answer, err := client.Get(api); err == nil {
		answer.Body.Close()
		t.Error("the client accepted an unknown authority")
	}
}

func TestSyncFailsAtOnceOutsideOfAPod(t *testing.T) {
	watcher := NewWatcher(cluster.Service{API: "https://cluster"}) // needs a pod's service account
	defer watcher.Close()
	if _, err := watcher.Sync(t.Context()); err == nil || !strings.Contains(err.Error(), "service account") {
		t.Errorf("error %v, want one that names the service account", err)
	}
}

func TestHTTPSErrorOutsideOfAPodAdvisesKubectlProxy(t *testing.T) {
	_, err := clientAs("https://cluster", filepath.Join(t.TempDir(), "none"))
	if err == nil || !strings.Contains(err.Error(), "kubectl proxy") {
		t.Errorf("error %v, want one that advises kubectl proxy", err)
	}
}
