package route

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// envoyAsk sends a request to the admin socket of Envoy.
func envoyAsk(ctx context.Context, admin, path string) (string, error) {
	transport := &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", admin)
		},
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://envoy"+path, nil)
	if err != nil {
		return "", err
	}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return strings.TrimSpace(string(text)), err
}

// envoyReady returns nil once Envoy serves and knows a healthy backend.
func envoyReady(ctx context.Context, admin, service string) error {
	for path, want := range map[string]string{
		"/ready": "LIVE",
		"/stats?filter=^cluster\\." + service + "\\.membership_healthy$": ".membership_healthy: ",
	} {
		text, err := envoyAsk(ctx, admin, path)
		if err != nil {
			return err
		}
		if !strings.Contains(text, want) || strings.HasSuffix(text, ": 0") {
			return fmt.Errorf("envoy answers %q to %s", text, path)
		}
	}
	return nil
}

// accepted matches the connection counter of one worker.
var accepted = regexp.MustCompile(`\.worker_(\d+)\.downstream_cx_total: (\d+)`)

// envoyConnections counts the connections that each worker accepted. A connection and all
// its calls stay with the worker that accepted it.
func envoyConnections(ctx context.Context, admin string) ([]uint64, error) {
	text, err := envoyAsk(ctx, admin, "/stats?filter="+url.QueryEscape(`worker_\d+\.downstream_cx_total`))
	if err != nil {
		return nil, err
	}
	all := map[int]uint64{}
	for _, match := range accepted.FindAllStringSubmatch(text, -1) {
		worker, _ := strconv.Atoi(match[1]) // digits
		n, _ := strconv.ParseUint(match[2], 10, 64)
		all[worker] += n
	}
	connections := make([]uint64, len(all))
	for worker, n := range all {
		if worker < len(connections) {
			connections[worker] = n
		}
	}
	return connections, nil
}
