package lab

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"rpclab/internal/cluster"
	"rpclab/internal/measure"
	"rpclab/internal/process/stdio"
)

const (
	startTimeout = 2 * time.Minute // until all components are ready
	callTimeout  = 30 * time.Second
)

// remoteInfrastructure is infrastructure in processes of the cluster: a sidecar of each caller, or one process for
// all callers.
type remoteInfrastructure []*infrastructureProcess

// infrastructureProcess is the lab's end of `rpclab infrastructure`.
type infrastructureProcess struct {
	cluster.Process
	client *stdio.Client
	infrastructureState
}

// startRemoteInfrastructure starts the infrastructure in each process. It listens on loopback or,
// if the callers run in other pods, at the process's own address.
func startRemoteInfrastructure(ctx context.Context, spec infrastructureSpec, callersRemote bool, processes []cluster.Process) (remoteInfrastructure, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	all := make(remoteInfrastructure, len(processes))
	each, ctx := errgroup.WithContext(ctx)
	for i, p := range processes {
		all[i] = &infrastructureProcess{Process: p, client: stdio.NewClient(p.Name(), p, p.Stdin(), p.Stdout(), nil)}
		own := spec
		if callersRemote {
			own.IP = p.Host()
		}
		each.Go(func() (err error) {
			all[i].infrastructureState, err = startMethod.Call(ctx, all[i].client, own)
			return err
		})
	}
	if err := each.Wait(); err != nil {
		all.end()
		return nil, err
	}
	return all, nil
}

// call calls a method of a process that has started its infrastructure.
func call[P, R any](ctx context.Context, p *infrastructureProcess, m stdio.Method[P, R], params P) (R, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return m.Call(ctx, p.client, params)
}

// all calls do for every process at the same time.
func (r remoteInfrastructure) all(do func(*infrastructureProcess) error) error {
	errs := make([]error, len(r))
	var done sync.WaitGroup
	for i, p := range r {
		done.Go(func() { errs[i] = do(p) })
	}
	done.Wait()
	return errors.Join(errs...)
}

// end kills every process that still runs, and its children with it.
func (r remoteInfrastructure) end() {
	_ = r.all(func(p *infrastructureProcess) error {
		p.client.Kill()
		return nil
	})
}

func (r remoteInfrastructure) service(n int) cluster.Service {
	if len(r) > 1 { // sidecars
		return r[n].Services[0]
	}
	return r[0].Services[min(n, len(r[0].Services)-1)]
}

// files adds the name of the process to the names of files if there are several processes.
func (r remoteInfrastructure) files() map[string]string {
	if len(r) == 1 {
		return r[0].Files
	}
	all := map[string]string{}
	for _, p := range r {
		for name, text := range p.Files {
			all[p.Name()+"/"+name] = text
		}
	}
	return all
}

func (r remoteInfrastructure) kill(ctx context.Context, role string) error {
	return r.all(func(p *infrastructureProcess) error {
		_, err := call(ctx, p, killMethod, role)
		return err
	})
}

func (r remoteInfrastructure) resetUsage() error {
	return r.all(func(p *infrastructureProcess) error {
		_, err := call(context.Background(), p, resetUsageMethod, stdio.None{})
		return err
	})
}

func (r remoteInfrastructure) used(role string) (u cluster.Usage, err error) {
	var mu sync.Mutex
	err = r.all(func(p *infrastructureProcess) error {
		roles, err := call(context.Background(), p, usageMethod, stdio.None{})
		one := roles[role]
		mu.Lock()
		defer mu.Unlock()
		u.CPU, u.MaxRSS = u.CPU+one.CPU, u.MaxRSS+one.MaxRSS
		u.Throttled, u.Stolen = u.Throttled+one.Throttled, max(u.Stolen, one.Stolen)
		u.Connections = append(u.Connections, one.Connections...)
		return err
	})
	return u, err
}

func (r remoteInfrastructure) processes() []measure.Watched { return nil }

func (r remoteInfrastructure) failures() (all []string) {
	var mu sync.Mutex
	_ = r.all(func(p *infrastructureProcess) error {
		failures, err := call(context.Background(), p, failuresMethod, stdio.None{})
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			all = append(all, err.Error())
		}
		for _, failure := range failures {
			all = append(all, p.Name()+": "+failure)
		}
		return nil
	})
	return all
}

func (r remoteInfrastructure) close() error {
	err := r.all(func(p *infrastructureProcess) error {
		_, err := call(context.Background(), p, closeMethod, stdio.None{})
		return err
	})
	r.end()
	return err
}
