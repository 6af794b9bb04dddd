package measure

import (
	"maps"
	"slices"
	"time"

	"rpclab/internal/process"
)

const (
	// heartbeatInterval is the time between two beats. A beat reads one file of /proc for each process, in
	// about 10 µs.
	heartbeatInterval = 250 * time.Millisecond
	// checkInterval is the time between two checks of whether processes wait for a processor, which read a file
	// for each thread of a process.
	checkInterval = 4 * heartbeatInterval
	// beatsPerTree is the number of beats between two looks for the descendants of processes.
	beatsPerTree = 20
	// A process starves while its threads together wait for processors for at least mostWaited of the time between
	// two checks, and use them for at most leastUsed of it. Threads that wait at the same time count more than once, so
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

// Heartbeat watches processes in one or several turns. A turn continues the one before it: what happens between turns
// does not count, and a second of several short turns is a second.
type Heartbeat struct {
	processes func() []Watched
	// Functions that read about a process; tests simulate them.
	tree    func(pid int) []int
	stopped func(pid int) bool
	cpu     func(pid int) time.Duration
	waits   func(pid int) map[int]time.Duration

	beats      int
	last       clocks
	sinceCheck time.Duration            // of turns
	pids       map[int][]int            // descendants, by process
	frozen     map[string]time.Duration // so far, by name, of processes that are stopped now
	used       map[int]scheduling       // at the last check, by process
	spent      map[int]scheduling       // between the last check and the end of the last turn, by process
	stalls     map[StallKind][]Stall
}

// scheduling is the CPU time of a process, and the time for which each thread waited for a processor, until a time or
// in a time.
type scheduling struct {
	at, cpu time.Duration
	waits   map[int]time.Duration // by thread
}

// NewHeartbeat calls processes at the start of each turn and at each beat. It only reads about them: it sends them
// nothing.
func NewHeartbeat(processes func() []Watched) *Heartbeat {
	return &Heartbeat{
		processes: processes, tree: process.Tree, stopped: isStopped, cpu: processorTime, waits: waitsForProcessor,
		pids: map[int][]int{}, frozen: map[string]time.Duration{}, stalls: map[StallKind][]Stall{},
	}
}

// Turn starts a turn, which lasts until end is called.
func (h *Heartbeat) Turn() (end func()) {
	h.begin(readClocks())
	h.last = readClocks() // processes may wait, for a deployment that starts servers
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(heartbeatInterval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				h.beat(readClocks())
				h.last = readClocks()
			case <-done:
				h.end(readClocks())
				return
			}
		}
	}()
	return func() {
		close(done)
		<-ended
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

// checkClocks looks at this process and the clock, and returns how much time passed since the last look.
func (h *Heartbeat) checkClocks(now clocks) (passed time.Duration) {
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

// begin begins a turn.
func (h *Heartbeat) begin(now clocks) {
	h.last, h.used = now, map[int]scheduling{}
	for _, p := range h.processes() {
		if p.Limited { // it cannot starve
			continue
		}
		for _, pid := range h.treeOf(p) {
			h.used[pid] = h.read(pid, now).since(h.spent[pid])
		}
	}
}

// end ends a turn.
func (h *Heartbeat) end(now clocks) {
	h.beat(now)
	h.spent = map[int]scheduling{}
	for pid, last := range h.used {
		h.spent[pid] = h.read(pid, now).since(last)
	}
}

func (h *Heartbeat) treeOf(p Watched) []int {
	if h.pids[p.PID] == nil {
		h.pids[p.PID] = h.tree(p.PID)
	}
	return h.pids[p.PID]
}

func (h *Heartbeat) read(pid int, now clocks) scheduling {
	return scheduling{now.monotonic, h.cpu(pid), h.waits(pid)}
}

// since returns what was used and waited since an earlier reading. Of a thread without one, that is all.
func (s scheduling) since(last scheduling) scheduling {
	waits := map[int]time.Duration{}
	for thread, waited := range s.waits {
		waits[thread] = waited - last.waits[thread]
	}
	return scheduling{s.at - last.at, s.cpu - last.cpu, waits}
}

// beat looks at everything once.
func (h *Heartbeat) beat(now clocks) {
	passed := h.checkClocks(now)
	h.sinceCheck += passed
	check := h.sinceCheck >= checkInterval-heartbeatInterval/2 // a beat may be early
	if check {
		h.sinceCheck = 0
	}
	if h.beats++; h.beats%beatsPerTree == 0 {
		clear(h.pids) // there may be other descendants now
	}
	frozen, starved := map[string]bool{}, map[string]time.Duration{} // starved: the longest time of the processes of a name
	for _, p := range h.processes() {
		for _, pid := range h.treeOf(p) {
			frozen[p.Name] = frozen[p.Name] || h.isFrozen(p, pid)
			if check && !p.Limited {
				starved[p.Name] = max(starved[p.Name], h.starvedFor(pid, now))
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
func (h *Heartbeat) isFrozen(p Watched, pid int) bool {
	suspended := func() bool { return p.Suspended != nil && p.Suspended() }
	return !suspended() && h.stopped(pid) && !suspended()
}

func (h *Heartbeat) endFrozen(name string) {
	if h.frozen[name] >= leastFrozen {
		h.add(Frozen, name, h.frozen[name])
	}
	delete(h.frozen, name)
}

// starvedFor returns the time since the last check if the threads of a process waited for most of it, else 0.
func (h *Heartbeat) starvedFor(pid int, now clocks) time.Duration {
	last, seen := h.used[pid]
	h.used[pid] = h.read(pid, now)
	if passed := h.used[pid].since(last); seen && passed.at >= checkInterval/2 && passed.starved() {
		return passed.at
	}
	return 0
}

// starved reports whether the threads waited for most of the time, and used little of it.
func (s scheduling) starved() bool {
	var sum, longest time.Duration
	for _, waited := range s.waits {
		sum, longest = sum+waited, max(longest, waited)
	}
	of := func(share float64) time.Duration { return time.Duration(share * float64(s.at)) }
	return s.cpu <= of(leastUsed) && sum >= of(mostWaited) && longest >= of(mostOfOne)
}

// add adds a stall to those of the same kind and process.
func (h *Heartbeat) add(kind StallKind, name string, d time.Duration) {
	i := slices.IndexFunc(h.stalls[kind], func(s Stall) bool { return s.Name == name })
	if i < 0 {
		h.stalls[kind] = append(h.stalls[kind], Stall{kind, name, d})
		return
	}
	h.stalls[kind][i].Duration += d
}

// Stalls returns the stalls of all turns, which have ended: at most one of each kind for each process.
func (h *Heartbeat) Stalls() []Stall {
	for name := range h.frozen {
		h.endFrozen(name)
	}
	return slices.Concat(h.stalls[Frozen], h.stalls[Starved], h.stalls[Stopped], h.stalls[ClockJump])
}
