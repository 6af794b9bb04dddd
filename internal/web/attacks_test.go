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

// A page of another name that is made to resolve to this address (DNS rebinding) sends
// that name.
func TestAnotherNameForThisAddressIsRefused(t *testing.T) {
	open, behind := serve(t, nil), serve(t, guardedByToken)
	bearer := []string{"Authorization", "Bearer " + secret}
	for host, want := range map[string][2]int{ // without a token, and with one
		"127.0.0.1:8421": {200, 200}, "localhost:9000": {200, 200}, "LOCALHOST": {200, 200}, "[::1]:8421": {200, 200}, "127.0.0.9": {200, 200},
		"evil.example": {421, 421}, "evil.example:8421": {421, 421}, "127.0.0.1.evil.example": {421, 421}, "localhost.evil.example": {421, 421},
		"192.0.2.7:8421": {421, 200}, "lab.example:8421": {421, 200}, "lab.example.evil.example": {421, 421},
	} {
		for i, s := range []*stand{open, behind} {
			for _, path := range []string{"/api/v1/runs", "/"} {
				if got, _ := s.request(t, http.MethodGet, path, "", header(append(bearer, "Host", host)...)); got != want[i] {
					t.Errorf("host %s, with a token %v: %s answers %d, want %d", host, i == 1, path, got, want[i])
				}
			}
		}
	}
}

// What a page of another site can make a browser send neither starts nor stops nor reads
// anything (CSRF).
func TestAnotherSitesPageCanDoNothing(t *testing.T) {
	s := serve(t, nil)
	id := s.begin(t)
	for name, from := range map[string][]string{
		"another site":               {"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"},
		"an older browser":           {"Origin", "https://evil.example"},
		"a page without an origin":   {"Origin", "null"},
		"another port of this host":  {"Origin", "http://127.0.0.1:9", "Sec-Fetch-Site", "same-site"},
		"another scheme's same name": {"Origin", "https://localhost", "Sec-Fetch-Site", "same-site"},
	} {
		for _, path := range []string{"/api/v1/runs", "/api/v1/runs/" + id + "/stop", "/login"} {
			if got, text := s.request(t, http.MethodPost, path, `{"experiment":"small"}`, header(from...)); got != http.StatusForbidden {
				t.Errorf("%s: POST %s answers %d %s", name, path, got, text)
			}
		}
	}
	// A form can be sent from anywhere, but not as JSON.
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"} {
		if got, _ := s.request(t, http.MethodPost, "/api/v1/runs", `{"experiment":"small"}`, header("Content-Type", kind)); got != http.StatusUnsupportedMediaType {
			t.Errorf("a form as %s answers %d", kind, got)
		}
	}
	for mode, want := range map[string]int{"no-cors": 403, "cors": 403, "navigate": 403} {
		dest := map[string]string{"navigate": "iframe"}[mode]
		if got, _ := s.request(t, http.MethodGet, "/runs", "", header("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", mode, "Sec-Fetch-Dest", dest)); got != want {
			t.Errorf("reading by %s from another site answers %d", mode, got)
		}
	}
	following := header("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document")
	if got, _ := s.request(t, http.MethodGet, "/runs", "", following); got != http.StatusOK {
		t.Errorf("following a link answers %d", got)
	}
	if got, _ := s.request(t, http.MethodGet, "/api/v1/runs", "", following); got != http.StatusForbidden {
		t.Errorf("following a link to the API answers %d", got)
	}
	if state := s.state(t); state.Phase != "running" || state.Run.ID != id || len(state.Queue) > 0 {
		t.Errorf("the state is %+v", state)
	}
	if got, _ := s.request(t, http.MethodPost, "/api/v1/runs/"+id+"/stop", "", header("Origin", s.url, "Sec-Fetch-Site", "same-origin")); got != http.StatusAccepted {
		t.Errorf("the own page's request answers %d", got)
	}
}

func TestWithoutTheTokenNothingIsShownOrDone(t *testing.T) {
	s := serve(t, guardedByToken)
	for _, given := range [][]string{
		nil, {"Authorization", "Bearer "}, {"Authorization", "Bearer " + secret[:20]}, {"Authorization", "Bearer " + secret + "x"}, {"Authorization", secret},
		{"Cookie", cookieName + "=" + secret}, {"Cookie", cookieName + "="},
	} {
		for _, ask := range []string{"GET /api/v1/runs", "GET /api/v1/live/events", "POST /api/v1/runs", "GET /runs/latest/report", "GET /"} {
			method, path, _ := strings.Cut(ask, " ")
			got, text := s.request(t, method, path, "", header(given...))
			if got != http.StatusUnauthorized || strings.Contains(text, secret) {
				t.Errorf("%v: %s answers %d %s", given, ask, got, text)
			}
		}
	}
	if got, text := s.request(t, http.MethodGet, "/", "", header("Accept", "text/html")); got != http.StatusSeeOther {
		t.Errorf("a browser is answered by %d %s, want the way to the login", got, text)
	}
	if got, _ := s.request(t, http.MethodGet, "/api/v1/runs", "", header("Authorization", "Bearer "+secret)); got != http.StatusOK {
		t.Errorf("the token is answered by %d", got)
	}
}

