//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// supervisor runs a cluster.
type supervisor struct {
	name, dir, programs string
	endpointsPerSlice   int
	authority           authority
	nodes               []node
	controlPlane        *space
	spaces              []*space // of the nodes
}

// supervise runs a cluster until the control plane or ctx ends. It prints its progress on standard output,
// and closes that when the cluster is ready.
func supervise(ctx context.Context, name string, as shape) error {
	s := &supervisor{name: name, programs: os.Getenv("RPCLAB_PROGRAMS"), endpointsPerSlice: as.endpointsPerSlice}
	var err error
	if s.dir, err = directory(name); err != nil {
		return err
	}
	if s.nodes, err = someNodes(as.nodes); err != nil {
		return err
	}
	now := state{Supervisor: processOf(os.Getpid()), EndpointsPerSlice: as.endpointsPerSlice}
	if err := now.write(s.dir); err != nil {
		return err
	}
	if err := s.makeSpaces(); err != nil {
		return err
	}
	now.ControlPlane = processOf(s.controlPlane.pid)
	for _, space := range s.spaces {
		now.Nodes = append(now.Nodes, processOf(space.pid))
	}
	if err := now.write(s.dir); err != nil {
		return err
	}
	api, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer api.Close()
	go forward(api, s.controlPlane, apiAddress)
	if err := s.configure(api.Addr().String()); err != nil {
		return err
	}
	if err := s.startAll(ctx); err != nil {
		return err
	}
	if err := s.extend(ctx); err != nil {
		return err
	}
	now.Ready = true
	if err := errors.Join(now.write(s.dir), os.Stdout.Close()); err != nil {
		return err
	}
	return s.watch(ctx)
}

// say prints progress. It fails if nobody reads, which ends the supervisor, because nobody would know of the
// cluster.
func say(format string, args ...any) error {
	_, err := fmt.Printf(format+"\n", args...)
	return err
}

func (s *supervisor) makeSpaces() error {
	var err error
	if s.controlPlane, err = newSpace("control-plane", filepath.Join(s.dir, "control-plane"), filepath.Join(s.programs, "bin")); err != nil {
		return err
	}
	for _, n := range s.nodes {
		space, err := newSpace(n.name, filepath.Join(s.dir, n.name), filepath.Join(s.programs, "bin"))
		if err != nil {
			return err
		}
		s.spaces = append(s.spaces, space)
	}
	return errors.Join(makeCgroups(s.name, s.nodes), connect(s.controlPlane, s.nodes, s.spaces))
}

func (s *supervisor) configure(api string) error {
	ca, err := newAuthority()
	if err != nil {
		return err
	}
	s.authority = ca
	err = errors.Join(configureControlPlane(s.controlPlane.dir, ca),
		os.Symlink(filepath.Join(s.programs, "bin", "kubectl"), kubectlIn(s.dir)),
		ca.kubeconfig(kubeconfigIn(s.dir), "https://"+api, "admin", "system:masters"))
	for i, n := range s.nodes {
		err = errors.Join(err, configureNode(s.spaces[i].dir, s.name, n, ca))
	}
	return err
}

// startAll returns when the cluster is ready or has failed.
func (s *supervisor) startAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	for _, place := range slices.Concat(s.spaces, []*space{s.controlPlane}) {
		go func() { <-place.ended; fail(place.err) }()
	}
	err := s.startParts(ctx)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return fmt.Errorf("%w; which ended: %w", cause, err)
	}
	return err
}

