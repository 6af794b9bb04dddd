package web

import (
	"crypto/rand"
	"net/http"
)

// setSecurityHeaders sets the headers of every response. Pages relax the policy for their own script.
func setSecurityHeaders(h http.Header) {
	h.Set("Content-Security-Policy", policy("default-src 'none'"))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin") // no-referrer would hide the Origin of forms of the page itself
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=(), payment=(), usb=()")
	h.Set("Cache-Control", "no-store")
}

// policy says what a page may load, and forbids frames and changes of its base.
func policy(loads string) string {
	return loads + "; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
}

// allowScripts lets one page run scripts and styles with its nonce, and connect to this server.
func allowScripts(h http.Header) (nonce string) {
	nonce = rand.Text()
	h.Set("Content-Security-Policy", policy("default-src 'none'; script-src 'nonce-"+nonce+"'; style-src 'nonce-"+nonce+"'; "+
		"img-src 'self' data:; connect-src 'self'"))
	return nonce
}
