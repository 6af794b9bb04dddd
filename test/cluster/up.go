//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// patience is how long the kernel may take to clean up on a busy machine.
const patience = time.Minute

// A supervisor lives until the cluster is stopped, or until its parent exits.
var (
	detached = syscall.SysProcAttr{Setsid: true}
	bound    = syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
)

// up starts a cluster unless it runs, and returns its kubeconfig and whether it started it. It first removes the rest of an
// earlier cluster.
func up(ctx context.Context, name string, as shape, life syscall.SysProcAttr) (kubeconfig string, started bool, err error) {
	dir, err := directory(name)
	if err != nil {
		return "", false, err
	}
	if _, err := someNodes(as.nodes); err != nil {
		return "", false, err
	}
	if as.endpointsPerSlice < 1 || as.endpointsPerSlice > maxEndpointsPerSlice {
		return "", false, fmt.Errorf("--endpoints-per-slice %d: use 1 to %d", as.endpointsPerSlice, maxEndpointsPerSlice)
	}
	if os.Getuid() != 0 {
		return "", false, errors.New("the cluster takes root: it makes namespaces, mounts and control groups")
	}
	cache, unlock, err := cacheDirectory(ctx)
	if err != nil {
		return "", false, err
	}
	defer unlock()
	if s, _, err := readyState(name); err == nil {
		if len(s.Nodes) != as.nodes {
			return "", false, fmt.Errorf("cluster %q runs with %d nodes, not %d: stop it first", name, len(s.Nodes), as.nodes)
		}
		if s.EndpointsPerSlice != as.endpointsPerSlice {
			return "", false, fmt.Errorf("cluster %q runs with %d endpoints per slice, not %d: stop it first", name, s.EndpointsPerSlice, as.endpointsPerSlice)
		}
		return kubeconfigIn(dir), false, nil
	}
	if err := clear(name, dir); err != nil {
		return "", false, fmt.Errorf("remove the rest of an earlier cluster: %w", err)
	}
	if err := install(ctx, progress); err != nil {
		return "", false, err
	}
	programs, err := kubernetes.build(ctx, cache, progress)
	if err != nil {
		return "", false, err
	}
	began := time.Now()
	if err := startSupervisor(ctx, name, dir, programs, as, life); err != nil {
		if ctx.Err() != nil { // nobody will read its logs
			err = errors.Join(err, clear(name, dir))
		}
		return "", false, err
	}
	progress("cluster %q is up after %.1f s; kubectl is %s", name, time.Since(began).Seconds(), kubectlIn(dir))
	return kubeconfigIn(dir), true, nil
}

// buildAhead builds what a cluster and the tests on it need, or Istio.
func buildAhead(ctx context.Context, mesh bool) error {
	cache, unlock, err := cacheDirectory(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if mesh {
		_, err := buildIstio(ctx, cache)
		return err
	}
	for _, p := range []product{kubernetes, helm} {
		if _, err := p.build(ctx, cache, progress); err != nil {
			return err
		}
	}
	return nil
}

// startSupervisor returns when the cluster is ready.
func startSupervisor(ctx context.Context, name, dir, programs string, as shape, life syscall.SysProcAttr) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(dir, "supervisor.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command("/proc/self/exe", "supervise", "--name", name, "--nodes", strconv.Itoa(as.nodes), "--endpoints-per-slice", strconv.Itoa(as.endpointsPerSlice))
	cmd.Env = append(os.Environ(), "RPCLAB_PROGRAMS="+programs)
	cmd.Stderr, cmd.SysProcAttr = log, &life
	said, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })()
	for lines := bufio.NewScanner(said); lines.Scan(); {
		progress("%s", lines.Text())
	}
	if _, _, err := readyState(name); err == nil {
		return nil
	}
	err = errors.Join(ctx.Err(), cmd.Wait())
	why, _ := os.ReadFile(log.Name())
	return fmt.Errorf("the cluster did not start (%w): %slogs are in %s", err, why, filepath.Join(dir, "*", "log"))
}

// down stops a cluster and removes what is left of it.
func down(ctx context.Context, name string) error {
	dir, err := directory(name)
	if err != nil {
		return err
	}
	_, unlock, err := cacheDirectory(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	began := time.Now()
	if err := clear(name, dir); err != nil {
		return fmt.Errorf("stop the cluster %q: %w", name, err)
	}
	progress("cluster %q is down after %.1f s", name, time.Since(began).Seconds())
	return nil
}

// clear kills the processes of a cluster, which removes its networks and mounts, and removes its control
// groups and files. A graceful stop would take an API server alone ten seconds.
func clear(name, dir string) error {
	s, err := readState(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, p := range append([]running{s.Supervisor, s.ControlPlane}, s.Nodes...) {
		if err := p.kill(patience); err != nil {
			return err
		}
	}
	if err := removeCgroups(name, patience); err != nil {
		return err
	}
	return os.RemoveAll(dir)
}

// with runs a command with a cluster, and stops the cluster afterwards if it started. The rest of one that did not start
// stays with its logs until the next start.
func with(ctx context.Context, name string, as shape, args []string) (err error) {
	kubeconfig, started, err := up(ctx, name, as, bound)
	if err != nil {
		return err
	}
	if !started {
		return fmt.Errorf("cluster %q already runs: stop it first, or choose another --name", name)
	}
	defer func() {
		// The cluster ends with this process, so another interrupt may end the wait for another harness.
		ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), os.Interrupt, syscall.SIGTERM)
		defer stop()
		if left := down(ctx, name); left != nil {
			err = errors.Join(err, left)
		}
	}()
	if ctx.Err() != nil { // the user no longer wants the command
		return ctx.Err()
	}
	// The terminal sends an interrupt to the command too; this process waits for it.
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM)
	defer stop()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "RPCLAB_CLUSTER="+name, "RPCLAB_LOAD_IMAGE="+self+" load-image --name "+name)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd.Run()
}

// enter executes a command in the network of the control plane, in place of this process.
func enter(name string, args []string) error {
	s, dir, err := readyState(name)
	if err != nil {
		return err
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		return err
	}
	runtime.LockOSThread() // a thread has a network; execve(2) keeps it
	if err := enterNetwork(s.ControlPlane.Pid); err != nil {
		return err
	}
	if err := os.Setenv("KUBECONFIG", filepath.Join(dir, "control-plane", "etc", "admin.kubeconfig")); err != nil {
		return err
	}
	return fmt.Errorf("run %s: %w", path, syscall.Exec(path, args, os.Environ()))
}
