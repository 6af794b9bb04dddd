package measure

import (
	"maps"
	"slices"
	"time"
)

const (
	// heartbeatInterval is the time between two beats. A beat reads one file of /proc for each process, in
	// about 10 µs.
	heartbeatInterval = 250 * time.Millisecond
	// beatsPerCheck is the number of beats between two checks of whether processes wait for a processor,
	// which read a file for each thread of a process that uses little CPU time.
	beatsPerCheck = 4
	// A process starves while its threads together wait for processors for at least mostWaited of a second,
	// and use them for at most leastUsed of it. Threads that wait at the same time count more than once, so
	// one of them must wait for at least mostOfOne.
	mostWaited, mostOfOne, leastUsed = 0.9, 0.5, 0.1

	leastFrozen  = 500 * time.Millisecond // shorter stops are not reported
	leastStopped = time.Second            // the same for this process, whose beats a busy machine may delay
	leastJump    = 100 * time.Millisecond // of the clock; NTP corrects smaller errors without a jump
)

// Watched is a process that a heartbeat watches, with its descendants.
type Watched struct {
	Name string
	PID  int
	// Suspended reports whether the experiment itself has suspended the process; nil: it never does.
	Suspended func() bool
	// Limited says that the experiment limits the CPU time of the process, so that its waits are no disturbance.
	Limited bool
}

// StallKind is the kind of a [Stall].
type StallKind string

// The kinds of stalls.
const (
	Frozen    StallKind = "frozen"  // a process was stopped, by SIGSTOP or a debugger
	Starved   StallKind = "starved" // a process waited for a processor and got almost none
	Stopped   StallKind = "stopped" // this process did not run
	ClockJump StallKind = "clock"   // the wall clock moved against the monotonic clock
)

// Stall is a disturbance that a heartbeat detected.
type Stall struct {
	Kind StallKind
	Name string // of the process; empty: this process, or the clock
	// Duration is the sum over all such stalls; of clocks, the jump, which may be negative.
	Duration time.Duration
}

// Heartbeat watches processes until end is called. end returns the stalls, at most one of each kind for
// each process. Heartbeat calls processes at each beat and only reads about them: it sends them nothing.
func Heartbeat(processes func() []Watched) (end func() []Stall) {
	h := newHeartbeat(processes)
	done, stalls := make(chan struct{}), make(chan []Stall, 1)
	beat := func() {
		h.beat(readClocks())
		h.last = readClocks() // processes may wait, for a deployment that starts servers
	}
	go func() {
		tick := time.NewTicker(heartbeatInterval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				beat()
			case <-done:
				if h.beats > 0 {
					beat()
				} else { // too short for a stall of a process
					h.checkClocks(readClocks())
				}
				stalls <- h.end()
				return
			}
		}
	}()
	return func() []Stall {
		close(done)
		return <-stalls
	}
}

// clocks is a reading of both clocks. The monotonic clock continues while a process is stopped, but not
// while the machine is suspended.
type clocks struct{ monotonic, wall time.Duration }

var processStart = time.Now()

// readClocks reads both clocks several times, because this thread may lose its processor between
// the two, and returns the reading whose difference is the median.
func readClocks() clocks {
	var all [5]clocks
	for i := range all {
		now := time.Now()
		all[i] = clocks{now.Sub(processStart), time.Duration(now.UnixNano())}
	}
	slices.SortFunc(all[:], func(a, b clocks) int { return int(a.offset() - b.offset()) })
	return all[len(all)/2]
}

func (c clocks) offset() time.Duration { return c.wall - c.monotonic }

// heartbeat is the state of [Heartbeat] between two beats.
type heartbeat struct {
	processes func() []Watched
	// Functions that read about a process; tests simulate them.
	tree    func(pid int) []int
	stopped func(pid int) bool
	cpu     func(pid int) time.Duration
	waits   func(pid int) map[int]time.Duration

	beats  int
	last   clocks
	pids   map[int][]int            // descendants, by process
	frozen map[string]time.Duration // so far, by name, of processes that are stopped now
	used   map[int]scheduling       // at the last check, by process
	stalls map[StallKind][]Stall
}

// scheduling is the CPU time of a process, and the time for which each thread waited for a processor.
type scheduling struct {
	at, cpu time.Duration
	waits   map[int]time.Duration // nil: not known
}

