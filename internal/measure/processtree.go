package measure

import (
	"os"
	"time"

	"rpclab/internal/process"
)

// TreeUsage returns the CPU time of a process and its descendants, including those that have ended,
// and the sum of their peaks of resident memory in bytes. Shared pages count once for each process.
// Both are 0 if the process has ended, even if descendants still run.
func TreeUsage(pid int) (cpu time.Duration, peak uint64) {
	for _, id := range process.Tree(pid) {
		own, _ := CPU(id)
		waited, _ := WaitedCPU(id)
		rss, _ := MaxRSS(id)
		cpu, peak = cpu+own+waited, peak+rss
	}
	return cpu, peak
}

// TreesCPU returns the CPU time of processes and their descendants, including those that have ended. A process
// in several trees counts once. It fails if one of the processes has ended.
func TreesCPU(pids ...int) (time.Duration, error) { return treesCPU(map[int]bool{}, pids) }

// OthersCPU is [TreesCPU] without this process, and without its descendants unless pids name them.
func OthersCPU(pids ...int) (time.Duration, error) {
	seen := map[int]bool{}
	for _, id := range process.Tree(os.Getpid()) {
		seen[id] = true
	}
	for _, pid := range pids {
		if seen[pid] && pid != os.Getpid() {
			for _, id := range process.Tree(pid) {
				delete(seen, id)
			}
		}
	}
	return treesCPU(seen, pids)
}

// treesCPU leaves out the processes that were seen already.
func treesCPU(seen map[int]bool, pids []int) (all time.Duration, err error) {
	for _, pid := range pids {
		if _, err := CPU(pid); err != nil {
			return 0, err
		}
		for _, id := range process.Tree(pid) {
			if seen[id] {
				continue
			}
			seen[id] = true
			own, _ := CPU(id)
			waited, _ := WaitedCPU(id)
			all += own + waited
		}
	}
	return all, nil
}

// TreeRSS returns the resident memory of a process and its descendants now, in bytes.
func TreeRSS(pid int) (rss uint64) {
	for _, id := range process.Tree(pid) {
		rss += residentMemory(id)
	}
	return rss
}

// ResetTreeMaxRSS resets the memory peaks of a process and its descendants.
func ResetTreeMaxRSS(pid int) {
	for _, id := range process.Tree(pid) {
		_ = ResetMaxRSS(id) // it may have ended
	}
}