func TestTheLoginGivesACookieThatIsNotTheToken(t *testing.T) {
	s := serve(t, guardedByToken)
	login := func(token string) *http.Response {
		answer, err := direct.PostForm(s.url+"/login", url.Values{"token": {token}})
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer
	}
	if wrong := login("guess"); wrong.StatusCode != http.StatusUnauthorized || len(wrong.Cookies()) > 0 {
		t.Errorf("a guess is answered by %d and %v", wrong.StatusCode, wrong.Cookies())
	}
	right := login(secret)
	if right.StatusCode != http.StatusSeeOther || len(right.Cookies()) != 1 {
		t.Fatalf("the token is answered by %d and %v", right.StatusCode, right.Cookies())
	}
	cookie := right.Cookies()[0]
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || strings.Contains(cookie.Value, secret) {
		t.Errorf("the cookie is %v", cookie)
	}
	next := serve(t, guardedByToken) // after a restart it still holds
	for _, one := range []*stand{s, next} {
		if got, _ := one.request(t, http.MethodGet, "/api/v1/runs", "", header("Cookie", cookie.Name+"="+cookie.Value)); got != http.StatusOK {
			t.Errorf("the cookie is answered by %d", got)
		}
	}
	other := serve(t, func(o *Options) { o.Token = "another-token-of-24-chars" })
	if got, _ := other.request(t, http.MethodGet, "/api/v1/runs", "", header("Cookie", cookie.Name+"="+cookie.Value)); got != http.StatusUnauthorized {
		t.Errorf("another token's cookie is answered by %d", got)
	}
}

// Addresses are kept by logs and histories: a token in one opens nothing, and is written
// nowhere, not even with an error.
func TestATokenInAnAddressReachesNoLog(t *testing.T) {
	s := serve(t, guardedByToken)
	if got, _ := s.request(t, http.MethodGet, "/api/v1/runs?token="+secret, "", nil); got != http.StatusUnauthorized {
		t.Errorf("a token in an address is answered by %d", got)
	}
	if err := s.store.Close(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/api/v1/runs", "/runs/latest/report", "/api/v1/trend"} {
		query := "?experiment=small&metric=p99&token=" + secret
		if got, _ := s.request(t, http.MethodGet, path+query, "", header("Authorization", "Bearer "+secret)); got != http.StatusInternalServerError {
			t.Errorf("%s answers %d without a store", path, got)
		}
	}
	if log := s.log.String(); strings.Contains(log, secret) || !strings.Contains(log, "/api/v1/runs") {
		t.Errorf("the log is %s", log)
	}
}

func TestEveryAnswerIsProtected(t *testing.T) {
	s := serve(t, guardedByToken)
	s.keep(t, "channels")
	for _, path := range []string{"/", "/runs", "/login", "/api/v1/runs", "/api/v1/nothing", "/nothing", "/runs/run-0/report", "/runs/nothing/report"} {
		for name, change := range map[string]func(*http.Request){"let in": header("Authorization", "Bearer "+secret), "not": nil, "misled": header("Host", "evil.example")} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if change != nil {
				change(r)
			}
			answer, err := direct.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			h := answer.Header
			policy := h.Get("Content-Security-Policy")
			if !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") ||
				!strings.Contains(policy, "base-uri 'none'") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") {
				t.Errorf("%s, %s: the policy is %q", path, name, policy)
			}
			for key, want := range map[string]string{
				"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
				"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store",
			} {
				if h.Get(key) != want {
					t.Errorf("%s, %s: %s is %q", path, name, key, h.Get(key))
				}
			}
			if h.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s lets other origins read", path)
			}
		}
	}
}

var nonces = regexp.MustCompile(`nonce="?-?([A-Z2-7]+)"`)

func TestScriptsRunByANonceThatIsNeverTheSame(t *testing.T) {
	s := serve(t, nil)
	seen := map[string]bool{}
	for range 3 {
		for _, path := range []string{"/", "/runs", "/login"} {
			found := nonces.FindStringSubmatch(s.get(t, path))
			if found == nil || seen[found[1]] {
				t.Fatalf("%s has the nonce %v, after %v", path, found, seen)
			}
			seen[found[1]] = true
		}
	}
	if text := s.get(t, "/"); strings.Count(text, "<script") != strings.Count(text, "<script nonce=") {
		t.Errorf("a script without a nonce:\n%.1000s", text)
	}
}

func TestAnAddressBeyondThisMachineNeedsAToken(t *testing.T) {
	for address, want := range map[string][2]bool{ // fine without a token, and with one
		"127.0.0.1:8421": {true, true}, "localhost:0": {true, true}, "[::1]:8421": {true, true}, "127.0.0.2:1": {true, true},
		"0.0.0.0:8421": {false, true}, ":8421": {false, true}, "[::]:8421": {false, true}, "192.0.2.7:8421": {false, true}, "lab.example:80": {false, true},
		"8421": {false, false}, "127.0.0.1": {false, false},
	} {
		for i, token := range []string{"", secret} {
			if err := CheckAddress(address, token); (err == nil) != want[i] {
				t.Errorf("%s with the token %q: %v", address, token, err)
			}
		}
	}
	if err := CheckAddress("127.0.0.1:1", "short"); err == nil || !strings.Contains(err.Error(), "use at least 16") {
		t.Errorf("a short token: %v", err)
	}
}
