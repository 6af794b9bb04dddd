package web

import (
	"crypto/rand"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// guard lets a request through when it was meant for this server (Host: a page of another
// name that was made to resolve to this address is not, which ends DNS rebinding), was not
// made by a page of another origin (CSRF), and knows the token if there is one.
func (s *Server) guard(next http.Handler) http.Handler {
	origins := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		protect(w.Header())
		if !s.known(r.Host) {
			s.refuse(w, r, problem{http.StatusMisdirectedRequest, "This server does not answer to the host " + r.Host +
				"; use the address that it said when it started."})
			return
		}
		if err := origins.Check(r); err != nil || foreign(r) {
			s.refuse(w, r, problem{http.StatusForbidden, "Another site's page made this request; nothing was done."})
			return
		}
		if !s.admits(r) {
			s.askToLogIn(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Guard protects another handler by the same rules, for those who know the token.
func Guard(next http.Handler, token string, log *slog.Logger) http.Handler {
	return (&Server{Options: Options{Token: token, Log: log}}).guard(next)
}

// foreign says that a page of another origin asks, also of one on another port: browsers
// say so. Following a link to this page from elsewhere is allowed; it shows and does nothing.
func foreign(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	if site == "" || site == "same-origin" || site == "none" {
		return false
	}
	read := r.Method == http.MethodGet || r.Method == http.MethodHead
	follows := read && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
	return !follows || strings.HasPrefix(r.URL.Path, "/api/")
}

// known says whether a Host header means this server: this machine's own name, or an
// address, which no name server can point elsewhere. Without a token it has to be one of
// the loopback's.
func (s *Server) known(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.Trim(name, "[]"))
	if address, err := netip.ParseAddr(name); err == nil {
		return address.IsLoopback() || s.Token != ""
	}
	return name == "localhost" || slices.Contains(s.Hosts, name)
}

// protect sets what every answer needs. A page loosens the policy for its own parts.
func protect(h http.Header) {
	h.Set("Content-Security-Policy", policy("default-src 'none'"))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=(), payment=(), usb=()")
	h.Set("Cache-Control", "no-store")
}

// policy is what a page may load, and that nobody may frame it or change its base.
func policy(loads string) string {
	return loads + "; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
}

// allow lets one page run and style what bears its nonce, and speak to this server.
func allow(h http.Header) (nonce string) {
	nonce = rand.Text()
	h.Set("Content-Security-Policy", policy("default-src 'none'; script-src 'nonce-"+nonce+"'; style-src 'nonce-"+nonce+"'; "+
		"img-src 'self' data:; connect-src 'self'"))
	return nonce
}
