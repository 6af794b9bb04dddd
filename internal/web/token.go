package web

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// shortestToken is as long as nobody guesses: 64 bits in hexadecimal digits.
const shortestToken = 16

// CheckAddress says whether a server may listen there: on the loopback, or elsewhere with
// a token that cannot be guessed.
func CheckAddress(address, token string) error {
	if token != "" && len(token) < shortestToken {
		return fmt.Errorf("the token has %d characters; %d are needed, such as of `openssl rand -hex 16`", len(token), shortestToken)
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%s is no address: %w; 127.0.0.1:8421 is one", address, err)
	}
	if at, err := netip.ParseAddr(host); token == "" && host != "localhost" && (err != nil || !at.IsLoopback()) {
		return fmt.Errorf("%s can be reached from other machines, and whoever does could start runs here: add a token, "+
			"best by RPCLAB_TOKEN in the environment, which other users do not see", address)
	}
	return nil
}

// admits says whether a request knows the token: by a header, or by the cookie that the
// page of the login gives. It takes the same time whatever is wrong.
func (s *Server) admits(r *http.Request) bool {
	if s.Token == "" || r.URL.Path == loginPath {
		return true
	}
	if given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return s.isToken(given)
	}
	cookie, err := r.Cookie(cookieName)
	return err == nil && same(cookie.Value, s.session())
}

func (s *Server) isToken(given string) bool { return same(given, s.Token) }

// same compares in constant time, of the length too: of digests.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

const (
	loginPath  = "/login"
	cookieName = "rpclab_session"
)

// session is the cookie of those who know the token. It is made of the token, so that it
// outlives a restart, and does not give the token away.
func (s *Server) session() string {
	mac := hmac.New(sha256.New, []byte(s.Token))
	mac.Write([]byte("rpclab session 1"))
	return hex.EncodeToString(mac.Sum(nil))
}

// askToLogIn answers who does not know the token: a page by the login, others by 401.
func (s *Server) askToLogIn(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html") {
		http.Redirect(w, r, loginPath, http.StatusSeeOther)
		return
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="rpclab"`)
	s.refuse(w, r, problem{http.StatusUnauthorized, "This needs the token: send it as 'Authorization: Bearer TOKEN', or log in at " +
		loginPath + ". It is not taken from an address, where logs would keep it."})
}

// logIn gives a cookie for the token.
func (s *Server) logIn(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 4096)
	if s.Token == "" {
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	if !s.isToken(r.PostFormValue("token")) {
		s.pages.logIn(w, http.StatusUnauthorized, "That is not the token.")
		return
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: s.session(), Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}
