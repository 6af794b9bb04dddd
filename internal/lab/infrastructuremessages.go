package lab

import (
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/process/stdio"
	"rpclab/internal/route/component"
	"rpclab/internal/route/settings"
	"rpclab/internal/service"
)

// In a cluster, infrastructure runs as children of `rpclab infrastructure`. The lab calls these
// methods of that command.
const (
	// startMethod starts the infrastructure; it is the first call.
	startMethod = stdio.Method[infrastructureSpec, infrastructureState]("start")
	// killMethod kills the components of a role.
	killMethod       = stdio.Method[string, stdio.None]("kill")
	resetUsageMethod = stdio.Method[stdio.None, stdio.None]("reset_usage")
	// usageMethod returns the usage of each role.
	usageMethod    = stdio.Method[stdio.None, map[string]cluster.Usage]("usage")
	failuresMethod = stdio.Method[stdio.None, []string]("failures")
	// closeMethod ends the components and then the command.
	closeMethod = stdio.Method[stdio.None, stdio.None]("close")
)

// infrastructureCommandName is the command of rpclab that calls [ServeInfrastructure], and the
// name of its processes.
const infrastructureCommandName = "infrastructure"

// killTimeout is how long components that were killed may take to be ready again.
const killTimeout = 10 * time.Second

// infrastructureSpec is the infrastructure to start.
type infrastructureSpec struct {
	Route    string            `json:"route"`
	Service  cluster.Service   `json:"service"`
	Settings settings.Settings `json:"settings"`
	Gateway  *gatewaySpec      `json:"gateway,omitempty"` // nil: the callers make the calls
	Callers  int               `json:"callers"`           // number of callers, each with a proxy of its own if proxies are sidecars
	TLS      *service.TLS      `json:"tls,omitempty"`     // of connections from proxies to backends; nil: clear text
	IP       string            `json:"ip,omitempty"`      // address to listen on; empty: 127.0.0.1
}

type gatewaySpec struct {
	Model   string   `json:"model"`
	Channel string   `json:"channel,omitempty"`
	Port    int      `json:"port,omitempty"`    // at which it listens; 0: a free one
	Seed    uint64   `json:"seed"`              // of its random numbers
	Command []string `json:"command,omitempty"` // command line, as in [gateway.ProcessSpec]
}

// infrastructureState describes infrastructure that has started.
type infrastructureState struct {
	Services []cluster.Service `json:"services"`
	Gateway  string            `json:"gateway,omitempty"`
	Files    map[string]string `json:"files,omitempty"`
	Versions map[string]string `json:"versions,omitempty"` // of the routes' programs, by name
}

// roles are the roles of components.
var roles = []string{component.Proxy, component.Gateway, component.ControlPlane}