// startParts returns when the API answers, every node is ready, and every node's own
// processes get an answer from the cluster's DNS.
func (s *supervisor) startParts(ctx context.Context) error {
	parts, within := errgroup.WithContext(ctx)
	parts.Go(func() error { return s.startControlPlane(within) })
	for i := range s.nodes {
		parts.Go(func() error { return s.startNode(within, s.nodes[i], s.spaces[i]) })
	}
	if err := parts.Wait(); err != nil {
		return err
	}
	for _, n := range s.nodes {
		if err := s.kubectl(ctx, "wait", "--for=create", "node/"+n.name, "--timeout=120s"); err != nil {
			return err
		}
		if err := s.kubectl(ctx, "wait", "--for=condition=Ready", "node/"+n.name, "--timeout=120s"); err != nil {
			return err
		}
		if err := say("node %s is ready", n.name); err != nil {
			return err
		}
	}
	// Without it the API server rejects pods.
	if err := s.kubectl(ctx, "wait", "--for=create", "serviceaccount/default", "--timeout=120s"); err != nil {
		return err
	}
	for i := range s.nodes {
		if err := until(ctx, s.nodes[i].name+" to resolve names by the cluster's DNS", func(ctx context.Context) error { return resolve(ctx, s.spaces[i]) }); err != nil {
			return err
		}
	}
	return say("DNS answers")
}

func (s *supervisor) startControlPlane(ctx context.Context) error {
	if err := s.controlPlane.start(apiPrograms...); err != nil {
		return err
	}
	ready := func(ctx context.Context) error { return s.kubectl(ctx, "get", "--raw=/readyz") }
	if err := until(ctx, "the API to answer", ready); err != nil {
		return err
	}
	if err := say("the API answers"); err != nil {
		return err
	}
	if err := s.controlPlane.start(controllerPrograms(s.endpointsPerSlice)...); err != nil {
		return err
	}
	dns := filepath.Join(s.controlPlane.dir, "etc", "coredns.yaml")
	if err := render("coredns.yaml", dns, values{DNS: dnsService}); err != nil {
		return err
	}
	return s.kubectl(ctx, "apply", "-f", dns)
}

func (s *supervisor) startNode(ctx context.Context, n node, place *space) error {
	if err := place.start(containerPrograms...); err != nil {
		return err
	}
	answers := func(ctx context.Context) error {
		return run(ctx, "ctr", "--address", containerdOf(place.pid), "version")
	}
	if err := until(ctx, "containerd of "+n.name, answers); err != nil {
		return err
	}
	images, err := filepath.Glob(filepath.Join(s.programs, "images", "*.tar"))
	if err != nil {
		return err
	}
	if err := importImages(ctx, place.pid, images...); err != nil {
		return err
	}
	return place.start(nodePrograms(n)...)
}

// extend adds what Kubernetes leaves to others, until ctx ends: the enforcement of NetworkPolicies and the API of
// metrics.
func (s *supervisor) extend(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfigIn(s.dir))
	if err != nil {
		return err
	}
	config.QPS = -1 // no limit
	client, err := clientset.NewForConfig(config)
	if err != nil {
		return err
	}
	byIP := map[string]*space{}
	for i, n := range s.nodes {
		byIP[n.ip] = s.spaces[i]
	}
	if err := enforce(ctx, client, byIP); err != nil {
		return err
	}
	objects := filepath.Join(s.controlPlane.dir, "etc", "metrics.yaml")
	if err := serveMetrics(s.controlPlane, s.authority, client, objects); err != nil {
		return err
	}
	return s.kubectl(ctx, "apply", "-f", objects)
}

// watch returns when the cluster cannot continue. It continues without a node, as other clusters do.
func (s *supervisor) watch(ctx context.Context) error {
	for _, node := range s.spaces {
		go func() { <-node.ended; fmt.Fprintln(os.Stderr, node.err) }()
	}
	select {
	case <-s.controlPlane.ended:
		return s.controlPlane.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// kubectl runs kubectl on the cluster.
func (s *supervisor) kubectl(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, kubectlIn(s.dir), append([]string{"--kubeconfig", kubeconfigIn(s.dir)}, args...)...)
	return output(cmd)
}

// resolve resolves the name of the API by the cluster's DNS, from a node.
func resolve(ctx context.Context, from *space) error {
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return from.dial(ctx, network, net.JoinHostPort(dnsService, "53"))
	}}
	_, err := resolver.LookupHost(ctx, "kubernetes.default.svc.cluster.local.")
	return err
}

// until repeats try until it succeeds or ctx ends.
func until(ctx context.Context, what string, try func(context.Context) error) error {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		once, cancel := context.WithTimeout(ctx, 5*time.Second)
		err := try(once)
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, err)
		case <-tick.C:
		}
	}
}
