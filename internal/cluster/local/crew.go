package local

import (
	"context"
	"fmt"
	"io"

	"rpclab/internal/cluster"
	"rpclab/internal/process"
)

// member is a process of a crew on this machine.
type member struct {
	name string
	out  io.Reader
	*process.Process
}

func (m member) Name() string       { return m.name }
func (m member) Host() string       { return "127.0.0.1" }
func (m member) In() io.WriteCloser { return m.Stdin }
func (m member) Out() io.Reader     { return m.out }

// Run starts processes of this program. They end when it does.
func (c *Cluster) Run(_ context.Context, crew cluster.Crew) (all []cluster.Member, err error) {
	defer func() {
		if err != nil {
			for _, m := range all {
				m.Kill()
				if m.Sidecar != nil {
					m.Sidecar.Kill()
				}
			}
			all = nil
		}
	}()
	for n := range crew.Count {
		name := fmt.Sprintf("%s-%d", crew.Name, n)
		p, err := c.start(name, crew.Args)
		if err != nil {
			return all, err
		}
		all = append(all, cluster.Member{Process: p})
		if crew.Sidecar == nil {
			continue
		}
		if all[n].Sidecar, err = c.start(name+"-sidecar", crew.Sidecar); err != nil {
			return all, err
		}
	}
	return all, nil
}

func (c *Cluster) start(name string, args []string) (cluster.Process, error) {
	out, in := io.Pipe()
	p, err := process.Start(process.Spec{Args: append(c.options.Self[:len(c.options.Self):len(c.options.Self)], args...), Stdout: in})
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		<-p.Done()
		in.Close()
	}()
	return member{name, out, p}, nil
}
