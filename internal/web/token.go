package web

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// minTokenLength is 64 bits in hexadecimal digits, which cannot be guessed.
const minTokenLength = 16

// CheckAddress returns an error unless the address is a loopback address, or the token is long
// enough.
func CheckAddress(address, token string) error {
	if length := len(strings.TrimSpace(token)); token != "" && length < minTokenLength {
		return fmt.Errorf("the token has %d characters; use at least %d, for example from `openssl rand -hex 16`", length, minTokenLength)
	}
	host, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return fmt.Errorf("%s is not an address such as 127.0.0.1:8421: %w", address, err)
	}
	if at, err := netip.ParseAddr(host); token == "" && host != "localhost" && (err != nil || !at.IsLoopback()) {
		return fmt.Errorf("other machines can reach %s and could start runs here: set a token, "+
			"best in the environment variable RPCLAB_TOKEN, which other users cannot see", address)
	}
	return nil
}

// authenticated reports whether a request has the token in a header, or the cookie of the login
// page. It compares in constant time.
func (s *Server) authenticated(r *http.Request) bool {
	if s.Token == "" || r.URL.Path == loginPath {
		return true
	}
	if given, ok := bearer(r); ok {
		return s.isToken(given)
	}
	cookie, err := r.Cookie(cookieName)
	return err == nil && equalConstantTime(cookie.Value, s.session())
}

// bearer returns the token in the header of a request.
func bearer(r *http.Request) (token string, ok bool) {
	return strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
}

func (s *Server) isToken(given string) bool { return equalConstantTime(given, s.Token) }

// equalConstantTime compares digests, so that the time does not depend on the lengths either.
func equalConstantTime(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

const (
	loginPath  = "/login"
	cookieName = "rpclab_session"
)

// session is the value of the cookie. It is derived from the token, so that it survives a restart
// without revealing the token.
func (s *Server) session() string {
	mac := hmac.New(sha256.New, []byte(s.Token))
	mac.Write([]byte("rpclab session 1"))
	return hex.EncodeToString(mac.Sum(nil))
}

// requireLogin redirects pages to the login, and refuses other requests with status 401. A wrong token counts as a
// login, so that after too many of them the status is 429.
func (s *Server) requireLogin(w http.ResponseWriter, r *http.Request) {
	if _, given := bearer(r); given {
		done, ok := s.mayLogIn(w, r)
		if !ok {
			s.refuse(w, r, problem{http.StatusTooManyRequests, "Too many wrong tokens came from this address. Check the token, and try again in a minute."})
			return
		}
		done()
	}
	if r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html") {
		http.Redirect(w, r, loginPath, http.StatusSeeOther)
		return
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="rpclab"`)
	s.refuse(w, r, problem{http.StatusUnauthorized, "The token is missing or wrong: send it as 'Authorization: Bearer TOKEN', or log in at " +
		loginPath + ". Tokens in a URL are ignored, because logs would store them."})
}

// mayLogIn counts a login, which lasts until done. With too many logins it tells the client how long to wait.
func (s *Server) mayLogIn(w http.ResponseWriter, r *http.Request) (done func(), ok bool) {
	done, wait := s.logins.begin(r.RemoteAddr, time.Now())
	if wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
		return nil, false
	}
	return done, true
}

// logIn sets the cookie if the token is right.
func (s *Server) logIn(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 4096)
	if s.Token == "" {
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	done, ok := s.mayLogIn(w, r)
	if !ok {
		s.pages.logIn(w, http.StatusTooManyRequests, "Too many logins came from this address. Try again in a minute.")
		return
	}
	defer done()
	if !s.isToken(r.PostFormValue("token")) {
		s.pages.logIn(w, http.StatusUnauthorized, "The token is wrong.")
		return
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: s.session(), Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}
