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
	// standTimeout is how long a stand may take until everything stands.
	standTimeout = time.Minute
	// commandTimeout is how long it may take to do what it is told.
	commandTimeout = 30 * time.Second
)

// there is what stands in processes of the cluster: one beside each caller, or one for all.
type there []*stand

// stand is the lab's end of `rpclab stand`.
type stand struct {
	cluster.Process
	answers chan standAnswer // closed when there are no more
	stood

	mu     sync.Mutex // held by who gives a command
	number int        // of the last one
}

// standThere has each process stand up what is ordered, at its own address where callers
// elsewhere are to find it.
func standThere(ctx context.Context, o standOrder, elsewhere bool, processes []cluster.Process) (there, error) {
	ctx, cancel := context.WithTimeout(ctx, standTimeout)
	defer cancel()
	all := make(there, len(processes))
	each, ctx := errgroup.WithContext(ctx)
	for i, p := range processes {
		all[i] = &stand{Process: p, answers: make(chan standAnswer, 1)}
		go all[i].read()
		order := o
		if elsewhere {
			order.IP = p.Host()
		}
		each.Go(func() error { return all[i].order(ctx, order) })
	}
	if err := each.Wait(); err != nil {
		all.end()
		return nil, err
	}
	return all, nil
}

func (s *stand) read() {
	defer close(s.answers)
	for lines := json.NewDecoder(s.Out()); ; {
		var a standAnswer
		if err := lines.Decode(&a); err != nil {
			_, _ = io.Copy(io.Discard, s.Out()) // let the process end, whatever it writes
			return
		}
		s.answers <- a
	}
}

// order gives the order and takes note of what stands.
func (s *stand) order(ctx context.Context, o standOrder) error {
	a, err := s.exchange(ctx, o, 0)
	if err == nil && a.Stands == nil {
		err = fmt.Errorf("%s did not say what stands", s.Name())
	}
	if err == nil {
		s.stood = *a.Stands
	}
	return err
}

// command has the stand do something.
func (s *stand) command(ctx context.Context, c standCommand) (standAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number++
	c.Number = s.number
	return s.exchange(ctx, c, c.Number)
}

// exchange sends a line and waits for the answer with its number; one before it is of
// somebody who waited no longer.
func (s *stand) exchange(ctx context.Context, line any, number int) (standAnswer, error) {
	if err := json.NewEncoder(s.In()).Encode(line); err != nil {
		return standAnswer{}, s.died(err)
	}
	for {
		select {
		case a, more := <-s.answers:
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
			return standAnswer{}, fmt.Errorf("%s does not answer: %w", s.Name(), ctx.Err())
		}
	}
}

// died says how a stand ended that should have gone on.
func (s *stand) died(err error) error {
	s.Kill()
	if err = errors.Join(s.Err(), err); err == nil {
		err = errors.New("it ended without an answer")
	}
	return fmt.Errorf("%s, which keeps what stands before the backends, died: %w%s", s.Name(), err, lastLines(s))
}

// all does something with every stand at the same time.
func (t there) all(do func(*stand) error) error {
	errs := make([]error, len(t))
	var done sync.WaitGroup
	for i, s := range t {
		done.Go(func() { errs[i] = do(s) })
	}
	done.Wait()
	return errors.Join(errs...)
}

// end ends every stand that is left, with what is below it.
func (t there) end() {
	_ = t.all(func(s *stand) error {
		s.Kill()
		for range s.answers {
		}
		return nil
	})
}

func (t there) service(n int) cluster.Service {
	if len(t) > 1 { // each caller's own
		return t[n].Services[0]
	}
	return t[0].Services[min(n, len(t[0].Services)-1)]
}

// files are named by the process too where there are several.
func (t there) files() map[string]string {
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

func (t there) kill(ctx context.Context, role string) error {
	return t.all(func(s *stand) error {
		_, err := s.command(ctx, standCommand{Kill: role})
		return err
	})
}

func (t there) resetUsage() error {
	return t.all(func(s *stand) error {
		_, err := s.command(context.Background(), standCommand{Reset: true})
		return err
	})
}

func (t there) used(role string) (u cluster.Usage, err error) {
	var mu sync.Mutex
	err = t.all(func(s *stand) error {
		a, err := s.command(context.Background(), standCommand{Usage: true})
		mu.Lock()
		defer mu.Unlock()
		u.CPU, u.MaxRSS = u.CPU+a.Usage[role].CPU, u.MaxRSS+a.Usage[role].MaxRSS
		u.Throttled, u.Stolen = u.Throttled+a.Usage[role].Throttled, max(u.Stolen, a.Usage[role].Stolen)
		u.Connections = append(u.Connections, a.Usage[role].Connections...)
		return err
	})
	return u, err
}

func (t there) losses() (all []string) {
	var mu sync.Mutex
	_ = t.all(func(s *stand) error {
		a, err := s.command(context.Background(), standCommand{Losses: true})
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

func (t there) close() error {
	err := t.all(func(s *stand) error {
		_, err := s.command(context.Background(), standCommand{Close: true})
		return err
	})
	t.end()
	return err
}
