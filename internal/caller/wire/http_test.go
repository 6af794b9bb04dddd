package wire_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"rpclab/internal/caller"
	"rpclab/internal/caller/callertest"
	"rpclab/internal/caller/nethttp"
	"rpclab/internal/caller/wire"
	"rpclab/internal/pace"
	"rpclab/internal/service"
)

// TestTheSameHTTPRequestsHaveTheSameOutcomes sends requests of a service by both callers that can.
func TestTheSameHTTPRequestsHaveTheSameOutcomes(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		w.Header().Set("X-Pod", "a")
		switch {
		case err != nil || r.Host != "shop":
			w.WriteHeader(http.StatusMisdirectedRequest)
		case r.Method == http.MethodPost && string(body) != fmt.Sprintf(`{"n":%s}`, r.Header.Get("N")) || r.Method == http.MethodPost && r.Header.Get("Content-Type") != "application/json":
			w.WriteHeader(http.StatusBadRequest)
		case r.URL.Path == "/none":
			w.WriteHeader(http.StatusNotFound)
		case r.Method == http.MethodDelete:
			w.WriteHeader(http.StatusNoContent)
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"query": "`+r.URL.RawQuery+`"}`)
		}
	}))
	t.Cleanup(server.Close)
	for want, spec := range map[string]service.Spec{
		"10 map[]":            {HTTP: "POST", Path: "/?n={{.Number}}", Data: `{"n":{{.Number}}}`, Metadata: map[string][]string{"n": {"{{.Number}}"}}, Check: `answer.query.startsWith("n=")`},
		"10 map[HTTP_400:9]":  {HTTP: "POST", Path: "/", Data: `{"n":3}`, Metadata: map[string][]string{"n": {"{{.Number}}"}}},
		"10 map[HTTP_404:10]": {HTTP: "GET", Path: "/none"},
		"10 map[] of a 404":   {HTTP: "GET", Path: "/none", Check: "status == 404"},
		"10 map[CHECK:10]":    {HTTP: "GET", Path: "/?a=b", Check: `answer.query == "c"`},
		"10 map[] of a HEAD":  {HTTP: "HEAD", Path: "/"},
		"10 map[] of a 204":   {HTTP: "DELETE", Path: "/", Check: "status == 204"},
		"10 map[] of a file":  {HTTP: "GET", Path: "/?n={{.id}}", File: "ids.csv", Data: "id\n7\n8\n", Check: `answer.query in ["n=7", "n=8"]`},
	} {
		for name, library := range map[string]caller.Caller{"http": nethttp.Caller{}, "wire": wire.Caller{}} {
			spec.Name, spec.Authority, spec.Identity = "get", "shop", service.Identity{Header: "X-Pod"}
			job := caller.Job{Channels: caller.Channels{Mode: caller.Shared}, Timeout: 10 * time.Second, Calls: []service.Spec{spec}}
			session := callertest.Open(t, library, job, caller.Target{URI: "passthrough:///" + strings.TrimPrefix(server.URL, "http://"), Close: func() {}})
			m := callertest.Load(t, session, pace.Closed{Users: 2, Calls: 10, Duration: time.Minute})
			if got := fmt.Sprint(m.Calls, m.Errors); !strings.HasPrefix(want, got) || m.Backends["a"] != m.Calls-failed(m.Errors) {
				t.Errorf("%s: %s %s: %s from %v, want %s: %v", name, spec.HTTP, spec.Path, got, m.Backends, want, m.Samples)
			}
		}
	}
}

// The calls of a flow have the same number, whatever of them are templates.
func TestCallsOfAFlowHaveTheSameNumber(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if r.Method == http.MethodGet && r.Header.Get("Token") != `"`+r.URL.Path[1:]+`"` || err != nil {
			w.WriteHeader(http.StatusUnauthorized)
		}
		_, _ = w.Write(body)
	}))
	t.Cleanup(server.Close)
	calls := []service.Spec{
		{Name: "login", HTTP: "POST", Path: "/", Data: `"{{.Number}}"`},
		{Name: "get", HTTP: "GET", Path: "/{{.Number}}", Metadata: map[string][]string{"token": {"{{.token}}"}}, From: map[string]string{"token": "login"}},
	}
	for name, library := range map[string]caller.Caller{"http": nethttp.Caller{}, "wire": wire.Caller{}} {
		job := caller.Job{Channels: caller.Channels{Mode: caller.Shared}, Timeout: 10 * time.Second, Calls: calls, Flow: true}
		session := callertest.Open(t, library, job, caller.Target{URI: "passthrough:///" + strings.TrimPrefix(server.URL, "http://"), Close: func() {}})
		for range 2 {
			if m := callertest.Load(t, session, pace.Closed{Users: 2, Calls: 5, Duration: time.Minute}); m.Calls != 5 || len(m.Errors) > 0 {
				t.Errorf("%s: %d flows, errors %v %v", name, m.Calls, m.Errors, m.Samples)
			}
		}
	}
}

func failed(errors map[string]uint64) (all uint64) {
	for _, n := range errors {
		all += n
	}
	return all
}

func TestTheEngineRefusesWhatItDoesNotRead(t *testing.T) {
	for want, calls := range map[string][]service.Spec{
		"set identity to a header":                           {{Name: "get", HTTP: "GET", Path: "/", Identity: service.Identity{Field: "pod"}}},
		"which check of call get does: set caller.kind to":   {{Name: "get", HTTP: "GET", Path: "/", Check: `headers["x"] == "y"`}},
		"HEAD requests and others on the same connections (": {{Name: "get", HTTP: "GET", Path: "/"}, {Name: "head", HTTP: "HEAD", Path: "/"}},
	} {
		job := caller.Job{Channels: caller.Channels{Mode: caller.Shared}, Timeout: time.Second, Calls: calls}
		if _, err := (wire.Caller{}).Open(job, caller.Target{URI: "passthrough:///127.0.0.1:1", Close: func() {}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
