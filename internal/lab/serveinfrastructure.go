package lab

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"rpclab/internal/cluster"
	"rpclab/internal/measure"
	"rpclab/internal/process"
	"rpclab/internal/route"
)

// ServeInfrastructure is the command `rpclab infrastructure`: it starts, as child
// processes, the infrastructure that the specification on in describes, and writes its addresses
// to out. It executes commands until in or ctx ends, and then stops every child process. self is
// the command line of this program.
func ServeInfrastructure(ctx context.Context, in io.Reader, out io.Writer, self []string) (err error) {
	if _, err := process.RaiseFileLimit(); err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	if !lines.Scan() {
		return errors.New("this command reads a specification from standard input: it is started by `rpclab run`")
	}
	var spec infrastructureSpec
	if err := json.Unmarshal(lines.Bytes(), &spec); err != nil {
		return fmt.Errorf("read the specification: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	commands := make(chan infrastructureCommand)
	readErr := make(chan error, 1)
	go func() {
		defer cancel()
		defer close(commands)
		for lines.Scan() {
			var c infrastructureCommand
			if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
				readErr <- fmt.Errorf("read a command: %w", err)
				return
			}
			select {
			case commands <- c:
			case <-ctx.Done():
				return
			}
		}
	}()
	replies := json.NewEncoder(out)
	rt, err := route.Lookup(spec.Route)
	if err != nil {
		return errors.Join(err, replies.Encode(infrastructureReply{Error: err.Error()}))
	}
	h, err := startLocalInfrastructure(ctx, self, rt, spec)
	if err != nil {
		return errors.Join(err, replies.Encode(infrastructureReply{Error: err.Error()}))
	}
	closed := false
	defer func() {
		if !closed {
			err = errors.Join(err, h.close())
		}
	}()
	state := infrastructureState{Services: h.Services, Gateway: h.gateway, Files: h.Files, Versions: map[string]string{}}
	if err := addToolVersion(ctx, rt, state.Versions); err != nil {
		return errors.Join(err, replies.Encode(infrastructureReply{Error: err.Error()}))
	}
	if err := replies.Encode(infrastructureReply{State: &state}); err != nil {
		return err
	}
	began := measure.ReadProcessorTimes()
	for {
		select {
		case c, more := <-commands:
			if !more {
				return pending(readErr)
			}
			if c.Reset {
				began = measure.ReadProcessorTimes()
			}
			closed = c.Close
			if err := replies.Encode(withContainerUsage(h.obey(ctx, c), began)); err != nil || closed {
				return err
			}
		case <-ctx.Done():
			return pending(readErr)
		}
	}
}

// withContainerUsage adds how long this container was throttled, and which share of its
// node's processors was stolen, since began. Roles share the container, so the first that
// runs has all of it.
func withContainerUsage(a infrastructureReply, began measure.ProcessorTimes) infrastructureReply {
	now := measure.ReadProcessorTimes().Since(began)
	for _, role := range roles {
		if u := a.Usage[role]; u.MaxRSS > 0 {
			u.Throttled, u.Stolen = now.Throttled, now.StolenShare()
			a.Usage[role] = u
			break
		}
	}
	return a
}

// pending is the error in the channel; nil: there is none.
func pending(errs <-chan error) error {
	select {
	case err := <-errs:
		return err
	default:
		return nil
	}
}

func (h localInfrastructure) obey(ctx context.Context, c infrastructureCommand) infrastructureReply {
	answer := infrastructureReply{Number: c.Number}
	var err error
	switch {
	case c.Kill != "":
		limit, cancel := context.WithTimeout(ctx, killTimeout)
		defer cancel()
		err = h.kill(limit, c.Kill)
	case c.Reset:
		err = h.resetUsage()
	case c.Usage:
		answer.Usage = map[string]cluster.Usage{}
		for _, role := range roles {
			answer.Usage[role], _ = h.used(role) // of components below this process it cannot fail
		}
	case c.Losses:
		answer.Losses = h.failures()
	case c.Close:
		err = h.close()
	default:
		err = errors.New("a command names no action")
	}
	if err != nil {
		answer.Error = err.Error()
	}
	return answer
}

// killTimeout is how long components that were killed may take to be ready again.
const killTimeout = 10 * time.Second
