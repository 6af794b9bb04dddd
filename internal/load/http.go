package load

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"rpclab/internal/service/decode"
	"rpclab/internal/service/request"
	"rpclab/internal/wire"
	"rpclab/internal/wire/h2"
)

// openHTTP prepares REST calls with the engine wire.
func (l *Load) openHTTP(ctx context.Context) error {
	settings := l.settings
	to, err := url.Parse(settings.Target)
	if err != nil {
		return request.Invalid(err)
	}
	public := *to
	public.User = nil // results must not contain the name and the password of a user
	l.settings.Target = public.String()
	l.method = settings.HTTP + " " + l.settings.Target
	for _, r := range to.RequestURI() {
		if r <= ' ' || r > '~' {
			return request.Invalidf("%q contains %q, which must be escaped in a URL: write %s", to.Redacted(), r, url.QueryEscape(string(r)))
		}
	}
	headers, err := settings.headers()
	if err != nil {
		return err
	}
	if to.User != nil && headers.Get("Authorization") == "" {
		password, _ := to.User.Password()
		headers.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(to.User.Username()+":"+password)))
	}
	host := headers.Get("Host")
	if host != "" && settings.Authority != "" {
		return request.Invalidf("--authority %s sets the Host header: leave out --metadata %q", settings.Authority, "Host: "+host)
	}
	if settings.UserAgent != "" {
		if headers.Get("User-Agent") != "" {
			return request.Invalidf("--user-agent and --metadata set the same header: leave one of them out")
		}
		headers.Set("User-Agent", settings.UserAgent)
	}
	templates, err := settings.templates()
	if err != nil {
		return err
	}
	l.templates = len(templates) > 0
	for _, one := range templates {
		if one.key = http.CanonicalHeaderKey(one.key); one.key == "Host" || one.key == "User-Agent" {
			return request.Invalidf("--metadata %s: the header is the same in all calls: leave out the template", one.key)
		}
		if _, err := httpFields(http.Header{one.key: {""}}, settings.httpVersion()); err != nil {
			return err
		}
	}
	fields, err := httpFields(headers, settings.httpVersion())
	if err != nil {
		return err
	}
	security, err := settings.TLS.Config()
	if err != nil {
		return err
	}
	if security == nil && to.Scheme == "https" {
		security = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if l.to, err = settings.resolveTarget(ctx, address(to)); err != nil {
		return err
	}
	security = withServerName(security, settings.authority(to.Host))
	l.to.authority = cmp.Or(host, settings.authority(to.Host))
	if err = l.readMessages(nil); err != nil {
		return err
	}
	config := wireConfig{
		target: l.to, http: &wire.HTTP{Method: settings.HTTP, Path: to.RequestURI(), Version: settings.httpVersion()},
		connections: max(settings.Connections, 1), cores: max(settings.Cores, 1), security: security, timeout: settings.Timeout,
		fields: fields, templates: templates, messages: l.messages, pace: l.pace, perCall: settings.PerCall, connecting: settings.ConnectionOptions, limits: settings.ResponseLimits,
	}
	if !settings.NoDecode && headers.Get("Accept-Encoding") == "" { // else the body may be compressed
		config.decode = decode.JSON
	}
	if settings.connectsOnDemand() {
		config.connections, config.onDemand = l.pace.InFlight(), true
	}
	client, err := openWire(ctx, config)
	if err != nil {
		return err
	}
	l.client = client
	return nil
}

// framingHeaders determine the end of a request and the use of the connection. The engine sets
// them in HTTP/1.1, and HTTP/2 forbids the last four (RFC 9113, section 8.2.2).
var framingHeaders = []string{"Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Proxy-Connection", "Upgrade"}

// httpFields returns the header fields of a REST request in a fixed order.
func httpFields(headers http.Header, version int) (all []h2.Field, err error) {
	if len(headers.Values("User-Agent")) == 0 {
		headers.Set("User-Agent", "rpclab")
	}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		switch at := slices.Index(framingHeaders, name); {
		case name == "Host":
			continue
		case at == 0 || at == 1:
			return nil, request.Invalidf("--metadata %s: rpclab sets this header itself: leave it out", name)
		case at > 1 && version == 2:
			return nil, request.Invalidf("--metadata %s: HTTP/2 forbids this header: leave it out, or leave out --http2", name)
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
