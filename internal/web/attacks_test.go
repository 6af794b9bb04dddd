package web

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

const secret = "0123456789abcdef-the-token"

func guardedByToken(o *Options) { o.Token, o.Hosts = secret, []string{"lab.example"} }

func header(pairs ...string) func(*http.Request) {
	return func(r *http.Request) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == "Host" {
				r.Host = pairs[i+1]
			} else {
				r.Header.Set(pairs[i], pairs[i+1])
			}
		}
	}
}

// In a DNS rebinding attack, a page's own host name resolves to this address, so its requests have
// that name in the Host header.
func TestRequestsWithAnotherHostNameAreRejected(t *testing.T) {
	open, withToken := serve(t, nil), serve(t, guardedByToken)
	bearer := []string{"Authorization", "Bearer " + secret}
	for host, want := range map[string][2]int{ // without a token, and with one
		"127.0.0.1:8421": {200, 200}, "localhost:9000": {200, 200}, "LOCALHOST": {200, 200}, "[::1]:8421": {200, 200}, "127.0.0.9": {200, 200},
		"evil.example": {421, 421}, "evil.example:8421": {421, 421}, "127.0.0.1.evil.example": {421, 421}, "localhost.evil.example": {421, 421},
		"192.0.2.7:8421": {421, 200}, "lab.example:8421": {421, 200}, "lab.example.evil.example": {421, 421},
	} {
		for i, s := range []*testServer{open, withToken} {
			for _, path := range []string{"/api/v1/runs", "/"} {
				got, text := s.request(t, http.MethodGet, path, "", header(append(bearer, "Host", host)...))
				if got != want[i] {
					t.Errorf("host %s, with a token %v: %s has status %d, want %d", host, i == 1, path, got, want[i])
				}
				if remedy := "start 'rpclab serve' with --host evil.example (in the Helm chart: page.hosts)"; strings.HasPrefix(host, "evil.") && !strings.Contains(text, remedy) {
					t.Errorf("host %s: %s answers %s, want %q", host, path, text, remedy)
				}
			}
		}
	}
}

// A page of another site can make a browser send requests (CSRF). They must not start, stop or read
// runs.
func TestRequestsOfAnotherSitesPagesAreRejected(t *testing.T) {
	s := serve(t, nil)
	id := s.begin(t)
	for name, from := range map[string][]string{
		"another site":                {"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"},
		"an older browser":            {"Origin", "https://evil.example"},
		"a page without an origin":    {"Origin", "null"},
		"another port of this host":   {"Origin", "http://127.0.0.1:9", "Sec-Fetch-Site", "same-site"},
		"another scheme of this host": {"Origin", "https://localhost", "Sec-Fetch-Site", "same-site"},
	} {
		for _, path := range []string{"/api/v1/runs", "/api/v1/runs/" + id + "/stop", "/api/v1/runs/" + id + "/accept", "/runs/" + id + "/accept", "/login"} {
			if got, text := s.request(t, http.MethodPost, path, `{"experiment":"small"}`, header(from...)); got != http.StatusForbidden {
				t.Errorf("%s: POST %s has status %d %s, want 403", name, path, got, text)
			}
		}
	}
	// A page of another site can send a form, but not JSON.
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"} {
		if got, _ := s.request(t, http.MethodPost, "/api/v1/runs", `{"experiment":"small"}`, header("Content-Type", kind)); got != http.StatusUnsupportedMediaType {
			t.Errorf("a form as %s has status %d, want 415", kind, got)
		}
	}
	for mode, want := range map[string]int{"no-cors": 403, "cors": 403, "navigate": 403} {
		dest := map[string]string{"navigate": "iframe"}[mode]
		if got, _ := s.request(t, http.MethodGet, "/runs", "", header("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", mode, "Sec-Fetch-Dest", dest)); got != want {
			t.Errorf("a %s request from another site has status %d, want %d", mode, got, want)
		}
	}
	link := header("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document")
	if got, _ := s.request(t, http.MethodGet, "/runs", "", link); got != http.StatusOK {
		t.Errorf("a link from another site has status %d, want 200", got)
	}
	if got, _ := s.request(t, http.MethodGet, "/api/v1/runs", "", link); got != http.StatusForbidden {
		t.Errorf("a link from another site to the API has status %d, want 403", got)
	}
	if state := s.state(t); state.Phase != "running" || state.Run.ID != id || len(state.Queue) > 0 {
		t.Errorf("the state is %+v, want run %s in progress and an empty queue", state, id)
	}
	if got, _ := s.request(t, http.MethodPost, "/api/v1/runs/"+id+"/stop", "", header("Origin", s.url, "Sec-Fetch-Site", "same-origin")); got != http.StatusAccepted {
		t.Errorf("the request of the server's own page has status %d, want 202", got)
	}
}

