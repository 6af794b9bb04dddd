package local

import (
	"context"
	"fmt"
	"io"

	"rpclab/internal/cluster"
	"rpclab/internal/process"
)

// caller is a caller process on this machine.
type caller struct {
	name string
	out  io.Reader
	*process.Process
}

func (c caller) Name() string          { return c.name }
func (c caller) Host() string          { return "127.0.0.1" }
func (c caller) Stdin() io.WriteCloser { return c.Process.Stdin }
func (c caller) Stdout() io.Reader     { return c.out }

// StartCallers starts processes of this program, which end when it exits.
func (c *Cluster) StartCallers(_ context.Context, spec cluster.CallerSpec) (all []cluster.Caller, err error) {
	defer func() {
		if err != nil {
			for _, started := range all {
				started.Kill()
				if started.Sidecar != nil {
					started.Sidecar.Kill()
				}
			}
			all = nil
		}
	}()
	for n := range spec.Count {
		name := fmt.Sprintf("%s-%d", spec.Name, n)
		p, err := c.start(name, spec.Args)
		if err != nil {
			return all, err
		}
		all = append(all, cluster.Caller{Process: p})
		if spec.Sidecar == nil {
			continue
		}
		if all[n].Sidecar, err = c.start(name+"-sidecar", spec.Sidecar); err != nil {
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
	return caller{name, out, p}, nil
}
