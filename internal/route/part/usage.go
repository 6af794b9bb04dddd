package part

import (
	"context"
	"time"

	"rpclab/internal/measure"
)

// spending is what the processes of a part used, one after the other.
type spending struct {
	baseline time.Duration // CPU time of the living ones when counting began
	ended    time.Duration // CPU time since then of processes that are gone
	peak     uint64
}

// end keeps what a process used that is about to end, or has.
func (s *spending) end(cpu time.Duration, peak uint64) {
	s.ended += max(cpu-s.baseline, 0)
	s.baseline, s.peak = 0, max(s.peak, peak)
}

// ResetUsage starts a new measurement of resources and losses.
func (p *Part) ResetUsage() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spent, p.losses = spending{}, nil
	if p.process != nil {
		p.spent.baseline, _ = measure.Used(p.process.Pid())
		measure.ForgetPeaks(p.process.Pid())
	}
}

// Usage is the CPU time of the process and all its descendants since ResetUsage, and
// the sum of their peaks of resident memory in bytes, where pages that they share count
// for each. A process that took the place of a killed one counts from its start.
func (p *Part) Usage() (cpu time.Duration, maxRSS uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.spent
	if p.process != nil {
		s.end(measure.Used(p.process.Pid()))
	}
	return s.ended, s.peak
}

// TakenConnections is how many connections each worker of the process took since it
// began; nil: it does not say, or cannot be asked.
func (p *Part) TakenConnections() []uint64 {
	if p.Connections == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	all, err := p.Connections(ctx)
	if err != nil {
		return nil
	}
	return all
}
