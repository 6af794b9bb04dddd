package settings

import "net/netip"

// TLS is how a proxy encrypts connections to backends.
type TLS struct {
	CACert     string `json:"cacert,omitempty"`     // file of trusted certificates; empty: certificates are not verified
	Client     string `json:"client,omitempty"`     // file with the certificate and the key of the proxy; empty: it has none
	ServerName string `json:"servername,omitempty"` // in the backends' certificates; empty: they are not verified
}

// SNI is the name that the proxy sends to a backend; empty: none, as without TLS. An IP address is no such name (RFC 6066,
// section 3).
func (t *TLS) SNI() string {
	if t == nil || t.IsIP() {
		return ""
	}
	return t.ServerName
}

// IsIP reports whether certificates must have an IP address instead of a host name.
func (t TLS) IsIP() bool {
	_, err := netip.ParseAddr(t.ServerName)
	return err == nil
}
