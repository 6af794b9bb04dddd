package route

import (
	"context"
	"errors"
	"os"

	"rpclab/internal/cluster"
	"rpclab/internal/route/part"
	"rpclab/internal/route/settings"
)

// Stand starts what stands between callers and backends. It is called by the lab, once
// for a deployment, before any caller opens the route.
type Stand func(ctx context.Context, s cluster.Service, o settings.Settings, h Host) (Standing, error)

// Host is where parts run.
type Host struct {
	Self []string // this program: parts of our own are its commands
	Dir  string   // empty, of this standing's own: configuration files and sockets
	// Callers is how many caller processes there are: each has its sidecar.
	Callers int
	// Listen is a free address (host:port) of this machine, another one at each call.
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
	// Dir is removed in the end; empty: none.
	Dir string
}

// Service is how caller n (from 0) reaches the service.
func (s Standing) Service(n int) cluster.Service { return s.Services[min(n, len(s.Services)-1)] }

// Close ends everything and returns when it is gone.
func (s Standing) Close() error {
	var err error
	if s.Stop != nil {
		err = s.Stop()
	}
	for _, p := range s.Parts {
		p.Close()
	}
	if s.Dir != "" {
		err = errors.Join(err, os.RemoveAll(s.Dir))
	}
	return err
}