func newHeartbeat(processes func() []Watched) *heartbeat {
	return &heartbeat{
		processes: processes, tree: ProcessTree, stopped: isStopped, cpu: processorTime, waits: waitsForProcessor,
		last: readClocks(), pids: map[int][]int{}, frozen: map[string]time.Duration{}, used: map[int]scheduling{}, stalls: map[StallKind][]Stall{},
	}
}

// checkClocks looks at this process and the clock, and returns how much time passed since the last look.
func (h *heartbeat) checkClocks(now clocks) (passed time.Duration) {
	passed = now.monotonic - h.last.monotonic
	if passed >= leastStopped {
		h.add(Stopped, "", passed)
	}
	if jump := now.offset() - h.last.offset(); jump.Abs() >= leastJump {
		h.add(ClockJump, "", jump)
	}
	h.last = now
	return passed
}

// beat looks at everything once.
func (h *heartbeat) beat(now clocks) {
	passed := h.checkClocks(now)
	check := h.beats%beatsPerCheck == 0
	if h.beats%(5*beatsPerCheck) == 0 {
		clear(h.pids) // there may be other descendants now
	}
	h.beats++
	frozen, starved := map[string]bool{}, map[string]time.Duration{} // starved: the longest time of the processes of a name
	for _, p := range h.processes() {
		if h.pids[p.PID] == nil {
			h.pids[p.PID] = h.tree(p.PID)
		}
		for _, pid := range h.pids[p.PID] {
			frozen[p.Name] = frozen[p.Name] || h.isFrozen(p, pid)
			if check && !p.Limited {
				starved[p.Name] = max(starved[p.Name], h.starvedFor(pid, now.monotonic))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(starved)) {
		if starved[name] > 0 {
			h.add(Starved, name, starved[name])
		}
	}
	for name, is := range frozen {
		if is {
			h.frozen[name] += min(passed, 2*heartbeatInterval) // while this process itself does not run, it knows nothing of others
		}
	}
	for name := range h.frozen {
		if !frozen[name] {
			h.endFrozen(name)
		}
	}
}

// isFrozen reports whether a process is stopped, but not by the experiment. It asks for the experiment's
// suspension before and after, because the experiment may resume the process meanwhile.
func (h *heartbeat) isFrozen(p Watched, pid int) bool {
	suspended := func() bool { return p.Suspended != nil && p.Suspended() }
	return !suspended() && h.stopped(pid) && !suspended()
}

func (h *heartbeat) endFrozen(name string) {
	if h.frozen[name] >= leastFrozen {
		h.add(Frozen, name, h.frozen[name])
	}
	delete(h.frozen, name)
}

// starvedFor compares the CPU time of a process, and the waits of its threads, with the last check. It returns the
// time since then, or 0 if the process did not wait for most of it.
func (h *heartbeat) starvedFor(pid int, at time.Duration) (starved time.Duration) {
	last, seen := h.used[pid]
	now := scheduling{at: at, cpu: h.cpu(pid)}
	passed := (now.at - last.at).Seconds()
	if seen && (now.cpu-last.cpu).Seconds() <= leastUsed*passed {
		now.waits = h.waits(pid)
		if last.waits != nil && now.waitedSince(last, passed) {
			starved = now.at - last.at
		}
	}
	h.used[pid] = now
	return starved
}

// waitedSince reports whether the threads waited for most of the seconds that passed.
func (s scheduling) waitedSince(last scheduling, passed float64) bool {
	var sum, longest time.Duration
	for thread, waited := range s.waits {
		waited -= last.waits[thread]
		sum, longest = sum+waited, max(longest, waited)
	}
	return sum.Seconds() >= mostWaited*passed && longest.Seconds() >= mostOfOne*passed
}

// add adds a stall to those of the same kind and process.
func (h *heartbeat) add(kind StallKind, name string, d time.Duration) {
	i := slices.IndexFunc(h.stalls[kind], func(s Stall) bool { return s.Name == name })
	if i < 0 {
		h.stalls[kind] = append(h.stalls[kind], Stall{kind, name, d})
		return
	}
	h.stalls[kind][i].Duration += d
}

// end returns the stalls.
func (h *heartbeat) end() []Stall {
	for name := range h.frozen {
		h.endFrozen(name)
	}
	return slices.Concat(h.stalls[Frozen], h.stalls[Starved], h.stalls[Stopped], h.stalls[ClockJump])
}
