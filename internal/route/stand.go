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
	"rpclab/internal/route/part"
	"rpclab/internal/route/settings"
)

// Stand starts what stands between callers and backends. It is called by the lab, once
// for a deployment, before any caller opens the route.
type Stand func(ctx context.Context, s cluster.Service, o settings.Settings, h Host) (Standing, error)

// Host is where parts run.
type Host struct {
	Self []string // this program: parts of our own are its commands
	IP   string   // where who calls finds them; empty: 127.0.0.1
	Dir  string   // empty, of this standing's own: configuration files and sockets
	// Callers is how many caller processes there are: each has its sidecar.
	Callers int
	// Listen is a free address (host:port) there, another one at each call.
	Listen func() (string, error)
}

// Standing is what stands there.
type Standing struct {
	// Services are how each caller reaches the service, by caller; one: all alike.
	Services []cluster.Service
	Parts    []*part.Part
	// Files are the configuration files that were made, by name.
	Files map[string]string
	// Stop ends what is no part, such as a watch; may be nil.
	Stop func() error
	dir  *process.Dir // removed in the end; nil: none
}

// Service is how caller n (from 0) reaches the service.
func (s Standing) Service(n int) cluster.Service { return s.Services[min(n, len(s.Services)-1)] }

// Up starts what stands on the route, at a host whose Dir and Listen it sees to; of a route
// that needs nothing, calls go to the service itself.
func (r Route) Up(ctx context.Context, s cluster.Service, o settings.Settings, h Host) (Standing, error) {
	plain := Standing{Services: []cluster.Service{s}}
	if r.Stand == nil {
		return plain, nil
	}
	dir, err := process.NewDir()
	if err != nil {
		return plain, err
	}
	h.Dir = dir.Path
	h.Listen = FreeAddress
	if h.IP != "" {
		h.Listen = func() (string, error) { return freeAddress(h.IP) }
	}
	standing, err := r.Stand(ctx, s, o, h)
	if err != nil {
		return plain, errors.Join(fmt.Errorf("route %s: %w", r.Name, err), dir.Remove())
	}
	standing.dir = dir
	return standing, nil
}

// FreeAddress is a place to listen at on loopback that was free a moment ago. Its port is
// below those that systems give to outgoing connections: one of these could take it while
// what listens there is killed and started again, or a client connect to itself.
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

// Close ends everything and returns when it is gone.
func (s Standing) Close() error {
	var err error
	if s.Stop != nil {
		err = s.Stop()
	}
	for _, p := range s.Parts {
		p.Close()
	}
	if s.dir != nil {
		err = errors.Join(err, s.dir.Remove())
	}
	return err
}
