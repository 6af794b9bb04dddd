package lab

import (
	"rpclab/internal/cluster"
	"rpclab/internal/route/component"
	"rpclab/internal/route/settings"
)

// In a cluster, infrastructure runs below `rpclab infrastructure`. The lab and that command
// exchange JSON, one value a line: the lab sends an infrastructureSpec and is answered with
// the state; it then sends commands, each of which is answered with a reply.

// infrastructureCommandName is the command of rpclab that calls [ServeInfrastructure], and the
// name of its processes.
const infrastructureCommandName = "infrastructure"

// infrastructureSpec is the infrastructure to start.
type infrastructureSpec struct {
	Route    string            `json:"route"`
	Service  cluster.Service   `json:"service"`
	Settings settings.Settings `json:"settings"`
	Gateway  *gatewaySpec      `json:"gateway,omitempty"` // nil: the callers make the calls
	Callers  int               `json:"callers"`           // that need a proxy of their own, where proxies are sidecars
	IP       string            `json:"ip,omitempty"`      // where it listens; empty: 127.0.0.1
}

type gatewaySpec struct {
	Model   string   `json:"model"`
	Channel string   `json:"channel,omitempty"`
	Seed    uint64   `json:"seed"`              // of its random numbers
	Command []string `json:"command,omitempty"` // command line, as [gateway.ProcessSpec] has it
}

// infrastructureCommand has one field set besides its number.
type infrastructureCommand struct {
	Number int    `json:"number"`
	Kill   string `json:"kill,omitempty"` // the role whose components to kill
	Reset  bool   `json:"reset,omitempty"`
	Usage  bool   `json:"usage,omitempty"`
	Losses bool   `json:"losses,omitempty"`
	Close  bool   `json:"close,omitempty"`
}

// infrastructureReply answers the command of its number, or with number 0 the spec.
type infrastructureReply struct {
	Number int                      `json:"number"`
	Error  string                   `json:"error,omitempty"`
	State  *infrastructureState     `json:"state,omitempty"`
	Usage  map[string]cluster.Usage `json:"usage,omitempty"` // by role
	Losses []string                 `json:"losses,omitempty"`
}

// infrastructureState is what was started.
type infrastructureState struct {
	Services []cluster.Service `json:"services"`
	Gateway  string            `json:"gateway,omitempty"`
	Files    map[string]string `json:"files,omitempty"`
	Versions map[string]string `json:"versions,omitempty"` // of the routes' programs, by name
}

// roles are those that components have.
var roles = []string{component.Proxy, component.Gateway, component.ControlPlane}
