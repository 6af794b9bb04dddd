package measure

import "time"

// Used is the CPU time of a process and its descendants so far, those that have ended too,
// and the sum of their peaks of resident memory in bytes, where pages that they share count
// for each. One that is gone used nothing.
func Used(pid int) (cpu time.Duration, peak uint64) {
	for _, id := range Tree(pid) {
		own, _ := CPU(id)
		waited, _ := WaitedCPU(id)
		rss, _ := MaxRSS(id)
		cpu, peak = cpu+own+waited, peak+rss
	}
	return cpu, peak
}

// Resident is what of a process and its descendants is in memory now, in bytes.
func Resident(pid int) (now uint64) {
	for _, id := range Tree(pid) {
		now += resident(id)
	}
	return now
}

// ForgetPeaks has the peaks of memory of a process and its descendants begin anew.
func ForgetPeaks(pid int) {
	for _, id := range Tree(pid) {
		_ = ResetMaxRSS(id) // it is gone
	}
}
