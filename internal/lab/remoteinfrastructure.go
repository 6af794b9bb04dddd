package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"rpclab/internal/cluster"
)

const (
	startTimeout   = time.Minute // until all components are ready
	commandTimeout = 30 * time.Second
)

// remoteInfrastructure runs below processes of the cluster: a sidecar of each caller, or one
// process for all.
type remoteInfrastructure []*infrastructureProcess

// infrastructureProcess is the lab's end of `rpclab infrastructure`.
type infrastructureProcess struct {
	cluster.Process
	replies chan infrastructureReply // closed when there are no more
	infrastructureState

	mu     sync.Mutex // held while a command is sent and answered
	number int        // of the last one
}

// startRemoteInfrastructure has each process start the infrastructure. It listens on loopback
// or, where callers run elsewhere, at the process's own address.
func startRemoteInfrastructure(ctx context.Context, spec infrastructureSpec, elsewhere bool, processes []cluster.Process) (remoteInfrastructure, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	all := make(remoteInfrastructure, len(processes))
	each, ctx := errgroup.WithContext(ctx)
	for i, p := range processes {
		all[i] = &infrastructureProcess{Process: p, replies: make(chan infrastructureReply, 1)}
		go all[i].read()
		own := spec
		if elsewhere {
			own.IP = p.Host()
		}
		each.Go(func() error { return all[i].start(ctx, own) })
	}
	if err := each.Wait(); err != nil {
		all.end()
		return nil, err
	}
	return all, nil
}

func (s *infrastructureProcess) read() {
	defer close(s.replies)
	for lines := json.NewDecoder(s.Stdout()); ; {
		var a infrastructureReply
		if err := lines.Decode(&a); err != nil {
			_, _ = io.Copy(io.Discard, s.Stdout()) // let the process end, whatever it writes
			return
		}
		s.replies <- a
	}
}

// start sends the spec and keeps the state that the answer holds.
func (s *infrastructureProcess) start(ctx context.Context, spec infrastructureSpec) error {
	a, err := s.exchange(ctx, spec, 0)
	if err == nil && a.State == nil {
		err = fmt.Errorf("%s did not say what it started", s.Name())
	}
	if err == nil {
		s.infrastructureState = *a.State
	}
	return err
}

// command sends a command and returns its reply.
func (s *infrastructureProcess) command(ctx context.Context, c infrastructureCommand) (infrastructureReply, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number++
	c.Number = s.number
	return s.exchange(ctx, c, c.Number)
}

// exchange sends a line and waits for the reply of its number. A reply of an earlier number
// is to a command that was given up.
func (s *infrastructureProcess) exchange(ctx context.Context, line any, number int) (infrastructureReply, error) {
	if err := json.NewEncoder(s.Stdin()).Encode(line); err != nil {
		return infrastructureReply{}, s.died(err)
	}
	for {
		select {
		case a, more := <-s.replies:
			switch {
			case !more:
				return a, s.died(nil)
			case a.Number < number:
			case a.Error != "":
				return a, fmt.Errorf("%s: %s", s.Name(), a.Error)
			default:
				return a, nil
			}
		case <-ctx.Done():
			return infrastructureReply{}, fmt.Errorf("%s does not answer: %w", s.Name(), ctx.Err())
		}
	}
}

// died says how the process ended.
func (s *infrastructureProcess) died(err error) error {
	s.Kill()
	if err = errors.Join(s.Err(), err); err == nil {
		err = errors.New("it ended without a reply")
	}
	return fmt.Errorf("%s, which runs proxies, control plane or gateway, died: %w%s", s.Name(), err, lastLines(s))
}

// all calls do for every process at once.
func (t remoteInfrastructure) all(do func(*infrastructureProcess) error) error {
	errs := make([]error, len(t))
	var done sync.WaitGroup
	for i, s := range t {
		done.Go(func() { errs[i] = do(s) })
	}
	done.Wait()
	return errors.Join(errs...)
}

// end kills every process that is left, and its children with it.
func (t remoteInfrastructure) end() {
	_ = t.all(func(s *infrastructureProcess) error {
		s.Kill()
		for range s.replies {
		}
		return nil
	})
}

func (t remoteInfrastructure) service(n int) cluster.Service {
	if len(t) > 1 { // sidecars
		return t[n].Services[0]
	}
	return t[0].Services[min(n, len(t[0].Services)-1)]
}

// files have the process's name before theirs where there are several.
func (t remoteInfrastructure) files() map[string]string {
	if len(t) == 1 {
		return t[0].Files
	}
	all := map[string]string{}
	for _, s := range t {
		for name, text := range s.Files {
			all[s.Name()+"/"+name] = text
		}
	}
	return all
}

func (t remoteInfrastructure) kill(ctx context.Context, role string) error {
	return t.all(func(s *infrastructureProcess) error {
		_, err := s.command(ctx, infrastructureCommand{Kill: role})
		return err
	})
}

func (t remoteInfrastructure) resetUsage() error {
	return t.all(func(s *infrastructureProcess) error {
		_, err := s.command(context.Background(), infrastructureCommand{Reset: true})
		return err
	})
}

func (t remoteInfrastructure) used(role string) (u cluster.Usage, err error) {
	var mu sync.Mutex
	err = t.all(func(s *infrastructureProcess) error {
		a, err := s.command(context.Background(), infrastructureCommand{Usage: true})
		mu.Lock()
		defer mu.Unlock()
		u.CPU, u.MaxRSS = u.CPU+a.Usage[role].CPU, u.MaxRSS+a.Usage[role].MaxRSS
		u.Throttled, u.Stolen = u.Throttled+a.Usage[role].Throttled, max(u.Stolen, a.Usage[role].Stolen)
		u.Connections = append(u.Connections, a.Usage[role].Connections...)
		return err
	})
	return u, err
}

func (t remoteInfrastructure) failures() (all []string) {
	var mu sync.Mutex
	_ = t.all(func(s *infrastructureProcess) error {
		a, err := s.command(context.Background(), infrastructureCommand{Losses: true})
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			all = append(all, err.Error())
		}
		for _, loss := range a.Losses {
			all = append(all, s.Name()+": "+loss)
		}
		return nil
	})
	return all
}

func (t remoteInfrastructure) close() error {
	err := t.all(func(s *infrastructureProcess) error {
		_, err := s.command(context.Background(), infrastructureCommand{Close: true})
		return err
	})
	t.end()
	return err
}
