package cluster

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"text/template"
	"time"

	"rpclab/internal/fields"
	"rpclab/internal/suggest"
)

// Program is a server of the user's, which knows nothing of rpclab. Its arguments and environment are templates
// (text/template) with the fields of [Replica].
type Program struct {
	Command []string // program and arguments, at least one; those of the entry point of Image, where that is set
	// Image is a container image that Kubernetes runs; empty: Command is a program of this machine.
	Image string
	// PullSecret is the Secret with which nodes pull Image, NAMESPACE/NAME; empty: they need none.
	PullSecret string
	// Template is a Deployment of Kubernetes, NAMESPACE/NAME, whose pods are copied; Image and Command are then empty.
	Template string
	Dir      string   // the working directory; empty: rpclab's own
	Env      []string // added to rpclab's own environment, NAME=value
	// Files are the contents of files in the pods, by path. In pods of Template they replace the Secrets and
	// ConfigMaps that are mounted there.
	Files map[string][]byte
	Ready Ready
	// ReadyTimeout limits the time until a backend is ready; 0: a minute.
	ReadyTimeout time.Duration
	// Signal stops a backend: TERM, INT, QUIT, HUP, USR1 or USR2; empty: TERM. A backend that has not
	// exited after Grace is killed; 0: 30 s.
	Signal string
	Grace  time.Duration
}

// The defaults of a [Program].
const (
	DefaultReadyTimeout = time.Minute
	DefaultGrace        = 30 * time.Second
)

// Ready is how a backend shows that it serves.
type Ready struct {
	Kind string // one of the kinds below; empty: [ReadyGRPC]
	Path string // of the HTTP request: /healthz
	// TLS says that the backend's port uses TLS. The check accepts any certificate, as a kubelet does.
	TLS bool
	// Authority is that of gRPC and HTTP checks, whose host is sent as SNI; empty: the address.
	Authority string
}

// The kinds of [Ready].
const (
	ReadyGRPC = "grpc" // the gRPC health service answers SERVING, or UNIMPLEMENTED
	ReadyTCP  = "tcp"  // the port accepts connections
	ReadyHTTP = "http" // a GET request is answered with a status below 400
)

// Check returns an error if the check is not complete.
func (r Ready) Check() error {
	switch kinds := []string{ReadyGRPC, ReadyTCP, ReadyHTTP}; {
	case r.Kind != "" && !slices.Contains(kinds, r.Kind):
		return fmt.Errorf("server.ready: no check %q%s", r.Kind, suggest.DidYouMean(r.Kind, kinds))
	case r.Kind == ReadyHTTP && !strings.HasPrefix(r.Path, "/"):
		return fmt.Errorf(`server.ready: path %q does not start with "/"`, r.Path)
	}
	return nil
}

// Replica is one backend of a [Program], as its templates know it.
type Replica struct {
	Address string // host:port at which the backend must listen
	Host    string
	Port    int
	ID      string // of the backend: orders-0
}

// ReplicaAt returns the backend of an identity that listens at an address.
func ReplicaAt(id string, addr netip.AddrPort) Replica {
	return Replica{Address: addr.String(), Host: addr.Addr().String(), Port: int(addr.Port()), ID: id}
}

// replicaFields are the names that templates may use.
var replicaFields = []string{"Address", "Host", "Port", "ID"}

// signals are the signals that may stop a program.
var signals = map[string]syscall.Signal{
	"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "QUIT": syscall.SIGQUIT, "HUP": syscall.SIGHUP, "USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2,
}

// Check returns an error if the program cannot be started, whatever its address.
func (p Program) Check() error {
	field := "server.command"
	if p.InPods() {
		field = "server.args"
	} else if len(p.Command) == 0 || p.Command[0] == "" {
		return errors.New("server.command is empty; it needs a program and its arguments")
	}
	for i, text := range p.Command {
		if err := checkTemplate(text); err != nil {
			return fmt.Errorf("%s, argument %d (%s): %w", field, i, text, err)
		}
	}
	for _, text := range p.Env {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return fmt.Errorf("server.env: %q is not NAME=value", text)
		}
		if err := checkTemplate(value); err != nil {
			return fmt.Errorf("server.env, %s: %w", name, err)
		}
	}
	if _, ok := signals[p.signalName()]; !ok {
		return fmt.Errorf("server.stop: no signal %q%s", p.Signal, suggest.DidYouMean(p.signalName(), slices.Sorted(maps.Keys(signals))))
	}
	if p.ReadyTimeout < 0 || p.Grace < 0 {
		return errors.New("server: a time below 0")
	}
	return p.Ready.Check()
}

// Uses reports whether any template of a program that [Program.Check] accepts uses a field of [Replica].
func (p Program) Uses(field string) bool {
	for _, text := range slices.Concat(p.Command, p.Env) {
		parsed, err := template.New("").Parse(text)
		if err == nil && slices.Contains(fields.Of(parsed), field) {
			return true
		}
	}
	return false
}

// InPods reports whether the program runs in pods of Kubernetes.
func (p Program) InPods() bool { return p.Image != "" || p.Template != "" }

// For returns the command line and environment of one backend.
func (p Program) For(replica Replica) (command, env []string, err error) {
	fill := func(texts []string) (filled []string) {
		for _, text := range texts {
			var out strings.Builder
			parsed, failed := template.New("").Parse(text)
			if failed == nil {
				failed = parsed.Execute(&out, replica)
			}
			err = errors.Join(err, failed)
			filled = append(filled, out.String())
		}
		return filled
	}
	return fill(p.Command), fill(p.Env), err
}

// StopSignal is the signal that stops a backend.
func (p Program) StopSignal() syscall.Signal { return signals[p.signalName()] }

// SignalName is the name of that signal, such as SIGTERM.
func (p Program) SignalName() string { return "SIG" + p.signalName() }

func (p Program) signalName() string {
	if p.Signal == "" {
		return "TERM"
	}
	return strings.TrimPrefix(strings.ToUpper(p.Signal), "SIG")
}

// checkTemplate returns an error for a template that does not parse, or uses a field that no [Replica] has.
func checkTemplate(text string) error {
	parsed, err := template.New("").Parse(text)
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "template: :1: "))
	}
	if parsed.Tree == nil {
		return nil
	}
	for _, field := range fields.Of(parsed) {
		if !slices.Contains(replicaFields, field) {
			return fmt.Errorf("no field {{.%s}}%s", field, suggest.DidYouMean(field, replicaFields))
		}
	}
	example := Replica{Address: "127.0.0.1:1", Host: "127.0.0.1", Port: 1, ID: "server-0"}
	if err := parsed.Execute(new(strings.Builder), example); err != nil {
		_, reason, _ := strings.Cut(err.Error(), "executing ")
		return errors.New(strings.TrimPrefix(reason, `"" at `))
	}
	return nil
}
