package route

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"

	"rpclab/internal/cluster"
	"rpclab/internal/process"
	"rpclab/internal/route/component"
	"rpclab/internal/route/settings"
	"rpclab/internal/service"
)

// StartFunc starts the infrastructure of a route: proxies, control plane, forwarder. The lab
// calls it once for a deployment, before any caller opens the route.
type StartFunc func(ctx context.Context, s cluster.Service, o settings.Settings, h Host) (Infrastructure, error)

// Host is where components run.
type Host struct {
	Self []string // the rpclab program, some of whose commands are components
	IP   string   // where callers reach the components; empty: 127.0.0.1
	Dir  string   // an empty directory, not shared, for configuration and sockets
	// Callers is the number of caller processes, each of which may have a sidecar.
	Callers int
	// TLS is how proxies encrypt connections to backends; nil: clear text.
	TLS *service.TLS
	// AllocateAddress returns another free address (host:port) at each call.
	AllocateAddress func() (string, error)
}

// Infrastructure is the running components of a route.
type Infrastructure struct {
	// Services is how each caller reaches the service, by number of the caller; or one entry for all callers.
	Services   []cluster.Service
	Components []*component.Component
	// Files are the generated configuration files, by name.
	Files map[string]string
	// Stop ends what is not a component, such as a watch; may be nil.
	Stop func() error
	dir  *process.TempDir // removed by Close; nil: none
}

// ServiceFor is how caller n (from 0) reaches the service: by its own proxy, if it has one.
func (s Infrastructure) ServiceFor(n int) cluster.Service {
	return s.Services[min(n, len(s.Services)-1)]
}

// FreeAddress is a free address to listen at on loopback. Its port is below the range of ephemeral
// ports, so that no outgoing connection uses the port while a component restarts, and no client
// connects to itself.
func FreeAddress() (string, error) { return freeAddress("127.0.0.1") }

func freeAddress(ip string) (string, error) {
	var err error
	for range 100 {
		var listener net.Listener
		if listener, err = net.Listen("tcp", net.JoinHostPort(ip, strconv.Itoa(10_000+rand.IntN(20_000)))); err == nil {
			defer listener.Close()
			return listener.Addr().String(), nil
		}
	}
	return "", fmt.Errorf("no free port from 10000 to 29999 on %s: %w", ip, err)
}

// Close ends all components and returns when they have exited.
func (s Infrastructure) Close() error {
	var err error
	if s.Stop != nil {
		err = s.Stop()
	}
	for _, p := range s.Components {
		p.Close()
	}
	if s.dir != nil {
		err = errors.Join(err, s.dir.Remove())
	}
	return err
}
