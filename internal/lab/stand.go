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
	"rpclab/internal/route/part"
)

// What stands in a pod does so below `rpclab stand`. Lab and stand talk in JSON, a line
// each: what is to stand in, what stands there out; then commands, an answer for each.

// standName is the command of rpclab that calls [Stand], and what its processes are called.
const standName = "stand"

// standCommand is one of these; one field is set besides the number, which its answer bears.
type standCommand struct {
	Number int    `json:"number"`
	Kill   string `json:"kill,omitempty"` // the parts of a role
	Reset  bool   `json:"reset,omitempty"`
	Usage  bool   `json:"usage,omitempty"`
	Losses bool   `json:"losses,omitempty"`
	Close  bool   `json:"close,omitempty"`
}

// standAnswer is to a command, or to the order, whose number is 0.
type standAnswer struct {
	Number int                      `json:"number"`
	Error  string                   `json:"error,omitempty"`
	Stands *stood                   `json:"stands,omitempty"`
	Usage  map[string]cluster.Usage `json:"usage,omitempty"` // by role
	Losses []string                 `json:"losses,omitempty"`
}

// stood is what stands there, in answer to the order.
type stood struct {
	Services []cluster.Service `json:"services"`
	Gateway  string            `json:"gateway,omitempty"`
	Files    map[string]string `json:"files,omitempty"`
	Versions map[string]string `json:"versions,omitempty"` // of programs of others, by name
}

// Stand starts what the order on in says, where this process runs, tells on out where it
// is found, and does what it is told until in or ctx ends. Then everything ends. self is
// this program.
func Stand(ctx context.Context, in io.Reader, out io.Writer, self []string) (err error) {
	if _, err := process.MaxFiles(); err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	if !lines.Scan() {
		return errors.New("a stand reads its order from standard input: start it by `rpclab run`")
	}
	var o standOrder
	if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
		return fmt.Errorf("read the order: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	commands := make(chan standCommand)
	garbled := make(chan error, 1)
	go func() {
		defer cancel()
		defer close(commands)
		for lines.Scan() {
			var c standCommand
			if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
				garbled <- fmt.Errorf("read a command: %w", err)
				return
			}
			select {
			case commands <- c:
			case <-ctx.Done():
				return
			}
		}
	}()
	say := json.NewEncoder(out)
	h, err := o.up(ctx, self)
	if err != nil {
		return errors.Join(err, say.Encode(standAnswer{Error: err.Error()}))
	}
	closed := false
	defer func() {
		if !closed {
			err = errors.Join(err, h.close())
		}
	}()
	standing := stood{Services: h.Services, Gateway: h.gateway, Files: h.Files, Versions: map[string]string{}}
	if err := versionOf(ctx, o.Route, standing.Versions); err != nil {
		return errors.Join(err, say.Encode(standAnswer{Error: err.Error()}))
	}
	if err := say.Encode(standAnswer{Stands: &standing}); err != nil {
		return err
	}
	began := measure.LookAtProcessors()
	for {
		select {
		case c, more := <-commands:
			if !more {
				return drained(garbled)
			}
			if c.Reset {
				began = measure.LookAtProcessors()
			}
			closed = c.Close
			if err := say.Encode(h.obey(ctx, c).around(began)); err != nil || closed {
				return err
			}
		case <-ctx.Done():
			return drained(garbled)
		}
	}
}

// around adds to what each role used what became of the container since then; they share it,
// so the first one that is there has its throttling.
func (a standAnswer) around(began measure.Processors) standAnswer {
	now := measure.LookAtProcessors().Since(began)
	for _, role := range roles {
		if u := a.Usage[role]; u.MaxRSS > 0 {
			u.Throttled, u.Stolen = now.Throttled, now.StolenShare()
			a.Usage[role] = u
			break
		}
	}
	return a
}

// roles are those of what can stand before backends.
var roles = []string{part.Proxy, part.Gateway, part.Control}

// drained is the error in a channel that may have one.
func drained(errs <-chan error) error {
	select {
	case err := <-errs:
		return err
	default:
		return nil
	}
}

func (h here) obey(ctx context.Context, c standCommand) standAnswer {
	answer := standAnswer{Number: c.Number}
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
			answer.Usage[role], _ = h.used(role) // here it cannot fail
		}
	case c.Losses:
		answer.Losses = h.losses()
	case c.Close:
		err = h.close()
	default:
		err = errors.New("a command says nothing to do")
	}
	if err != nil {
		answer.Error = err.Error()
	}
	return answer
}

// killTimeout is how long what was killed may take to stand again.
const killTimeout = 10 * time.Second