func TestRequestsWithoutTheTokenAreRejected(t *testing.T) {
	for _, given := range [][]string{
		nil, {"Authorization", "Bearer "}, {"Authorization", "Bearer " + secret[:20]}, {"Authorization", "Bearer " + secret + "x"}, {"Authorization", secret},
		{"Cookie", cookieName + "=" + secret}, {"Cookie", cookieName + "="},
	} {
		s := serve(t, guardedByToken) // which limits wrong tokens
		for _, endpoint := range []string{"GET /api/v1/runs", "GET /api/v1/live/events", "POST /api/v1/runs", "POST /runs/latest/accept", "GET /runs/latest/report", "GET /"} {
			method, path, _ := strings.Cut(endpoint, " ")
			got, text := s.request(t, method, path, "", header(given...))
			if got != http.StatusUnauthorized || strings.Contains(text, secret) {
				t.Errorf("%v: %s has status %d %s, want 401 without the token", given, endpoint, got, text)
			}
		}
	}
	s := serve(t, guardedByToken)
	if got, text := s.request(t, http.MethodGet, "/", "", header("Accept", "text/html")); got != http.StatusSeeOther {
		t.Errorf("a browser gets status %d %s, want 303 to the login", got, text)
	}
	if got, _ := s.request(t, http.MethodGet, "/api/v1/runs", "", header("Authorization", "Bearer "+secret)); got != http.StatusOK {
		t.Errorf("with the token the status is %d, want 200", got)
	}
}

func TestTheLoginSetsACookieThatIsNotTheToken(t *testing.T) {
	s := serve(t, guardedByToken)
	login := func(token string) *http.Response {
		response, err := httpClient.PostForm(s.url+"/login", url.Values{"token": {token}})
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		return response
	}
	if wrong := login("guess"); wrong.StatusCode != http.StatusUnauthorized || len(wrong.Cookies()) > 0 {
		t.Errorf("a wrong token gets status %d and the cookies %v, want 401 and none", wrong.StatusCode, wrong.Cookies())
	}
	right := login(secret)
	if right.StatusCode != http.StatusSeeOther || len(right.Cookies()) != 1 {
		t.Fatalf("the token gets status %d and the cookies %v, want 303 and one", right.StatusCode, right.Cookies())
	}
	cookie := right.Cookies()[0]
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || strings.Contains(cookie.Value, secret) {
		t.Errorf("the cookie is %v, want HttpOnly, SameSite=Strict and no token in it", cookie)
	}
	restarted := serve(t, guardedByToken) // the cookie stays valid
	for _, server := range []*testServer{s, restarted} {
		if got, _ := server.request(t, http.MethodGet, "/api/v1/runs", "", header("Cookie", cookie.Name+"="+cookie.Value)); got != http.StatusOK {
			t.Errorf("with the cookie the status is %d, want 200", got)
		}
	}
	other := serve(t, func(o *Options) { o.Token = "another-token-of-24-chars" })
	if got, _ := other.request(t, http.MethodGet, "/api/v1/runs", "", header("Cookie", cookie.Name+"="+cookie.Value)); got != http.StatusUnauthorized {
		t.Errorf("with the cookie of another token the status is %d, want 401", got)
	}
}

