package load

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"rpclab/internal/load/request"
	"rpclab/internal/wire"
	"rpclab/internal/wire/h2"
)

// openHTTP prepares REST calls with our own engine.
func (l *Load) openHTTP(ctx context.Context) error {
	s := l.settings
	to, err := url.Parse(s.Target)
	if err != nil {
		return request.Wrong(err)
	}
	l.settings.Target = to.Redacted() // results keep no password
	l.what = s.HTTP + " " + l.settings.Target
	for _, r := range to.RequestURI() {
		if r <= ' ' || r > '~' {
			return request.Wrongf("%q has %q, which has to be escaped in a URL: write %s", s.Target, r, url.QueryEscape(string(r)))
		}
	}
	headers, err := s.headers()
	if err != nil {
		return err
	}
	if to.User != nil && headers.Get("Authorization") == "" {
		password, _ := to.User.Password()
		headers.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(to.User.Username()+":"+password)))
	}
	authority := headers.Get("Host")
	if authority == "" {
		authority = to.Host
	}
	fields, err := plainFields(headers, s.httpVersion())
	if err != nil {
		return err
	}
	security, err := s.TLS.Config()
	if err != nil {
		return err
	}
	if security == nil && to.Scheme == "https" {
		security = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if l.messages, err = s.messages(nil); err != nil {
		return err
	}
	c := wireConfig{
		target: address(to), authority: authority, http: &wire.HTTP{Method: s.HTTP, Path: to.RequestURI(), Version: s.httpVersion()},
		connections: max(s.Connections, 1), cores: max(s.Cores, 1), security: security, timeout: s.Timeout,
		fields: fields, messages: l.messages, pace: l.pace, perCall: s.PerCall, connecting: s.Connecting,
	}
	if s.asNeeded() {
		c.connections, c.onDemand = l.pace.InFlight(), true
	}
	client, err := openWire(ctx, c)
	if err != nil {
		return err
	}
	l.client = client
	return nil
}

// httpVersion of REST calls; 0: they are by gRPC.
func (s Settings) httpVersion() int {
	switch {
	case s.HTTP == "":
		return 0
	case s.HTTP2:
		return 2
	}
	return 1
}

// asNeeded says that each call in flight may have a connection, which is opened when it
// finds none that is free.
func (s Settings) asNeeded() bool {
	return s.httpVersion() == 1 && s.Connections == 0 && !s.PerCall
}

// address is what a URL connects to.
func address(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// framing is what says where a request ends and how a connection is used: HTTP/1.1 has
// it from the engine, and HTTP/2 may not have the last four at all (RFC 9113, section 8.2.2).
var framing = []string{"Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Proxy-Connection", "Upgrade"}

// plainFields are the header fields of a plain request, always in the same order.
func plainFields(headers http.Header, version int) (all []h2.Field, err error) {
	if len(headers.Values("User-Agent")) == 0 {
		headers.Set("User-Agent", "rpclab")
	}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		switch at := slices.Index(framing, name); {
		case name == "Host":
			continue
		case at == 0 || at == 1:
			return nil, request.Wrongf("--metadata %s: it follows from the data: leave it out", name)
		case at > 1 && version == 2:
			return nil, request.Wrongf("--metadata %s: HTTP/2 has no such field: leave it out, or --http2", name)
		}
		for _, value := range headers[name] {
			field := h2.Field{Name: name, Value: value}
			if version == 2 {
				field.Name = strings.ToLower(name)
			}
			all = append(all, field)
		}
	}
	return all, nil
}
