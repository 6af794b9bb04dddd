package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rpclab/internal/cluster"
	"rpclab/internal/cluster/kubernetes"
	"rpclab/internal/gateway/stack"
	"rpclab/internal/lab"
	"rpclab/internal/language"
	"rpclab/internal/result"
	"rpclab/internal/tool"
)

// labFlags say where `rpclab lab up` starts servers.
type labFlags struct {
	on     string
	where  kubernetes.ClientConfig
	images imageSource
}

// register adds the flags.
func (f *labFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.on, "on", "local", "`cluster` to run on: local or kubernetes")
	registerKubernetes(flags, &f.where)
	f.images.register(flags)
}

// check checks the flags.
func (f labFlags) check(c *cobra.Command) error { return checkCluster(f.on, onCommandLine(c.Flags())) }

// checkCluster returns an error if --on names no cluster, or if flags of Kubernetes are for another one.
func checkCluster(on string, given func(string) bool) error {
	if on != "local" && on != "kubernetes" {
		return fmt.Errorf("--on: no cluster %q; use local or kubernetes", on)
	}
	for _, name := range []string{"context", "kubeconfig", "image", "load-image"} {
		if on == "local" && given(name) {
			return fmt.Errorf("--%s is for Kubernetes: add --on kubernetes", name)
		}
	}
	return nil
}

func (f labFlags) remote() bool { return f.on == "kubernetes" }

// port is the port that a flag sets, by default another one on Kubernetes, whose nodes open ports from 30000 to 32767.
func (f labFlags) port(c *cobra.Command, flag string, chosen, onNodes int) int {
	if f.remote() && !c.Flags().Changed(flag) {
		return onNodes
	}
	return chosen
}

// remoteLab is a lab on Kubernetes, in a namespace of its own.
type remoteLab struct {
	*kubernetes.Cluster
	command []string // of the programs of the lab's language in the image; nil: rpclab's own
	bar     *progress
}

// open creates the lab, with these proxies and languages in its image.
func (f labFlags) open(c *cobra.Command, tools []tool.Tool, languageName string) (l remoteLab, err error) {
	var languages []language.Language
	if languageName != language.Go {
		other, err := language.Lookup(languageName)
		if err != nil {
			return l, err
		}
		languages, l.command = append(languages, other), other.InImage()
	}
	api, err := kubernetes.Connect(c.Context(), f.where)
	if err != nil {
		return l, err
	}
	l.bar = newProgress(c.ErrOrStderr(), progressFlags{})
	defer func() {
		if err != nil {
			l.bar.end()
		}
	}()
	found, err := f.images.find(c.Context(), api, imageNeeds{tools, languages}, l.bar)
	if err == nil && found.missing[languageName] != "" {
		err = errors.New(found.missing[languageName])
	}
	for _, proxy := range tools {
		if err == nil && found.missing[proxy.Name] != "" {
			err = fmt.Errorf("%s; or leave out what uses it with --routes", found.missing[proxy.Name])
		}
	}
	if err != nil {
		return l, err
	}
	l.Cluster, err = kubernetes.New(c.Context(), api, kubernetes.Options{
		ID: "lab-" + result.NewID(time.Now()), Image: found.name, Architecture: found.architecture, Progress: l.bar.wait, Note: l.bar.note,
	})
	return l, err
}

// close deletes the namespace of the lab.
func (l remoteLab) close() error {
	defer l.bar.end()
	return l.Close()
}

// gatewayPort is the port of a gateway in its pod.
const gatewayPort = 8080

// startStack starts servers and the gateway that calls them over a route.
func (l remoteLab) startStack(ctx context.Context, o stack.Options, p stack.Plan) (*stack.Stack, error) {
	s := &stack.Stack{Plan: p, Metrics: l.command == nil}
	spec := cluster.Spec{Name: p.Route.Name, Replicas: o.Replicas, Command: l.command, Args: o.ServerArgs, CPUs: o.CPUs, Mesh: p.Route.Mesh}
	if s.Metrics {
		spec.Args = slices.Concat(spec.Args, stack.MetricsArgs())
	}
	var err error
	if s.Servers, err = l.Deploy(ctx, spec); err != nil {
		return nil, err
	}
	if s.Metrics {
		at, err := podOf(s.Servers)
		if err == nil {
			err = l.Open(ctx, at.Addr().String(), stack.MetricsPort)
		}
		if err != nil {
			return nil, err
		}
	}
	running, err := lab.StartGateway(ctx, l, lab.GatewaySpec{
		Route: p.Route, Service: s.Servers.Service(), Settings: p.Settings, Model: o.Model, Command: l.command, Port: gatewayPort,
	})
	if err != nil {
		return nil, err
	}
	s.Between = running
	s.Address, err = l.Expose(ctx, running.Host, gatewayPort, o.Port+p.Offset)
	return s, err
}

// startServer starts a server, and opens the port of its address on the nodes. It returns the address there.
func (l remoteLab) startServer(ctx context.Context, spec cluster.Spec) (cluster.Deployment, string, error) {
	_, text, err := net.SplitHostPort(spec.Listen)
	if err != nil {
		return nil, "", err
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return nil, "", err
	}
	spec.Command, spec.Listen, spec.RuntimeEnv = l.command, "", nil // the container limits the server
	running, err := l.Deploy(ctx, spec)
	if err != nil {
		return nil, "", err
	}
	at, err := podOf(running)
	if err != nil {
		return running, "", err
	}
	address, err := l.Expose(ctx, at.Addr().String(), int(at.Port()), port)
	return running, address, err
}

// podOf is the address of a ready pod of a deployment.
func podOf(d cluster.Deployment) (at netip.AddrPort, err error) {
	now, _ := d.Endpoints().Current()
	ready := now.Ready()
	if len(ready) == 0 {
		return at, fmt.Errorf("no pod of %s is ready any more", d.Service().Name)
	}
	return ready[0].Addr, nil
}