// Logs and browser histories store addresses. So a token in an address gives no access, and the
// server does not log it, not even with an error.
func TestATokenInAnAddressIsRejectedAndNotLogged(t *testing.T) {
	s := serve(t, guardedByToken)
	if got, _ := s.request(t, http.MethodGet, "/api/v1/runs?token="+secret, "", nil); got != http.StatusUnauthorized {
		t.Errorf("with the token in the address the status is %d, want 401", got)
	}
	if err := s.store.Close(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/api/v1/runs", "/runs/latest/report", "/api/v1/trend"} {
		query := "?experiment=small&metric=p99&token=" + secret
		if got, _ := s.request(t, http.MethodGet, path+query, "", header("Authorization", "Bearer "+secret)); got != http.StatusInternalServerError {
			t.Errorf("without a store %s has status %d, want 500", path, got)
		}
	}
	if log := s.log.String(); strings.Contains(log, secret) || !strings.Contains(log, "/api/v1/runs") {
		t.Errorf("the log is %s, want the path and not the token", log)
	}
}

func TestEveryResponseHasSecurityHeaders(t *testing.T) {
	s := serve(t, guardedByToken)
	s.storeRuns(t, "channels")
	for _, path := range []string{"/", "/runs", "/login", "/api/v1/runs", "/api/v1/nothing", "/nothing", "/runs/run-0/report", "/runs/nothing/report"} {
		for name, change := range map[string]func(*http.Request){"with the token": header("Authorization", "Bearer "+secret), "without a token": nil, "another host": header("Host", "evil.example")} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if change != nil {
				change(r)
			}
			response, err := httpClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			h := response.Header
			policy := h.Get("Content-Security-Policy")
			if !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") ||
				!strings.Contains(policy, "base-uri 'none'") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") {
				t.Errorf("%s, %s: the content security policy is %q, want default-src, frame-ancestors and base-uri 'none', and neither unsafe nor *", path, name, policy)
			}
			for key, want := range map[string]string{
				"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "same-origin",
				"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store",
			} {
				if h.Get(key) != want {
					t.Errorf("%s, %s: %s is %q, want %q", path, name, key, h.Get(key), want)
				}
			}
			if h.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s has Access-Control-Allow-Origin %s, want no such header", path, h.Get("Access-Control-Allow-Origin"))
			}
		}
	}
}

var nonces = regexp.MustCompile(`nonce="?-?([A-Z2-7]+)"`)

func TestScriptsHaveANonceThatNeverRepeats(t *testing.T) {
	s := serve(t, nil)
	seen := map[string]bool{}
	for range 3 {
		for _, path := range []string{"/", "/runs", "/login"} {
			found := nonces.FindStringSubmatch(s.get(t, path))
			if found == nil || seen[found[1]] {
				t.Fatalf("%s has the nonce %v, want one that differs from %v", path, found, seen)
			}
			seen[found[1]] = true
		}
	}
	if text := s.get(t, "/"); strings.Count(text, "<script") != strings.Count(text, "<script nonce=") {
		t.Errorf("the page has a script without a nonce:\n%.1000s", text)
	}
}

func TestAnAddressBeyondThisMachineNeedsAToken(t *testing.T) {
	for address, want := range map[string][2]bool{ // accepted without a token, and with one
		"127.0.0.1:8421": {true, true}, "localhost:0": {true, true}, "[::1]:8421": {true, true}, "127.0.0.2:1": {true, true},
		"0.0.0.0:8421": {false, true}, ":8421": {false, true}, "[::]:8421": {false, true}, "192.0.2.7:8421": {false, true}, "lab.example:80": {false, true},
		"8421": {false, false}, "127.0.0.1": {false, false},
	} {
		for i, token := range []string{"", secret} {
			if err := CheckAddress(address, token); (err == nil) != want[i] {
				t.Errorf("%s with the token %q: error %v, want it accepted: %v", address, token, err, want[i])
			}
		}
	}
	if err := CheckAddress("127.0.0.1:1", "short"); err == nil || !strings.Contains(err.Error(), "use at least 16") {
		t.Errorf("with a short token the error is %v, want use at least 16", err)
	}
}
