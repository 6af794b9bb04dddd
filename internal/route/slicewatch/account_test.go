package slicewatch

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/testkit"
)

// inPod is an API of https, and the account of a pod that it trusts.
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

func TestAnAPIOfHTTPSIsAskedAsThePodWithTheTokenOfTheMoment(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var api, account string
	var bearers []string // requests come one after the other
	script := []reply{list(3, slice("s1", 2, 1)), events(line("MODIFIED", slice("s1", 4, 1, 2)))}
	api, account = inPod(t, func(w http.ResponseWriter, r *http.Request) {
		bearers = append(bearers, r.Header.Get("Authorization"))
		if len(bearers) > len(script) {
			cancel()
			return
		}
		_, _ = w.Write([]byte(script[len(bearers)-1].body))
		setToken(t, account, "second")
	})
	client, err := clientAs(api, account)
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	var last Set
	Watch{API: api, Namespace: "default", Service: "greeter", Client: client, Pause: func(context.Context, time.Duration) {}}.
		Run(ctx, Observer{Set: func(s Set) { last = s }, Failed: func(err error) { t.Error(err) }})
	if want := []string{"Bearer first", "Bearer second", "Bearer second"}; !slices.Equal(bearers, want) {
		t.Errorf("the requests bore %q, want %q", bearers, want)
	}
	if len(last) != 2 {
		t.Errorf("the watch saw %v, want two endpoints", last)
	}
}

func TestThePodsTokenGoesToNobodyElse(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a request with %q came to another server", r.Header.Get("Authorization"))
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
		t.Errorf("the answer is %s", answer.Status)
	}
}

func TestAnAPIThatThePodDoesNotTrustIsNotAsked(t *testing.T) {
	api, _ := inPod(t, func(http.ResponseWriter, *http.Request) { t.Error("it was asked") })
	_, account := inPod(t, func(http.ResponseWriter, *http.Request) {}) // which trusts another
	client, err := clientAs(api, account)
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	if answer, err := client.Get(api); err == nil {
		answer.Body.Close()
		t.Error("an unknown authority was believed")
	}
}

func TestATableThatHasNoWayToAskSaysSoAtOnce(t *testing.T) {
	table := Follow(cluster.Service{API: "https://cluster"}) // which only a pod may ask
	defer table.Close()
	if _, err := table.Sync(t.Context()); err == nil || !strings.Contains(err.Error(), "service account") {
		t.Errorf("the error is %v", err)
	}
}

func TestOutsideOfAPodAnAPIOfHTTPSIsRefusedWithAnotherWay(t *testing.T) {
	_, err := clientAs("https://cluster", filepath.Join(t.TempDir(), "none"))
	if err == nil || !strings.Contains(err.Error(), "kubectl proxy") {
		t.Errorf("the error is %v", err)
	}
}
