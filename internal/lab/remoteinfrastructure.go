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
	startTimeout = time.Minute // until all components are ready
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
// where callers run elsewhere, at the process's own address.
func startRemoteInfrastructure(ctx context.Context, spec infrastructureSpec, elsewhere bool, processes []cluster.Process) (remoteInfrastructure, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	all := make(remoteInfrastructure, len(processes))
	each, ctx := errgroup.WithContext(ctx)
	for i, p := range processes {
		all[i] = &infrastructureProcess{Process: p, client: stdio.NewClient(p.Name(), p, p.Stdin(), p.Stdout(), nil)}
		own := spec
		if elsewhere {
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
func (t remoteInfrastructure) all(do func(*infrastructureProcess) error) error {
	errs := make([]error, len(t))
	var done sync.WaitGroup
	for i, p := range t {
		done.Go(func() { errs[i] = do(p) })
	}
	done.Wait()
	return errors.Join(errs...)
}

// end kills every process that still runs, and its children with it.
func (t remoteInfrastructure) end() {
	_ = t.all(func(p *infrastructureProcess) error {
		p.client.Kill()
		return nil
	})
}

func (t remoteInfrastructure) service(n int) cluster.Service {
	if len(t) > 1 { // sidecars
		return t[n].Services[0]
	}
	return t[0].Services[min(n, len(t[0].Services)-1)]
}

// files adds the name of the process to the names of files if there are several processes.
func (t remoteInfrastructure) files() map[string]string {
	if len(t) == 1 {
		return t[0].Files
	}
	all := map[string]string{}
	for _, p := range t {
		for name, text := range p.Files {
			all[p.Name()+"/"+name] = text
		}
	}
	return all
}

func (t remoteInfrastructure) kill(ctx context.Context, role string) error {
	return t.all(func(p *infrastructureProcess) error {
		_, err := call(ctx, p, killMethod, role)
		return err
	})
}

func (t remoteInfrastructure) resetUsage() error {
	return t.all(func(p *infrastructureProcess) error {
		_, err := call(context.Background(), p, resetUsageMethod, stdio.None{})
		return err
	})
}

func (t remoteInfrastructure) used(role string) (u cluster.Usage, err error) {
	var mu sync.Mutex
	err = t.all(func(p *infrastructureProcess) error {
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

func (t remoteInfrastructure) processes() []measure.Watched { return nil }

func (t remoteInfrastructure) failures() (all []string) {
	var mu sync.Mutex
	_ = t.all(func(p *infrastructureProcess) error {
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

func (t remoteInfrastructure) close() error {
	err := t.all(func(p *infrastructureProcess) error {
		_, err := call(context.Background(), p, closeMethod, stdio.None{})
		return err
	})
	t.end()
	return err
}
