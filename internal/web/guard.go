package web

import (
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// guard accepts a request if its Host names this server (against DNS rebinding), no page of
// another origin made it (CSRF), and it has the token, if there is one.
func (s *Server) guard(next http.Handler) http.Handler {
	origins := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setSecurityHeaders(w.Header())
		w.Header().Set("Connection", "close") // idle connections are for clients with the token
		if !s.allowedHost(r.Host) {
			s.refuse(w, r, misdirected(r.Host))
			return
		}
		if err := origins.Check(r); err != nil || crossOrigin(r) {
			s.refuse(w, r, problem{http.StatusForbidden, "A page of another site made this request; the server rejected it."})
			return
		}
		if !s.authenticated(r) {
			s.requireLogin(w, r)
			return
		}
		if r.URL.Path != loginPath {
			w.Header().Del("Connection")
		}
		next.ServeHTTP(w, r)
	})
}

// Guard protects another handler by the same rules.
func Guard(next http.Handler, token string, hosts []string, log *slog.Logger) http.Handler {
	return (&Server{Options: Options{Token: token, Hosts: hosts, Log: log}, logins: newLogins()}).guard(next)
}

// crossOrigin reports whether a page of another origin, or of another port, made the request.
// Following a link to this page is allowed, because pages have no side effects.
func crossOrigin(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	if site == "" || site == "same-origin" || site == "none" {
		return false
	}
	read := r.Method == http.MethodGet || r.Method == http.MethodHead
	follows := read && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
	return !follows || strings.HasPrefix(r.URL.Path, "/api/")
}

// allowedHost reports whether a Host header names this server: the name of this machine, or an
// address, which DNS cannot redirect. Without a token only loopback addresses are allowed.
func (s *Server) allowedHost(host string) bool {
	name := hostName(host)
	if address, err := netip.ParseAddr(name); err == nil {
		return address.IsLoopback() || s.Token != ""
	}
	return name == "localhost" || slices.Contains(s.Hosts, name)
}

// hostName returns the name or the address in a Host header.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

// misdirected is the error of a request for a host that is not allowed.
func misdirected(host string) problem {
	remedy := "use the address that rpclab printed when it started"
	name := hostName(host)
	if _, err := netip.ParseAddr(name); err != nil && name != "" {
		remedy += ", or start 'rpclab serve' with --host " + name + " (in the Helm chart: page.hosts)"
	}
	return problem{http.StatusMisdirectedRequest, "This server does not serve the host " + host + "; " + remedy + "."}
}
