package measure

import (
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// simulated is a process that a simulated heartbeat watches.
type simulated struct {
	stopped, suspended, limited bool
	cpu, waited                 time.Duration // of each thread
	threads                     int           // that wait
}

// beats calls a heartbeat for some beats. Before each, change may change the process and both clocks.
func beats(count int, change func(beat int, p *simulated, now *clocks)) []Stall {
	p := &simulated{threads: 1}
	h := p.heartbeat()
	now := clocks{}
	h.begin(now)
	for beat := range count {
		now.monotonic += heartbeatInterval
		now.wall += heartbeatInterval
		change(beat, p, &now)
		h.beat(now)
	}
	return h.Stalls()
}

func (p *simulated) heartbeat() *Heartbeat {
	h := NewHeartbeat(func() []Watched {
		return []Watched{{Name: "greeter-0", PID: 7, Suspended: func() bool { return p.suspended }, Limited: p.limited}}
	})
	h.tree = func(pid int) []int { return []int{pid, pid + 1} } // both have the same state
	h.stopped = func(int) bool { return p.stopped }
	h.cpu = func(int) time.Duration { return p.cpu }
	h.waits = func(int) map[int]time.Duration {
		waits := map[int]time.Duration{}
		for thread := range p.threads {
			waits[thread] = p.waited
		}
		return waits
	}
	return h
}

func TestAHeartbeatNoticesStalls(t *testing.T) {
	for name, c := range map[string]struct {
		change func(beat int, p *simulated, now *clocks)
		want   []Stall
	}{
		"nothing": {func(beat int, p *simulated, _ *clocks) {
			p.cpu += 10 * time.Millisecond
			p.waited += 20 * time.Millisecond
		}, nil},
		"stopped for 1.5 s": {func(beat int, p *simulated, _ *clocks) { p.stopped = beat >= 4 && beat < 10 },
			[]Stall{{Frozen, "greeter-0", 1500 * time.Millisecond}}},
		"stopped until the end": {func(beat int, p *simulated, _ *clocks) { p.stopped = beat >= 18 },
			[]Stall{{Frozen, "greeter-0", 500 * time.Millisecond}}},
		"stopped for one beat": {func(beat int, p *simulated, _ *clocks) { p.stopped = beat == 4 }, nil},
		"paused by the experiment": {func(beat int, p *simulated, _ *clocks) {
			p.stopped, p.suspended = beat >= 4 && beat < 10, beat >= 4 && beat < 9
		}, nil},
		"waiting for a processor":      {func(beat int, p *simulated, _ *clocks) { p.waited += heartbeatInterval }, []Stall{{Starved, "greeter-0", 5 * time.Second}}},
		"waiting because of its limit": {func(_ int, p *simulated, _ *clocks) { p.limited, p.waited = true, p.waited+heartbeatInterval }, nil},
		"waiting, but also running":    {func(beat int, p *simulated, _ *clocks) { p.waited += heartbeatInterval; p.cpu += heartbeatInterval / 2 }, nil},
		"ten threads that wait at the same time, for a tenth": {func(beat int, p *simulated, _ *clocks) {
			p.threads, p.waited = 10, p.waited+heartbeatInterval/10
		}, nil},
		"two threads that wait in turn": {func(beat int, p *simulated, _ *clocks) {
			p.threads, p.waited = 2, p.waited+heartbeatInterval/2
		}, []Stall{{Starved, "greeter-0", 5 * time.Second}}},
		"rpclab stopped for 1.5 s": {func(beat int, _ *simulated, now *clocks) {
			if beat == 5 {
				now.monotonic += 1500 * time.Millisecond
				now.wall += 1500 * time.Millisecond
			}
		}, []Stall{{Stopped, "", 1750 * time.Millisecond}}},
		"the clock set back": {func(beat int, _ *simulated, now *clocks) {
			if beat == 5 {
				now.wall -= time.Hour
			}
		}, []Stall{{ClockJump, "", -time.Hour}}},
		"the machine suspended": {func(beat int, _ *simulated, now *clocks) {
			if beat == 5 {
				now.wall += 30 * time.Second
			}
		}, []Stall{{ClockJump, "", 30 * time.Second}}},
	} {
		if got := beats(20, c.change); !slices.Equal(got, c.want) {
			t.Errorf("%s: the stalls are %v, want %v", name, got, c.want)
		}
	}
}

// Turns of 100 ms are too short for a stall of their own. What happens between them, for 300 ms, does not count.
func TestAHeartbeatAddsUpTurns(t *testing.T) {
	for name, c := range map[string]struct {
		in, between func(p *simulated, passed time.Duration)
		want        []Stall
	}{
		"waiting in turns": {func(p *simulated, passed time.Duration) { p.waited += passed },
			func(p *simulated, passed time.Duration) { p.cpu += passed }, []Stall{{Starved, "greeter-0", 3600 * time.Millisecond}}},
		"waiting between turns": {func(p *simulated, passed time.Duration) { p.cpu += passed / 20 },
			func(p *simulated, passed time.Duration) { p.waited += passed }, nil},
		"working in turns, and waiting": {func(p *simulated, passed time.Duration) { p.cpu += passed / 4; p.waited += passed },
			func(*simulated, time.Duration) {}, nil},
		"stopped": {func(p *simulated, _ time.Duration) { p.stopped = true },
			func(*simulated, time.Duration) {}, []Stall{{Frozen, "greeter-0", 4 * time.Second}}},
		"stopped between turns": {func(p *simulated, _ time.Duration) { p.stopped = false },
			func(p *simulated, _ time.Duration) { p.stopped = true }, nil},
	} {
		p := &simulated{threads: 1}
		h := p.heartbeat()
		now := clocks{}
		pass := func(d time.Duration, change func(*simulated, time.Duration)) {
			now.monotonic, now.wall = now.monotonic+d, now.wall+d
			change(p, d)
		}
		for range 40 {
			h.begin(now)
			pass(100*time.Millisecond, c.in)
			h.end(now)
			pass(300*time.Millisecond, c.between)
		}
		if got := h.Stalls(); !slices.Equal(got, c.want) {
			t.Errorf("%s: the stalls are %v, want %v", name, got, c.want)
		}
	}
}

func BenchmarkHeartbeat(b *testing.B) {
	h := NewHeartbeat(func() []Watched { return []Watched{{Name: "this", PID: os.Getpid()}} })
	h.begin(readClocks())
	for b.Loop() {
		h.beat(readClocks())
	}
}

func TestAHeartbeatThatWaitsForProcessesIsNoStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHeartbeat(func() []Watched {
			<-time.After(3 * time.Second) // as while a deployment starts servers
			return nil
		})
		end := h.Turn()
		<-time.After(20 * time.Second)
		end()
		if stalls := h.Stalls(); len(stalls) > 0 {
			t.Errorf("stalls %+v, want none", stalls)
		}
	})
}
