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
	"rpclab/internal/route/endpointslice"
	"rpclab/internal/route/settings"
)

// KubeResolver is the route by the library kuberesolver.
var KubeResolver = Route{
	Name:      "kuberesolver",
	Doc:       "the kuberesolver library watches the EndpointSlice API and calls go in turn to the backends of the slice that changed last",
	PickedBy:  PickedByClient,
	Discovery: DiscoveryWatch,
	Update:    watchPushes,
	Policies:  clientPolicies, OutlierDetection: true,
	GoOnly:     true,
	WatchesAPI: true,
	OpenFiles:  eachBackend(1), // its own watch
	Open:       openKuberesolver,
}

// openKuberesolver uses the library unchanged, with its limits: each channel has a watch of its own,
// the slice that changed last counts as the whole set, the library ignores deletions and empty sets,
// and it resumes a broken watch after a second or more.
func openKuberesolver(_ context.Context, s cluster.Service, o settings.Settings, updated UpdateFunc) (caller.Target, error) {
	client, err := endpointslice.Client(s.API) // not shared: Close ends its connections
	if err != nil {
		return caller.Target{}, fmt.Errorf("route kuberesolver: %w", err)
	}
	builder := kuberesolver.NewBuilder(kubeClient{s.API, client}, "kubernetes")
	config, err := o.ServiceConfig(settings.RoundRobin)
	return caller.Target{
		URI:           fmt.Sprintf("kubernetes://%s/%s:grpc", s.Namespace, s.Name),
		ServiceConfig: config,
		Resolvers:     []resolver.Builder{observe(builder, updated)},
		Close:         client.CloseIdleConnections,
	}, err
}

// kubeClient is the library's client with an http.Client of our own. The library's clients
// use [http.DefaultClient], or work only in pods.
type kubeClient struct {
	api  string
	http *http.Client
}

// Host is the base URL of the API.
func (c kubeClient) Host() string { return c.api }

// GetRequest accepts a URL or a path.
func (c kubeClient) GetRequest(url string) (*http.Request, error) {
	if !strings.HasPrefix(url, c.api) {
		url = c.api + "/" + url
	}
	return http.NewRequest(http.MethodGet, url, nil)
}

// Do sends a request.
func (c kubeClient) Do(r *http.Request) (*http.Response, error) { return c.http.Do(r) }
