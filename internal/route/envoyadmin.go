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

// envoyAsk asks Envoy through its own socket.
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
	said, err := io.ReadAll(answer.Body)
	return strings.TrimSpace(string(said)), err
}

// envoyReady says that Envoy serves and that the control plane told it of a backend.
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
			return fmt.Errorf("envoy says %q to %s", text, path)
		}
	}
	return nil
}

// taken is what a listener says of one worker.
var taken = regexp.MustCompile(`\.worker_(\d+)\.downstream_cx_total: (\d+)`)

// envoyConnections is how many connections each worker took. Workers share nothing: a
// connection, with all its calls, stays with the one that accepted it.
func envoyConnections(ctx context.Context, admin string) ([]uint64, error) {
	text, err := envoyAsk(ctx, admin, "/stats?filter="+url.QueryEscape(`worker_\d+\.downstream_cx_total`))
	if err != nil {
		return nil, err
	}
	all := map[int]uint64{}
	for _, match := range taken.FindAllStringSubmatch(text, -1) {
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
