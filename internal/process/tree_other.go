//go:build unix && !linux

package process

// Tree returns the process alone, because this system does not report its descendants.
func Tree(pid int) []int { return []int{pid} }

// startTime returns 0: it is not known.
func startTime(int) uint64 { return 0 }

// owned returns none: this system does not report the environment of other processes.
func owned(string) []int { return nil }

func hasOwner(int, string) bool { return false }
