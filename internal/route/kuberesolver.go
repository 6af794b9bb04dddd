package route

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/sercand/kuberesolver/v6"
	"google.golang.org/grpc/resolver"

	"rpclab/internal/caller"
	"rpclab/internal/cluster"
	"rpclab/internal/route/settings"
	"rpclab/internal/route/slicewatch"
)

// openKuberesolver is the library of that name, unchanged, so that its behaviour
// shows: each channel has a watch of its own, one slice is taken for the whole set,
// deletions and empty sets are not seen, and a broken watch is resumed after a
// second or more.
func openKuberesolver(_ context.Context, s cluster.Service, o settings.Settings, told Told) (caller.Target, error) {
	client, err := slicewatch.Client(s.API) // of its own: its connections end with the route
	if err != nil {
		return caller.Target{}, fmt.Errorf("route kuberesolver: %w", err)
	}
	builder := kuberesolver.NewBuilder(kubeClient{s.API, client}, "kubernetes")
	config, err := o.ServiceConfig(settings.RoundRobin)
	return caller.Target{
		URI:           fmt.Sprintf("kubernetes://%s/%s:grpc", s.Namespace, s.Name),
		ServiceConfig: config,
		Resolvers:     []resolver.Builder{observe(builder, told)},
		Close:         client.CloseIdleConnections,
	}, err
}

// kubeClient is the library's client on an http.Client of our own; its own ones share
// [http.DefaultClient], or are for pods alone.
type kubeClient struct {
	api  string
	http *http.Client
}

// Host is the base URL of the API.
func (c kubeClient) Host() string { return c.api }

// GetRequest takes a whole URL or a path.
func (c kubeClient) GetRequest(url string) (*http.Request, error) {
	if !strings.HasPrefix(url, c.api) {
		url = c.api + "/" + url
	}
	return http.NewRequest(http.MethodGet, url, nil)
}

// Do sends a request.
func (c kubeClient) Do(r *http.Request) (*http.Response, error) { return c.http.Do(r) }
